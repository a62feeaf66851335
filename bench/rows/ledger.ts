import { pino } from 'pino';
import { makeLedgerKey, readLedgerKey } from '../../src/ledger/key.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createLedgerStore } from '../../src/store/ledger.ts';
import type { Bench, Line, Row } from '../measure.ts';
import { Postgres } from '../surroundings.ts';

/*
 * Sealing a day of 100,000 events, and the receipt of an order in a ledger of a million, of which each order has ten.
 */

const SEALING_S = 10;
const RECEIPT_MS = 300;
const TEAM = 'T0STEWARD';

/** Events of orders, each order's ten spread over the ledger. */
const insertEvents = (amount: number, from: number) => `
  INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
  SELECT '${TEAM}', 'order', 'order-' || (n % ${Math.max(1, amount / 10)}), 'answered', 'system', now(),
    jsonb_build_object('n', 1, 'name', 'name-' || n || '.rest', 'ctid', 'ctid-' || n, 'state', 'SUCCEEDED', 'version', 4,
      'outcome', 'SUCCEEDED', 'result', jsonb_build_object('code', 'S0105', 'text', 'The domain was renewed', 'stid', '20261125-app1-' || n))
  FROM generate_series(${from}, ${from + amount - 1}) n`;

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const day = effort.quick ? 1_000 : 100_000;
  const all = effort.quick ? 3_000 : 1_000_000;
  const postgres = await Postgres.start();
  const database = openDatabase({ url: await postgres.database() });
  try {
    const store = createLedgerStore(database, TEAM);
    const ledger = createLedger({
      store,
      key: readLedgerKey(makeLedgerKey()),
      memory: { recall: async () => undefined, remember: async () => undefined },
      now: () => new Date(),
      log: pino({ level: 'silent' }),
    });
    const seconds: number[] = [];
    for (let sealed = 0; sealed < all; sealed += day) {
      progress(`${sealed} events are sealed`);
      await database.prisma.$executeRawUnsafe(insertEvents(day, sealed));
      const before = process.cpuUsage();
      await ledger.turn();
      const { user, system } = process.cpuUsage(before);
      seconds.push((user + system) / 1_000_000);
    }
    await database.prisma.$executeRaw`ANALYZE`;
    yield {
      row: 'ledger',
      what: `processor time for sealing ${day} events`,
      reference: '–',
      unit: 's',
      ours: seconds,
      theirs: [],
      target: { of: 'ours', kind: 'at most', value: SEALING_S },
    };
    const receipts: number[] = [];
    for (let n = 0; n < (effort.quick ? 3 : 50); n += 1) {
      const startedAt = performance.now();
      const lines = await ledger.receipt(`order-${(n * 997) % Math.max(1, day / 10)}`, undefined);
      receipts.push(performance.now() - startedAt);
      if ((lines?.filter(({ type }) => type === 'path').length ?? 0) < 10)
        throw new Error('a receipt lacks events');
    }
    yield {
      row: 'ledger',
      what: `a receipt from ${all} events`,
      reference: '–',
      unit: 'ms',
      ours: receipts,
      theirs: [],
      target: { of: 'ours', kind: 'at most', value: RECEIPT_MS },
    };
  } finally {
    await database.close();
    await postgres.stop();
  }
}

export const ledger: Row = { id: 'ledger', seconds: 180, measure };
