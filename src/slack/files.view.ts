/* What is said of files that people give, and are given. */

export const NO_CSV_GIVEN = 'Attach a CSV file, or paste its rows here.';
export const GIVEN_TWICE = 'Give it as a file or as text, not both.';
export const FILES_NOT_GRANTED =
  'Slack does not let me read files here: a workspace admin can grant files:read. Paste the text instead.';
export const FILE_DELETED =
  'The file isn’t in Slack any more: somebody deleted it. Attach it again, or paste the text instead.';
export const FILE_UNREADABLE =
  'I cannot read the file at this moment. Try again in a minute, or paste the text instead.';

export const handedOverText = (what: string) => `${what} is in our direct message.`;

/** @param error what Slack said of it */
export const notHandedOverText = ({ said, todo }: { readonly said: string; readonly todo: string }) =>
  `I cannot hand you the file. ${said} ${todo}`;
