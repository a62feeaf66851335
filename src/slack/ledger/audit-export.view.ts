import { code, count } from '../kit/blocks.ts';

/** The first and last day in UTC, both included. */
export interface Span {
  readonly first: string;
  readonly last: string;
}

export interface ExportProgress {
  rows: number;
  lastLineAt: Date | undefined;
  isWritten: boolean;
}

export function progressText({ rows, lastLineAt, isWritten }: ExportProgress): string {
  if (isWritten) return `The audit log is ready with ${count(rows, 'line')}. I’m uploading it to Slack.`;
  const until = lastLineAt === undefined ? '' : `, up to ${lastLineAt.toISOString().slice(0, 10)}`;
  return `I’m writing the audit log, ${count(rows, 'line')} so far${until}. I’ll tell you when it’s ready.`;
}

export function invalidSpanText(command: 'audit' | 'ledger', nonDate: string | undefined): string {
  const problem = nonDate === undefined ? 'You entered more than two dates' : `${code(nonDate)} isn’t a date`;
  return `${problem}. Enter the first and the last day, such as ${code(`/domain ${command} 2026-01-01 2026-03-31`)}.`;
}

export const spanReversedText = (first: string, last: string) =>
  `${code(first)} is after ${code(last)}. Enter the earlier day first.`;
export const noEventsText = ({ first, last }: Span) =>
  `The audit log has no events from ${first} to ${last} (UTC). Try a longer period.`;
export const auditFileText = ({ first, last }: Span, rows: number) =>
  `The audit log from ${first} to ${last} (UTC), with ${count(rows, 'line')}`;
export const auditSentText = ({ first, last }: Span, rows: number) =>
  `I sent you the audit log from ${first} to ${last} (UTC) as a direct message. It has ${count(rows, 'line')}.`;
