import { nodeCryptography, type Report, verify } from 'domain-steward-verify';
import { pino } from 'pino';
import type { SavedAnchor } from '../../src/ledger/anchor-file.ts';
import { createLedgerKey, parseLedgerKey } from '../../src/ledger/key.ts';
import { createLedger, type Ledger, type LedgerContext } from '../../src/ledger/ledger.ts';
import type { FileLine } from '../../src/ledger/receipt.ts';
import { hashSeal, type Seal } from '../../src/ledger/seal.ts';
import { hashStatement, tryBuildStatement } from '../../src/orders/statement.ts';
import { createLedgerStore } from '../../src/store/ledger.ts';
import { newOrder, startRig } from '../store/order-rig.ts';
import { newOrderEvent } from '../support/log.ts';

/** Adds a method that runs all ledger jobs of a process once. */
function addRunOnce(ledger: Ledger) {
  return {
    ...ledger,
    async runOnce() {
      await ledger.sealAndAnchor();
      await ledger.alertIfStalled();
    },
  };
}

export const HOUR_MS = 60 * 60_000;

const ENDPOINTS = { jsonUrl: 'https://service.example/v1', xmlUrl: undefined, replyTo: undefined };

/** Starts a ledger on a separate database, with orders to fill the log. */
export async function startLedgerRig() {
  const rig = await startRig();
  const key = parseLedgerKey(createLedgerKey());
  const store = createLedgerStore(rig.database, '');
  let now = new Date('2026-11-25T09:30:00Z');
  let savedAnchor: SavedAnchor | undefined;
  const deps: LedgerContext = {
    store,
    key,
    anchorFile: {
      load: async () => savedAnchor,
      save: async (anchor) => {
        savedAnchor = anchor;
      },
    },
    now: () => now,
    log: pino({ level: 'silent' }),
  };
  const running = addRunOnce(createLedger(deps));
  await running.checkIfDue();
  let eventCount = 0;
  return {
    ...rig,
    key,
    ledgerStore: store,
    /** The ledger of a process that has been running since the start. */
    running,
    now: deps.now,
    /** Creates the ledger of a newly started process. */
    createProcessLedger: (changes: Partial<LedgerContext> = {}) =>
      addRunOnce(createLedger({ ...deps, ...changes })),
    /** Advances the bot's clock. */
    advanceClock(ms: number): void {
      now = new Date(now.getTime() + ms);
    },
    /** Stores a requested and approved order. @param approval additional data of its approval */
    async createOrder(approval: object = {}) {
      const draft = newOrder();
      const statement = tryBuildStatement(draft, ENDPOINTS);
      if (statement === undefined) throw new Error('the order has no statement');
      const order = { ...draft, statementHash: hashStatement(statement) };
      const requested = newOrderEvent('requested', order.state, { statement: order.statementHash });
      await rig.store.create({ order, log: [requested], sealedInput: undefined });
      await rig.sql(
        `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
         VALUES ('order', $1, 'approved', 'U0BOB', now(), $2)`,
        [order.id, { statement: order.statementHash, version: 2, state: 'APPROVED', ...approval }],
      );
      return { order, statement };
    },
    /** The current receipt of an order. */
    async buildReceiptText(orderId: string): Promise<string> {
      const order = await rig.store.load(orderId, 'system');
      if (order === undefined) throw new Error('order not found');
      return formatLines(await running.buildReceipt(order, tryBuildStatement(order, ENDPOINTS)));
    },
    /** Writes events that aren't about orders. */
    async writeEvents(count = 1, writtenAt = now): Promise<void> {
      for (let index = 0; index < count; index += 1) {
        eventCount += 1;
        await rig.sql(
          `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
           VALUES ('name', $1, 'name_watched', 'U0ALICE', $3, $2)`,
          [
            `n${eventCount}.rest`,
            { reason: `because of ${eventCount} – “ü”`, nested: { b: [1, 2.5, null], a: true } },
            writtenAt,
          ],
        );
      }
    },
  };
}

export type LedgerRig = Awaited<ReturnType<typeof startLedgerRig>>;

export async function formatLines(
  lines: AsyncIterable<FileLine> | readonly FileLine[] | undefined,
): Promise<string> {
  let text = '';
  for await (const line of lines ?? []) text += `${JSON.stringify(line)}\n`;
  return text;
}

/** Runs the verifier, which shares no code with the bot, on a file. */
export function verifyText(
  text: string,
  known: { readonly key?: string; readonly anchors?: readonly Seal[] } = {},
): Promise<Report> {
  const chunks = (async function* () {
    yield Buffer.from(text);
  })();
  const anchors = (known.anchors ?? []).map((seal) => ({ n: seal.n, hash: hashSeal(seal) }));
  return verify(chunks, { key: known.key, anchors, roots: undefined }, nodeCryptography);
}

/** Runs SQL with disabled triggers. */
export async function tamper(rig: Pick<LedgerRig, 'sql'>, statement: string): Promise<void> {
  for (const table of ['events', 'seals', 'ledger_entries', 'anchors'])
    await rig.sql(`ALTER TABLE ${table} DISABLE TRIGGER ALL`);
  await rig.sql(statement);
  for (const table of ['events', 'seals', 'ledger_entries', 'anchors'])
    await rig.sql(`ALTER TABLE ${table} ENABLE TRIGGER ALL`);
}
