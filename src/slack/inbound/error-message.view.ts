import { code, type Message, textMessage } from '../kit/blocks.ts';

/* What a person is told of an unexpected error. */

/** By SQLSTATE (PostgreSQL, appendix A): a database that answers but cannot write. */
export const KEEPS_NOTHING: Readonly<Record<string, string>> = {
  53100: 'My database has no room left, so it keeps nothing new. Tell whoever runs me.',
  25006: 'My database takes no changes right now. Try again in a minute.',
};
export const NO_DATABASE = 'My database does not answer right now. Try again in a minute.';
export const SOMETHING_WRONG =
  'Something went wrong on my side. Try again in a minute; if it stays so, tell whoever runs me.';
export const KEY_MISSING =
  'I cannot open what I keep encrypted for this here, because one of my keys is missing. Nothing is lost, and nothing was sent. Try again in a few minutes. Whoever runs me finds in my log which key it is.';
export const SEAL_BROKEN =
  'What I keep encrypted for this cannot be opened any more: its key is gone, or it was changed. Link your account again with `/domain link`, then ask again.';

/** Most actions only read, but an order may have been kept before the error. */
export const lookFirst = (cause: string) =>
  `${cause} If you asked for an order, look at \`/domain orders mine\` first, so that it is not asked for twice.`;

/** @param reference stands in the log too */
export function withReference(text: string, reference: string): Message {
  return textMessage(`${text} Reference ${code(reference)}.`);
}
