import type { LedgerState } from '../../ledger/ledger.ts';
import { code, count, lines, type Message, message, moment, section } from '../kit/blocks.ts';
import type { Span } from './audit-export.view.ts';

/* What is said of the ledger and of receipts as files. */

export const NO_KEY =
  'The ledger cannot be read: its key cannot be opened. The log of the bot says which key is missing.';
export const NOTHING_SEALED = 'Nothing is sealed yet, so there is no file. Try again in a few seconds.';
export const WHICH_RECEIPT =
  'Which order? Give its id, such as `/domain receipt 7k2m9qx4h1ab`; `/domain orders` lists them.';

export const receiptFileText = (orderId: string) => `The receipt of order ${orderId}`;
export const noReceiptText = (orderId: string) =>
  `Nothing of order ${code(orderId)} is sealed yet. Try again in a few seconds.`;
/** Where the ledger’s file is, how it is verified, and what there is of it. */
export function ledgerMessage({ fingerprint, newest, anchor, waiting }: LedgerShown): Message {
  const texts = [
    `Signed by ${code(fingerprint)}`,
    ...(newest === undefined
      ? []
      : [
          `Newest seal: ${code(`${newest.n}:${newest.hash}`)}, up to event ${newest.to}, ${moment(new Date(newest.at))}`,
        ]),
    anchor === undefined
      ? 'No anchor has left yet: the first leaves within an hour or two.'
      : `Newest anchor that has left: ${code(`${anchor.n}:${anchor.hash}`)}, ${moment(anchor.at)}`,
    ...(waiting > 0 ? [`Events wait for a seal since ${count(waiting, 'second')}.`] : []),
    `Verify it without the bot: ${code(`npx domain-steward-verify FILE --key ${fingerprint}`)}, with anchors that you kept elsewhere.`,
  ];
  const title = 'The ledger is in our direct message.';
  return message(`${title} ${texts.join(' ')}`, [section(title), ...lines(texts)]);
}

/** What {@link ledgerMessage} shows. */
export interface LedgerShown extends Pick<LedgerState, 'newest' | 'anchor'> {
  readonly fingerprint: string;
  /** For how many seconds events wait for a seal, where that is unusual. */
  readonly waiting: number;
}

export const ledgerFileText = (span: Span | undefined) =>
  span === undefined ? 'The ledger' : `The ledger, sealed from ${span.first} to ${span.last} (UTC)`;
