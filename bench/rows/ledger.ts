import pg from 'pg';
import { pino } from 'pino';
import { createLedgerKey, parseLedgerKey } from '../../src/ledger/key.ts';
import { createLedger, type Ledger } from '../../src/ledger/ledger.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createLedgerStore } from '../../src/store/ledger.ts';
import type { Bench, Line, Row } from '../measure.ts';
import { Postgres } from '../surroundings.ts';

/*
 * Sealing a day of 100,000 events, and the receipt of an order with ten events in a ledger of a million: sealed as fast
 * as possible, a thousand events per seal, and like a permanently busy bot, every two seconds, with an anchor per hour.
 */

const MAX_SEALING_S = 10;
const MAX_RECEIPT_MS = 300;
const TEAM = 'T0STEWARD';

const SEALING_PATTERNS = [
  { what: '1,024 events a seal', eventsPerSeal: 1_024, sealsPerAnchor: 100 },
  { what: 'a seal every 2 s', eventsPerSeal: 10, sealsPerAnchor: 1_800 },
];

/** Events of orders, each order's ten spread over the ledger. */
const buildInsert = (amount: number, from: number) => `
  INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
  SELECT '${TEAM}', 'order', 'order-' || (n % ${Math.max(1, amount / 10)}), 'answered', 'system', now(),
    jsonb_build_object('n', 1, 'name', 'name-' || n || '.rest', 'ctid', 'ctid-' || n, 'state', 'SUCCEEDED', 'version', 4,
      'outcome', 'SUCCEEDED', 'result', jsonb_build_object('code', 'S0105', 'text', 'The domain was renewed', 'stid', '20261125-app1-' || n))
  FROM generate_series(${from}, ${from + amount - 1}) n`;

/** Seals events as far as a receipt needs it. Hashes and signatures are invented. */
const buildSealing = (eventsPerSeal: number, sealsPerAnchor: number) => [
  `INSERT INTO ledger_entries (team_id, seq, event_seq, leaf)
   SELECT team_id, row_number() OVER (ORDER BY seq), seq, sha256(seq::text::bytea) FROM events`,
  `INSERT INTO seals (team_id, n, "from", "to", root, prev, at, signature)
   SELECT '${TEAM}', (min(seq) - 1) / ${eventsPerSeal} + 1, min(seq), max(seq), encode(sha256(min(seq)::text::bytea), 'hex'),
     encode(sha256(max(seq)::text::bytea), 'hex'), now(), encode(sha512(min(seq)::text::bytea), 'base64')
   FROM ledger_entries GROUP BY (seq - 1) / ${eventsPerSeal}`,
  `INSERT INTO anchors (team_id, n, hash, at) SELECT team_id, n, root, at FROM seals WHERE n % ${sealsPerAnchor} = 0`,
  // Like a table that was filled over months.
  'VACUUM (ANALYZE)',
  'CHECKPOINT',
];

async function withLedger<Result>(
  postgres: Postgres,
  action: (ledger: Ledger, run: (sql: string) => Promise<unknown>) => Promise<Result>,
): Promise<Result> {
  const url = await postgres.createDatabase();
  const database = openDatabase({ url });
  // Not the store's connection, because these statements may take minutes.
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const ledger = createLedger({
      store: createLedgerStore(database, TEAM),
      key: parseLedgerKey(createLedgerKey()),
      anchorFile: { load: async () => undefined, save: async () => undefined },
      now: () => new Date(),
      log: pino({ level: 'silent' }),
    });
    return await action(ledger, (sql) => client.query(sql));
  } finally {
    await client.end();
    await database.close();
  }
}

const createLine = (what: string, unit: Line['unit'], ours: number[], value: number): Line => ({
  ...{ row: 'ledger', what, reference: '–', unit, ours, theirs: [] },
  target: { of: 'ours', kind: 'at most', value },
});

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const eventsPerDay = effort.quick ? 1_000 : 100_000;
  const totalEvents = effort.quick ? 3_000 : 1_000_000;
  const postgres = await Postgres.start();
  try {
    const sealing = await withLedger(postgres, async (ledger, run) => {
      const seconds: number[] = [];
      for (let round = 0; round < effort.rounds; round += 1) {
        progress(`${round} days are sealed`);
        await run(buildInsert(eventsPerDay, round * eventsPerDay));
        const usageBefore = process.cpuUsage();
        await ledger.sealAndAnchor();
        const { user, system } = process.cpuUsage(usageBefore);
        seconds.push((user + system) / 1_000_000);
      }
      return seconds;
    });
    yield createLine(`processor time for sealing ${eventsPerDay} events`, 's', sealing, MAX_SEALING_S);

    for (const { what, eventsPerSeal, sealsPerAnchor } of SEALING_PATTERNS) {
      progress(`${totalEvents} events, ${what}`);
      const receipts = await withLedger(postgres, async (ledger, run) => {
        for (const sql of [
          'ALTER TABLE events DISABLE TRIGGER USER',
          buildInsert(totalEvents, 0),
          ...buildSealing(eventsPerSeal, sealsPerAnchor),
        ])
          await run(sql);
        const ms: number[] = [];
        for (let n = 0; n < (effort.quick ? 3 : 50); n += 1) {
          const startedAt = performance.now();
          const lines = await ledger.buildReceipt(
            { id: `order-${(n * 997) % (totalEvents / 10)}`, statementHash: '' },
            undefined,
          );
          ms.push(performance.now() - startedAt);
          if ((lines?.filter(({ type }) => type === 'path').length ?? 0) < 10)
            throw new Error('a receipt lacks events');
        }
        return ms;
      });
      yield createLine(`a receipt from ${totalEvents} events, ${what}`, 'ms', receipts, MAX_RECEIPT_MS);
    }
  } finally {
    await postgres.stop();
  }
}

export const ledger: Row = { id: 'ledger', seconds: 240, measure };
