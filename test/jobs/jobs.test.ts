import pg from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createJobs, type Handlers, type Jobs } from '../../src/jobs/jobs.ts';
import { isForLater, type LaterJob, type OrderJob } from '../../src/orders/ports.ts';
import { DURABLE_COMMITS } from '../../src/store/session.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/demo.ts';

let database: TestDatabase;
let pool: pg.Pool;
let replicas: Jobs[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  // The database is dropped while the last connections are still closing.
  pool.on('connect', (client) => client.on('error', () => undefined));
});
afterEach(async () => {
  await Promise.all(replicas.map((jobs) => jobs.close()));
  replicas = [];
  await pool.end();
  await database.drop();
});

function replica(now: () => Date = () => new Date(), url = database.url): Jobs {
  const jobs = createJobs({
    connectionString: url,
    session: DURABLE_COMMITS,
    log: pino({ level: 'silent' }),
    now,
  });
  replicas.push(jobs);
  return jobs;
}

const nothing = async () => undefined;

/** A replica that works on one queue with the handler given, and lets the others' jobs pass. */
async function working(handlers: Partial<Handlers>, now?: () => Date): Promise<Jobs> {
  const jobs = replica(now);
  await jobs.start();
  await jobs.work({
    'order.execute': nothing,
    'order.show': nothing,
    'order.expire': nothing,
    'order.nudge': nothing,
    'expiry.follow': nothing,
    'expiry.refresh': nothing,
    'expiry.digest': nothing,
    ...handlers,
  });
  return jobs;
}

const execute = (sql: string, values: unknown[]) => pool.query(sql, values);
/** A job that is written down, though its time has come. */
const written = (orderId: string, startAfter = new Date()): LaterJob => ({
  queue: 'order.execute',
  data: { orderId },
  startAfter,
});
const show = (orderId: string): OrderJob => ({ queue: 'order.show', data: { orderId } });

/** Commits jobs with nothing else. */
async function commit(jobs: Jobs, added: readonly OrderJob[]): Promise<void> {
  await jobs.enqueue(execute, added.filter(isForLater));
  jobs.committed(added);
}

test('four replicas that start at once on an empty database all start', async () => {
  const empty = await createTestDatabase('empty');
  onTestFinished(() => empty.drop());
  const all = Array.from({ length: 4 }, () => replica(undefined, empty.url));
  await Promise.all(all.map((jobs) => jobs.start()));
  await Promise.all(all.map((jobs) => jobs.close()));
  replicas = [];
});

test('a job runs as soon as it is told of, each once', async () => {
  const done: string[] = [];
  const jobs = await working({ 'order.execute': async ({ orderId }) => void done.push(orderId) });
  const toldAt = performance.now();
  await commit(jobs, [written('a')]);
  await until('the job is done', () => done.length > 0);
  expect(performance.now() - toldAt, 'ms').toBeLessThan(1_000);
  expect(done).toEqual(['a']);
});

test('a wave of jobs does not wait for polls between its batches', async () => {
  const done = new Set<string>();
  const jobs = await working({ 'order.execute': async ({ orderId }) => void done.add(orderId) });
  // 48 at a time with a poll each would take 2 s × 12.
  await commit(
    jobs,
    Array.from({ length: 600 }, (_, n) => written(`order-${n}`)),
  );
  await until('all are done', () => done.size === 600);
});

test('one slow job holds up no other', async () => {
  const done: string[] = [];
  let release = () => {};
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  const jobs = await working({
    'order.execute': async ({ orderId }) => {
      if (orderId === 'slow') await slow;
      done.push(orderId);
    },
  });
  await commit(jobs, [written('slow')]);
  await commit(
    jobs,
    Array.from({ length: 20 }, (_, n) => written(`quick-${n}`)),
  );
  await until('the quick ones are done', () => done.length === 20);
  expect(done).not.toContain('slow');
  release();
  await jobs.idle();
  expect(done).toContain('slow');
});

test('a job for later runs then, by the clock of the bot, and not before', async () => {
  const aheadMs = 3 * 86_400_000;
  const now = () => new Date(Date.now() + aheadMs);
  const ran: number[] = [];
  const jobs = await working({ 'order.execute': async () => void ran.push(Date.now()) }, now);
  const due = Date.now() + 700;
  await commit(jobs, [written('later', new Date(due + aheadMs))]);
  await until('it has run', () => ran.length > 0);
  expect((ran[0] ?? 0) - due, 'ms after it was due').toBeGreaterThanOrEqual(0);
  expect((ran[0] ?? 0) - due, 'ms after it was due').toBeLessThan(1_000);
});

test('what a transaction takes back was never queued', async () => {
  const done: string[] = [];
  const jobs = await working({ 'order.execute': async ({ orderId }) => void done.push(orderId) });
  const client = await pool.connect();
  await client.query('BEGIN');
  await jobs.enqueue((sql, values) => client.query(sql, values), [written('taken back')]);
  await client.query('ROLLBACK');
  client.release();
  await commit(jobs, [written('kept')]);
  await until('the kept one is done', () => done.includes('kept'));
  expect(done).toEqual(['kept']);
});

test('a failing job, and one of another shape, harm nobody', async () => {
  const done: string[] = [];
  const jobs = await working({
    'order.execute': async ({ orderId }) => {
      if (orderId === 'bad') throw new Error('no');
      done.push(orderId);
    },
  });
  await commit(jobs, [written('bad'), written('misshapen', new Date(Date.now() + 60_000))]);
  await pool.query(
    `UPDATE pgboss.job SET data = '{"orderId":7}', start_after = now() WHERE data->>'orderId' = 'misshapen'`,
  );
  await commit(jobs, [written('good')]);
  await until('the good one is done', () => done.includes('good'));
});

test('stopping waits for what is under way, takes nothing new, and says whether time was enough', async () => {
  const begun: string[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const jobs = await working({
    'order.execute': async ({ orderId }) => {
      begun.push(orderId);
      await held;
    },
  });
  await commit(jobs, [written('first')]);
  await until('it has begun', () => begun.length === 1);
  expect(await jobs.stop(50), 'while it is held').toBe(false);
  await commit(jobs, [written('second')]);
  release();
  expect(await jobs.stop(5_000)).toBe(true);
  expect(begun).toEqual(['first']);
});

describe('what is due at once', () => {
  const rows = async () =>
    (await pool.query("SELECT data->>'orderId' AS id FROM pgboss.job WHERE name = 'order.show'")).rows;

  test('is done at once and never written', async () => {
    const done: string[] = [];
    const jobs = await working({ 'order.show': async ({ orderId }) => void done.push(orderId) });
    await commit(jobs, [show('a'), show('b')]);
    await until('both are done', () => done.length === 2);
    expect(done.toSorted()).toEqual(['a', 'b']);
    expect(await rows()).toEqual([]);
  });

  test('is written when it is for later', async () => {
    const jobs = await working({});
    await commit(jobs, [{ ...show('later'), startAfter: new Date(Date.now() + 60_000) }]);
    expect(await rows()).toEqual([{ id: 'later' }]);
  });

  test('waits for room, told twice is done once, and told again while it is done is done again', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const jobs = await working({
      'order.show': ({ orderId }) => {
        begun.push(orderId);
        return new Promise((resolve) => ends.push(resolve));
      },
    });
    const eight = Array.from({ length: 8 }, (_, n) => show(`order-${n}`));
    jobs.committed([...eight, show('next'), show('next'), show('last')]);
    await until('there is no more room', () => begun.length === 8);
    expect(begun).not.toContain('next');
    ends.shift()?.();
    await until('the next one has begun', () => begun.includes('next'));
    jobs.committed([show('next')]);
    for (const end of ends.splice(0)) end();
    await until('all have begun', () => begun.length === 11);
    expect(begun.slice(8)).toEqual(['next', 'last', 'next']);
    for (const end of ends.splice(0)) end();
    await jobs.idle();
  });
});
