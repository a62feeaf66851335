import type { CsvIssue, UnreadableFile } from '../../lib/csv.ts';
import { count } from './mrkdwn.ts';

/** Said of a row that goes on behind the columns of the header. */
export const MORE_CELLS = 'The row has more cells than the header.';

/** What keeps a file from being read as CSV, to follow the number of its line; plain text. */
export function csvIssueText(issue: CsvIssue): string {
  const limit = 'limit' in issue ? issue.limit.toLocaleString('en') : '';
  switch (issue.code) {
    case 'not_csv':
      return 'this is no CSV from here on. Look for a quotation mark that is not closed.';
    case 'repeated_column':
      return `the column “${issue.column}” stands there twice.`;
    case 'second_header':
      return 'this is another heading. Give each list on its own.';
    case 'too_many_bytes':
      return `a file has at most ${limit} bytes. Send it in parts.`;
    case 'too_many_columns':
      return `it has more than ${limit} columns. Leave only the columns that are asked for.`;
    case 'too_many_rows':
      return `a file has at most ${limit} rows. Send it in parts.`;
    case 'long_cell':
      return `a cell has more than ${limit} characters. Look for a quotation mark that is not closed.`;
  }
}

/** Why a file cannot be read, as a sentence. Plain text. */
export function unreadableFileText(issue: UnreadableFile): string {
  return issue.code === 'not_text'
    ? `Line ${issue.line} has a character that I cannot read. Save the file as “CSV UTF-8” and send it again.`
    : `A file may have at most ${count(issue.maxBytes / 1_000, 'kilobyte')}. Send it in parts.`;
}
