import type { LedgerState } from '../../ledger/ledger.ts';
import {
  code,
  formatCount,
  formatLocalTime,
  lineSections,
  type Message,
  message,
  section,
} from '../kit/blocks.ts';
import type { Span } from './audit-export.view.ts';

export const NO_KEY_TEXT =
  'I can’t read the ledger, because an encryption key is missing. The bot’s log says which key.';
export const NOTHING_SEALED_TEXT =
  'There’s nothing to export, because nothing is sealed yet. Try again in a few seconds.';
export const RECEIPT_ID_MISSING_TEXT =
  'Enter an order’s ID, such as `/domain receipt 7k2m9qx4h1ab`. To find it, use `/domain orders`.';

export const receiptFileDescription = (orderId: string) => `The receipt for order ${orderId}`;
export const orderNotSealedText = (orderId: string) =>
  `Order ${code(orderId)} isn’t sealed yet. Try again in a few seconds.`;
export function ledgerMessage({
  fingerprint,
  newestSeal,
  newestAnchor,
  overdueSeconds,
}: LedgerSummary): Message {
  const texts = [
    `Signed by ${code(fingerprint)}`,
    ...(newestSeal === undefined
      ? []
      : [
          `Latest seal: ${code(`${newestSeal.n}:${newestSeal.hash}`)}, up to event ${newestSeal.to}, ${formatLocalTime(new Date(newestSeal.at))}`,
        ]),
    newestAnchor === undefined
      ? 'No anchor is published yet. The first will be published within two hours.'
      : `Latest published anchor: ${code(`${newestAnchor.n}:${newestAnchor.hash}`)}, ${formatLocalTime(newestAnchor.at)}`,
    ...(overdueSeconds > 0
      ? [`Some events haven’t been sealed for ${formatCount(overdueSeconds, 'second')}.`]
      : []),
    `To verify it without the bot, use ${code(`npx domain-steward-verify FILE --key ${fingerprint}`)} and the anchors that you stored elsewhere.`,
  ];
  const title = 'I sent you the ledger as a direct message.';
  return message(`${title} ${texts.join(' ')}`, [section(title), ...lineSections(texts)]);
}

export interface LedgerSummary extends Pick<LedgerState, 'newestSeal' | 'newestAnchor'> {
  readonly fingerprint: string;
  /** Age of the oldest unsealed event; 0 if sealing isn't overdue. */
  readonly overdueSeconds: number;
}

export const ledgerFileDescription = (span: Span | undefined) =>
  span === undefined ? 'The ledger' : `The ledger from ${span.first} to ${span.last} (UTC)`;
