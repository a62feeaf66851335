import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DAY_MS } from '../../duration.ts';
import { OVERDUE_SECONDS } from '../../ledger/ledger.ts';
import type { FileLine } from '../../ledger/receipt.ts';
import { maySee } from '../../orders/visibility.ts';
import { isCalendarDay } from '../../zones/calendar-day.ts';
import { type ActionCall, type CommandCall, type Feature, type Interaction, viewerOf } from '../feature.ts';
import { noSuchOrderText } from '../orders/order-list.view.ts';
import { handOver, sendFile } from '../send-file.ts';
import {
  ledgerFileText,
  ledgerMessage,
  NO_KEY,
  NOTHING_SEALED,
  noReceiptText,
  notLedgerDaysText,
  receiptFileText,
  WHICH_RECEIPT,
} from './ledger-export.view.ts';

/* The ledger, for admins, and the receipt of an order, for who may see it: files that are verified without the bot. */

async function* textOf(
  lines: AsyncIterable<FileLine> | readonly FileLine[],
  onLine: () => void = () => undefined,
) {
  for await (const line of lines) {
    onLine();
    yield `${JSON.stringify(line)}\n`;
  }
}

/** Days in UTC, the last one included; undefined: all. */
function daysOf(
  words: readonly string[],
  now: Date,
): { from: string; to: string } | { wrong: string | undefined } | undefined {
  const [from, to = now.toISOString().slice(0, 10)] = words;
  if (from === undefined) return undefined;
  const wrong = [from, to].find((word) => !isCalendarDay(word));
  return wrong !== undefined || words.length > 2 || from > to ? { wrong } : { from, to };
}

async function runLedger(call: CommandCall): Promise<void> {
  const { deps, person } = call;
  const days = daysOf(call.words, deps.now());
  if (days !== undefined && 'wrong' in days) return call.respond(notLedgerDaysText(days.wrong));
  const sealed = days && {
    from: new Date(`${days.from}T00:00:00Z`),
    to: new Date(Date.parse(`${days.to}T00:00:00Z`) + DAY_MS),
  };
  const file = deps.ledger.file(sealed);
  const { fingerprint, ...state } = await deps.ledger.state();
  if (file === undefined || fingerprint === undefined) return call.respond(NO_KEY);
  // Slack needs the length first, so the file is written to disk before the upload.
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-ledger-'));
  try {
    const path = join(folder, 'ledger.jsonl');
    let written = 0;
    const lines = textOf(file, () => {
      written += 1;
    });
    await pipeline(Readable.from(lines), createWriteStream(path, { mode: 0o600 }));
    // The first line is there in any case.
    if (written === 1) return await call.respond(NOTHING_SEALED);
    const span = days === undefined ? '' : `-${days.from}-to-${days.to}`;
    const filename = `domain-steward-ledger${span}.jsonl`;
    const problem = await handOver(call, { path, filename, what: ledgerFileText(days?.from, days?.to) });
    if (problem === undefined) deps.log.info({ by: person.id, ...days }, 'ledger exported');
    const waiting = state.waitingSeconds > OVERDUE_SECONDS ? Math.round(state.waitingSeconds) : 0;
    await call.respond(problem ?? ledgerMessage({ ...state, fingerprint, waiting }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Hands the receipt of an order to who may see it. */
async function sendReceipt(call: Interaction, id: string): Promise<void> {
  const { deps } = call;
  const order = await deps.orders.store.load(id);
  if (order === undefined || !(await maySee(deps.orders, order, viewerOf(call))))
    return call.respond(noSuchOrderText(id));
  // What has happened to it by now belongs to it.
  await deps.ledger.turn();
  const lines = await deps.ledger.receipt(order, deps.statementOf(order));
  if (lines === undefined) return call.respond(NO_KEY);
  if (!lines.some(({ type }) => type === 'seal')) return call.respond(noReceiptText(order.id));
  let text = '';
  for await (const line of textOf(lines)) text += line;
  const filename = `domain-steward-receipt-${order.id}.jsonl`;
  await call.respond(await sendFile(call, { text, filename, what: receiptFileText(order.id) }));
}

async function runReceipt(call: CommandCall): Promise<void> {
  const [id] = call.words;
  return id === undefined ? call.respond(WHICH_RECEIPT) : sendReceipt(call, id.toLowerCase());
}

export const ledger = {
  commands: [
    {
      usage: 'ledger [FROM] [TO]',
      summary: 'Get the ledger as a file that can be verified without the bot, and its newest seal',
      example: '/domain ledger 2026-01-01 2026-03-31',
      run: runLedger,
    },
    {
      usage: 'receipt ID',
      summary: 'Get the proof of one order as a file that can be verified without the bot',
      example: '/domain receipt 7k2m9qx4h1ab',
      run: runReceipt,
    },
  ],
  actions: [{ id: 'order_receipt', run: (call: ActionCall) => sendReceipt(call, call.value) }],
} as const satisfies Feature;
