import { code, type Message, textMessage } from '../kit/blocks.ts';

/** Texts for a database that responds but can't write, by SQLSTATE (PostgreSQL documentation, appendix A). */
export const DATABASE_WRITE_ERRORS: Readonly<Record<string, string>> = {
  53100: 'My database is full, so nothing new can be saved. Tell your operator.',
  25006: 'My database can’t save changes right now. Try again in a minute.',
};
export const DATABASE_NOT_RESPONDING = 'My database doesn’t respond right now. Try again in a minute.';
export const SOMETHING_WENT_WRONG =
  'Something went wrong on my side. Try again in a minute. If it keeps failing, tell your operator.';
export const KEY_MISSING =
  'I can’t decrypt the data for this, because an encryption key is missing. Nothing is lost, and nothing was sent. Try again in a few minutes. Your operator can find the missing key’s ID in the log.';
export const UNDECRYPTABLE =
  'I can no longer decrypt the data for this: its key is gone, or the data was changed. Link your account again with `/domain link`, then request it again.';

/** An order may have been stored before the error. */
export const addOrderCheckHint = (cause: string) =>
  `${cause} If you requested an order, check \`/domain orders mine\` first, so it isn’t requested twice.`;

/** @param reference identifies the error in the log */
export function addReference(text: string, reference: string): Message {
  return textMessage(`${text} Reference ${code(reference)}.`);
}
