import type { CsvIssue, UnreadableFileIssue } from '../../lib/csv.ts';
import { formatCount } from './mrkdwn.ts';

export const TOO_MANY_CELLS_TEXT = 'The row has more cells than the header.';

/** @returns plain text that follows the line number */
export function formatCsvIssue(issue: CsvIssue): string {
  const limit = 'limit' in issue ? issue.limit.toLocaleString('en') : '';
  switch (issue.code) {
    case 'not_csv':
      return 'this isn’t CSV from here on. Look for an unclosed quote.';
    case 'duplicate_column':
      return `the column “${issue.column}” appears twice.`;
    case 'second_header':
      return 'another header starts here. Send each list as its own file.';
    case 'too_many_bytes':
      return `a file can have at most ${limit} bytes. Split it.`;
    case 'too_many_columns':
      return `it has more than ${limit} columns. Keep only the documented ones.`;
    case 'too_many_rows':
      return `a file can have at most ${limit} rows. Split it.`;
    case 'cell_too_long':
      return `a cell has more than ${limit} characters. Look for an unclosed quote.`;
  }
}

/** @returns plain text */
export function formatUnreadableFile(issue: UnreadableFileIssue): string {
  return issue.code === 'not_text'
    ? `Line ${issue.line} has an unreadable character. Save the file as “CSV UTF-8” and send it again.`
    : `A file can have at most ${formatCount(issue.maxBytes / 1_000, 'kilobyte')}. Split it.`;
}
