import { code, formatCount } from '../kit/blocks.ts';

/** The first and last day in UTC, both included. */
export interface Span {
  readonly first: string;
  readonly last: string;
}

export interface ExportProgress {
  rowCount: number;
  lastEventAt: Date | undefined;
  isWritten: boolean;
}

export function progressText({ rowCount, lastEventAt, isWritten }: ExportProgress): string {
  if (isWritten)
    return `The audit log is ready with ${formatCount(rowCount, 'line')}. I’m uploading it to Slack.`;
  const until = lastEventAt === undefined ? '' : `, up to ${lastEventAt.toISOString().slice(0, 10)}`;
  return `I’m writing the audit log, ${formatCount(rowCount, 'line')} so far${until}. I’ll tell you when it’s ready.`;
}

export function invalidSpanText(command: 'audit' | 'ledger', invalidDate: string | undefined): string {
  const problem =
    invalidDate === undefined ? 'You entered more than two dates' : `${code(invalidDate)} isn’t a date`;
  return `${problem}. Enter the first and the last day, such as ${code(`/domain ${command} 2026-01-01 2026-03-31`)}.`;
}

export const spanReversedText = (first: string, last: string) =>
  `${code(first)} is after ${code(last)}. Enter the earlier day first.`;
export const noEventsText = ({ first, last }: Span) =>
  `The audit log has no events from ${first} to ${last} (UTC). Try a longer period.`;
export const auditFileText = ({ first, last }: Span, rowCount: number) =>
  `The audit log from ${first} to ${last} (UTC), with ${formatCount(rowCount, 'line')}`;
export const auditSentText = ({ first, last }: Span, rowCount: number) =>
  `I sent you the audit log from ${first} to ${last} (UTC) as a direct message. It has ${formatCount(rowCount, 'line')}.`;
