import { code, count } from '../kit/blocks.ts';

/* Texts of audit log exports. */

/** Whole UTC days, inclusive. */
export interface Span {
  readonly first: string;
  readonly last: string;
}

export interface ExportProgress {
  rows: number;
  /** Time of the last line. */
  at: Date | undefined;
  isWritten: boolean;
}

export function progressText({ rows, at, isWritten }: ExportProgress): string {
  if (isWritten) return `The audit log is ready, ${count(rows, 'line')}. Uploading it to Slack.`;
  const until = at === undefined ? '' : `, up to ${at.toISOString().slice(0, 10)}`;
  return `Writing the audit log: ${count(rows, 'line')} so far${until}. I’ll tell you when it’s ready.`;
}

/** @param wrong a word that isn't a date */
export function notASpanText(command: 'audit' | 'ledger', wrong: string | undefined): string {
  const what = wrong === undefined ? 'That’s more than two dates' : `${code(wrong)} isn’t a date`;
  return `${what}. Give the first and last day, such as ${code(`/domain ${command} 2026-01-01 2026-03-31`)}.`;
}

export const spanReversedText = (first: string, last: string) =>
  `${code(first)} is after ${code(last)}. Give the earlier day first.`;
export const nothingHappenedText = ({ first, last }: Span) =>
  `Nothing happened from ${first} to ${last} (UTC), so there’s no file.`;
export const auditFileText = ({ first, last }: Span, rows: number) =>
  `The audit log from ${first} to ${last} (UTC): ${count(rows, 'line')}`;
export const auditSentText = ({ first, last }: Span, rows: number) =>
  `I sent you the audit log from ${first} to ${last} (UTC) as a direct message: ${count(rows, 'line')}.`;
