import type { LedgerState } from '../../ledger/ledger.ts';
import { code, count, lines, type Message, message, moment, section } from '../kit/blocks.ts';
import type { Span } from './audit-export.view.ts';

/* Texts of ledger and receipt files. */

export const NO_KEY =
  'The ledger can’t be read: its key can’t be decrypted. The bot’s log says which key is missing.';
export const NOTHING_SEALED = 'Nothing is sealed yet, so there’s no file. Try again in a few seconds.';
export const WHICH_RECEIPT =
  'Which order? Give its id, such as `/domain receipt 7k2m9qx4h1ab`; `/domain orders` lists them.';

export const receiptFileText = (orderId: string) => `The receipt of order ${orderId}`;
export const noReceiptText = (orderId: string) =>
  `Order ${code(orderId)} isn’t sealed yet. Try again in a few seconds.`;
export function ledgerMessage({ fingerprint, newest, anchor, waiting }: LedgerShown): Message {
  const texts = [
    `Signed by ${code(fingerprint)}`,
    ...(newest === undefined
      ? []
      : [
          `Newest seal: ${code(`${newest.n}:${newest.hash}`)}, up to event ${newest.to}, ${moment(new Date(newest.at))}`,
        ]),
    anchor === undefined
      ? 'No anchor was published yet: the first follows within two hours.'
      : `Newest anchor that has left: ${code(`${anchor.n}:${anchor.hash}`)}, ${moment(anchor.at)}`,
    ...(waiting > 0 ? [`Events have been waiting for a seal for ${count(waiting, 'second')}.`] : []),
    `Verify it without the bot: ${code(`npx domain-steward-verify FILE --key ${fingerprint}`)}, with anchors you kept elsewhere.`,
  ];
  const title = 'I sent you the ledger as a direct message.';
  return message(`${title} ${texts.join(' ')}`, [section(title), ...lines(texts)]);
}

export interface LedgerShown extends Pick<LedgerState, 'newest' | 'anchor'> {
  readonly fingerprint: string;
  /** Seconds that events have waited for a seal, if unusual. */
  readonly waiting: number;
}

export const ledgerFileText = (span: Span | undefined) =>
  span === undefined ? 'The ledger' : `The ledger, sealed from ${span.first} to ${span.last} (UTC)`;
