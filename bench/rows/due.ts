import pg from 'pg';
import { listCandidateRanges } from '../../src/expiry/candidates.ts';
import { collectDueReminders } from '../../src/expiry/digest.ts';
import type { ReminderStore } from '../../src/expiry/ports.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createReminderStore } from '../../src/store/reminders.ts';
import { fillWatchList } from '../../test/support/watch-list.ts';
import {
  type Bench,
  createHeapMeter,
  type Line,
  measureAlternately,
  quantile,
  type Row,
} from '../measure.ts';
import { Postgres } from '../surroundings.ts';

/*
 * The reminders due today in a typical watch list: names that expire through the year, all earlier reminders sent, and
 * some names that pass a threshold today. The reference is one plain SQL query that reads the same columns of the same
 * names, but doesn't plan reminders.
 */

const MAX_RATIO = 1.5;
const NOW = new Date('2027-06-15T09:00:00Z');
/** The columns of a name that the plan and the digest need. */
const COLUMNS = `name, expires_at, expiry_source, renewed_until, deleted_at, snoozed_until, reminded_threshold, added_by,
  registered_by, doubt, last_lookup_at, lapse_reason, lapse_requested_by`;
const OPTIONS = { now: NOW, thresholds: [60, 30, 14, 7, 3, 1], timeZone: 'UTC' };

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const sizes = effort.quick ? [1_000] : [1_000, 10_000, 100_000, 1_000_000];
  const postgres = await Postgres.start();
  try {
    for (const size of sizes) {
      progress(`${size} names`);
      const dueCount = Math.min(1_000, size / 100);
      const url = await postgres.createDatabase();
      const client = new pg.Client({ connectionString: url });
      const database = openDatabase({ url });
      await client.connect();
      try {
        await fillWatchList(client, NOW, { names: size, due: dueCount });
        const reminders = createReminderStore(database, 'T0STEWARD');
        const ours = () =>
          timeQuery(async () => (await collectDueReminders(reminders, OPTIONS)).due.length, dueCount);
        const theirs = () => timeQuery(() => countDueInSql(client), dueCount);
        for (let n = 0; n < (effort.quick ? 1 : 10); n += 1) for (const side of [ours, theirs]) await side();
        const measureMedian = async (measureOnce: () => Promise<number>) => {
          const times: number[] = [];
          for (let n = 0; n < (effort.quick ? 1 : 20); n += 1) times.push(await measureOnce());
          return quantile(times, 0.5);
        };
        const measured = await measureAlternately(
          effort.rounds,
          () => measureMedian(ours),
          () => measureMedian(theirs),
        );
        yield {
          row: 'due',
          what: `${dueCount} names due today out of ${size}`,
          reference: 'the SQL by hand',
          unit: 'ms',
          ...measured,
          target: { of: 'ratio', kind: 'at most', value: MAX_RATIO },
        };
        yield {
          row: 'due',
          what: `… memory taken meanwhile, out of ${size}`,
          reference: '',
          unit: 'MB',
          ours: [await measureScanMb(reminders)],
          theirs: [],
        };
      } finally {
        await database.close();
        await client.end();
      }
    }
  } finally {
    await postgres.stop();
  }
}

async function timeQuery(query: () => Promise<number>, expected: number): Promise<number> {
  const startedAt = performance.now();
  const count = await query();
  if (count !== expected) throw new Error(`found ${count} due names, expected ${expected}`);
  return performance.now() - startedAt;
}

async function countDueInSql(client: pg.Client): Promise<number> {
  const values: unknown[] = [];
  const selects = listCandidateRanges(OPTIONS).map(({ threshold, from, until }) => {
    const parameter = values.push(from, until, threshold);
    return `SELECT ${COLUMNS} FROM domains WHERE expires_at >= $${parameter - 2} AND expires_at < $${parameter - 1}
      AND reminded_threshold > $${parameter} AND lapse_confirmed_at IS NULL`;
  });
  const { rows } = await client.query(selects.join(' UNION ALL '), values);
  return new Set(rows.map(({ name }) => name)).size;
}

async function measureScanMb(reminders: ReminderStore): Promise<number> {
  const heap = createHeapMeter();
  const measureBatches = async function* <T>(batches: AsyncIterable<T>) {
    for await (const batch of batches) {
      heap.sample();
      yield batch;
    }
  };
  await collectDueReminders(
    {
      ...reminders,
      streamCandidates: (ranges) => measureBatches(reminders.streamCandidates(ranges)),
      streamDeletedCandidates: (since) => measureBatches(reminders.streamDeletedCandidates(since)),
    },
    OPTIONS,
  );
  return heap.growthMb();
}

export const due: Row = { id: 'due', seconds: 90, measure };
