import { uncapitalize } from './kit/mrkdwn.ts';

/* Texts about uploaded and shared files. */

export const NO_CSV_GIVEN = 'Attach a CSV file, or paste its rows here.';
export const BOTH_FILE_AND_TEXT = 'Use the file or the text, not both.';
export const FILE_ACCESS_NOT_GRANTED =
  'Slack doesn’t let me read files here: a workspace admin can grant files:read. Paste the text instead.';
export const FILE_DELETED = 'The file was deleted from Slack. Attach it again, or paste the text instead.';
export const FILE_UNREADABLE =
  'I can’t read the file right now. Try again in a minute, or paste the text instead.';

export interface FileDescription {
  /** For example “The plan with 46 changes”. Starts with a capital, because it can start a sentence. */
  readonly description: string;
  /** Default: “I sent you … as a direct message.” */
  readonly reply?: string;
}

export const fileSentText = (description: string) =>
  `I sent you ${uncapitalize(description)} as a direct message.`;

export const fileNotSentText = ({ cause, remedy }: { readonly cause: string; readonly remedy: string }) =>
  `I can’t send you the file. ${cause} ${remedy}`;
