import type { LedgerState } from '../../ledger/ledger.ts';
import { code, count, formatLocalTime, lineSections, type Message, message, section } from '../kit/blocks.ts';
import type { Span } from './audit-export.view.ts';

export const NO_KEY =
  'I can’t read the ledger, because an encryption key is missing. The bot’s log says which key.';
export const NOTHING_SEALED =
  'There’s nothing to export, because nothing is sealed yet. Try again in a few seconds.';
export const RECEIPT_ID_MISSING =
  'Enter an order’s ID, such as `/domain receipt 7k2m9qx4h1ab`. To find it, use `/domain orders`.';

export const receiptFileText = (orderId: string) => `The receipt for order ${orderId}`;
export const noReceiptText = (orderId: string) =>
  `Order ${code(orderId)} isn’t sealed yet. Try again in a few seconds.`;
export function ledgerMessage({ fingerprint, newest, anchor, overdueSeconds }: LedgerSummary): Message {
  const texts = [
    `Signed by ${code(fingerprint)}`,
    ...(newest === undefined
      ? []
      : [
          `Latest seal: ${code(`${newest.n}:${newest.hash}`)}, up to event ${newest.to}, ${formatLocalTime(new Date(newest.at))}`,
        ]),
    anchor === undefined
      ? 'No anchor is published yet. The first will be published within two hours.'
      : `Latest published anchor: ${code(`${anchor.n}:${anchor.hash}`)}, ${formatLocalTime(anchor.at)}`,
    ...(overdueSeconds > 0
      ? [`Some events haven’t been sealed for ${count(overdueSeconds, 'second')}.`]
      : []),
    `To verify it without the bot, use ${code(`npx domain-steward-verify FILE --key ${fingerprint}`)} and the anchors that you stored elsewhere.`,
  ];
  const title = 'I sent you the ledger as a direct message.';
  return message(`${title} ${texts.join(' ')}`, [section(title), ...lineSections(texts)]);
}

export interface LedgerSummary extends Pick<LedgerState, 'newest' | 'anchor'> {
  readonly fingerprint: string;
  /** Age in seconds of the oldest unsealed event; 0 if that age is normal. */
  readonly overdueSeconds: number;
}

export const ledgerFileText = (span: Span | undefined) =>
  span === undefined ? 'The ledger' : `The ledger from ${span.first} to ${span.last} (UTC)`;
