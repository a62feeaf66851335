import { MAX_UNSEALED_SECONDS } from '../../ledger/ledger.ts';
import type { FileLine } from '../../ledger/receipt.ts';
import { loadVisibleOrder } from '../../orders/visibility.ts';
import { type ActionCall, type CommandCall, type Feature, type Interaction, toViewer } from '../feature.ts';
import { noSuchOrderText } from '../orders/order-list.view.ts';
import { useTemporaryFile } from '../outbound/upload.ts';
import { sendFile, trySendFile } from '../send-file.ts';
import {
  ledgerFileDescription,
  ledgerMessage,
  NO_KEY_TEXT,
  NOTHING_SEALED_TEXT,
  orderNotSealedText,
  RECEIPT_ID_MISSING_TEXT,
  receiptFileDescription,
} from './ledger-export.view.ts';
import { parseSpan, toDateRange } from './span.ts';

/* Exports the ledger for admins, and receipts for people who can see the order, to be verified offline. */

async function* formatLines(
  lines: AsyncIterable<FileLine> | readonly FileLine[],
  onLine: () => void = () => undefined,
) {
  for await (const line of lines) {
    onLine();
    yield `${JSON.stringify(line)}\n`;
  }
}

async function runLedger(call: CommandCall): Promise<void> {
  const { context, person } = call;
  const span = call.words.length === 0 ? undefined : parseSpan('ledger', call.words, context.now());
  if (span !== undefined && 'problem' in span) return call.respond(span.problem);
  const fileLines = context.ledger.streamFile(span && toDateRange(span));
  const { fingerprint, ...state } = await context.ledger.loadState();
  if (fileLines === undefined || fingerprint === undefined) return call.respond(NO_KEY_TEXT);
  let lineCount = 0;
  const lines = formatLines(fileLines, () => {
    lineCount += 1;
  });
  const reply = await useTemporaryFile(lines, async (path) => {
    // The first line is the header.
    if (lineCount === 1) return NOTHING_SEALED_TEXT;
    const suffix = span === undefined ? '' : `-${span.first}-to-${span.last}`;
    const filename = `domain-steward-ledger${suffix}.jsonl`;
    const problem = await trySendFile(call, { path, filename, description: ledgerFileDescription(span) });
    if (problem !== undefined) return problem;
    context.log.info({ by: person.id, ...span }, 'ledger exported');
    return ledgerMessage({
      ...state,
      fingerprint,
      overdueSeconds: state.unsealedSeconds > MAX_UNSEALED_SECONDS ? Math.round(state.unsealedSeconds) : 0,
    });
  });
  await call.respond(reply);
}

async function sendReceipt(call: Interaction, id: string): Promise<void> {
  const { context } = call;
  const order = await loadVisibleOrder(context.orders, toViewer(call), id);
  if (order === undefined) return call.respond(noSuchOrderText(id));
  // Ensures that the receipt includes the order's latest events.
  await context.ledger.sealAndAnchor();
  const lines = await context.ledger.buildReceipt(order, context.buildStatement(order));
  if (lines === undefined) return call.respond(NO_KEY_TEXT);
  if (!lines.some(({ type }) => type === 'seal')) return call.respond(orderNotSealedText(order.id));
  let text = '';
  for await (const line of formatLines(lines)) text += line;
  const filename = `domain-steward-receipt-${order.id}.jsonl`;
  await call.respond(await sendFile(call, { text, filename, description: receiptFileDescription(order.id) }));
}

async function runReceipt(call: CommandCall): Promise<void> {
  const [id] = call.words;
  return id === undefined ? call.respond(RECEIPT_ID_MISSING_TEXT) : sendReceipt(call, id.toLowerCase());
}

export const ledger = {
  commands: [
    {
      usage: 'ledger [FROM] [TO]',
      summary: 'Export the ledger as a verifiable file',
      example: '/domain ledger 2026-01-01 2026-03-31',
      run: runLedger,
    },
    {
      usage: 'receipt ID',
      summary: 'Export the proof of one order as a verifiable file',
      example: '/domain receipt 7k2m9qx4h1ab',
      run: runReceipt,
    },
  ],
  actions: [{ id: 'order_receipt', run: (call: ActionCall) => sendReceipt(call, call.value) }],
} as const satisfies Feature;
