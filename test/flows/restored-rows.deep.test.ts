import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { approveOrder } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { cancelOrder } from '../../src/approvals/pending.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import { endMandate } from '../../src/mandates/life.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { createMandateHelpers } from '../mandates/mandate-rig.ts';
import { MINUTE_MS, type Rig, startRig } from '../orders/rig.ts';
import { DONE, newServiceError } from '../orders/scripted-service.ts';

/*
 * An attacker restores earlier rows of an order at every later point of its life: in all tables, each table and each
 * pair. Nothing that the log says was sent or has ended is sent again, and the difference is reported once.
 */

let rig: Rig;
let on: ReturnType<typeof createMandateHelpers>;
/** The tables with rows of an order, with the column of its id. */
let tables: ReadonlyMap<string, string>;
beforeAll(async () => {
  rig = await startRig();
  on = createMandateHelpers(rig);
  const found = await rig.sql(`
    SELECT DISTINCT c.table_name AS "table", c.column_name AS "column" FROM information_schema.columns c
    JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.column_name = 'order_id'`);
  const columns = z.array(z.object({ table: z.string(), column: z.string() })).parse(found);
  tables = new Map([['orders', 'id'], ...columns.map(({ table, column }) => [table, column] as const)]);
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

/** The rows of an order as JSON, by table. */
type Snapshot = ReadonlyMap<string, string>;

async function takeSnapshot(id: string): Promise<Snapshot> {
  const parts = [...tables].map(
    ([table, column]) =>
      `SELECT '${table}' AS "table", coalesce(jsonb_agg(to_jsonb(t)), '[]')::text AS rows FROM ${table} t WHERE ${column} = $1`,
  );
  const rows = z
    .array(z.object({ table: z.string(), rows: z.string() }))
    .parse(await rig.sql(parts.join(' UNION ALL '), id));
  return new Map(rows.map(({ table, rows }) => [table, rows]));
}

/** Restores rows of some tables, with the triggers disabled. */
async function restore(id: string, snapshot: Snapshot, which: readonly string[]): Promise<void> {
  await rig.database.transaction(async (run) => {
    await run({ text: 'SET LOCAL session_replication_role = replica', values: [] });
    for (const table of which) {
      await run({ text: `DELETE FROM ${table} WHERE ${tables.get(table)} = $1`, values: [id] });
      const text = `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`;
      await run({ text, values: [snapshot.get(table)] });
    }
  });
}

/** The sets of tables to restore, among those whose rows differ. */
function tableSetsToRestore(earlier: Snapshot, later: Snapshot): string[][] {
  const differing = [...tables.keys()].filter((table) => earlier.get(table) !== later.get(table));
  const pairs = differing.flatMap((a, index) => differing.slice(index + 1).map((b) => [a, b]));
  const all = differing.length > 2 ? [differing] : [];
  return [...all, ...pairs, ...differing.map((table) => [table])];
}

/** A step of an order's life, which can record points in between. */
type Step = (id: string, recordPoint: () => Promise<void>) => Promise<unknown>;

const busy = newServiceError('busy', { retryAfterMs: MINUTE_MS, httpStatus: 429 });
const respond =
  (answer: () => typeof DONE): Step =>
  async (_id, recordPoint) => {
    rig.service.answer = async () => {
      await recordPoint();
      return answer();
    };
    await rig.runDue();
  };
const refuse = (error: Error) => () => {
  throw error;
};
const approve: Step = (id) => approveOrder(rig.orders, id, 'U0BOB');
const later: Step = async () => rig.advanceClock(2 * MINUTE_MS);
const settle =
  (outcome: 'SUCCEEDED' | 'FAILED'): Step =>
  (id) =>
    resolveOrder(rig.orders, id, 'U0BOB', outcome, undefined);
const LOSE_RESPONSE = respond(refuse(newServiceError('unknown_outcome')));

const LIVES: Readonly<Record<string, readonly Step[]>> = {
  done: [approve, respond(() => DONE)],
  'done after the service was busy': [approve, respond(refuse(busy)), later, respond(() => DONE)],
  refused: [approve, respond(refuse(newServiceError('refused', { code: 'EF1' })))],
  'settled as done': [approve, LOSE_RESPONSE, settle('SUCCEEDED')],
  'settled as failed': [approve, LOSE_RESPONSE, settle('FAILED')],
  denied: [(id) => denyOrder(rig.orders, id, 'U0BOB', undefined)],
  cancelled: [(id) => cancelOrder(rig.orders, id, 'U0ALICE')],
  stopped: [approve, respond(refuse(busy)), (id) => stopOrder(rig.orders, id, 'U0BOB')],
  expired: [
    async (id) => {
      rig.advanceClock(73 * HOUR_MS);
      await rig.main.expire(id);
    },
  ],
};

let names = 0;

/** Requests an order and plays the steps. @returns its id, and its rows at each point */
async function playSteps(steps: readonly Step[]): Promise<{ id: string; points: Snapshot[] }> {
  names += 1;
  const { id } = await rig.requestAccepted('renew', { names: [`name-${names}.rest`], period: 1 });
  const points = [await takeSnapshot(id)];
  const recordPoint = async () => void points.push(await takeSnapshot(id));
  for (const step of steps) {
    await step(id, recordPoint);
    await recordPoint();
  }
  return { id, points };
}

/** Runs everything that could continue an order. */
async function tryToContinue(id: string): Promise<void> {
  rig.service.answer = async () => DONE;
  await rig.sql('UPDATE orders SET due_at = $2, lease_until = NULL WHERE id = $1', id, rig.now);
  for (let tries = 0; tries < 2; tries += 1) {
    for (const lane of ['deadlines', 'observation'] as const) await rig.main.advance(id, lane);
    await approveOrder(rig.orders, id, 'U0BOB');
    await rig.runDue();
    rig.advanceClock(HOUR_MS);
  }
}

async function countContradictions(id: string): Promise<number> {
  return (await rig.store.loadHistory(id, 'system')).filter(({ kind }) => kind === 'contradicted').length;
}

const open = z.array(z.object({ state: z.string(), version: z.number() }));
const versionIn = (snapshot: Snapshot | undefined) =>
  open.parse(JSON.parse(snapshot?.get('orders') ?? '[]'))[0]?.version;

test.each(Object.entries(LIVES))('an order that was %s isn’t sent again', async (_what, steps) => {
  let tried = 0;
  for (let end = 1; end <= steps.length; end += 1) {
    const first = await playSteps(steps.slice(0, end));
    const last = first.points.at(-1);
    for (const [index, earlier] of first.points.slice(0, -1).entries()) {
      for (const which of tableSetsToRestore(earlier, last ?? new Map())) {
        const { id, points } = await playSteps(steps.slice(0, end));
        const [before, now] = [points[index], points.at(-1)];
        if (before === undefined || now === undefined) throw new Error('no such point');
        const sent = rig.service.countSent(id);
        const hasEnded = !['PENDING', 'APPROVED'].includes((await rig.read(id)).state);
        await restore(id, before, which);
        const isOlder = which.includes('orders') && versionIn(before) !== versionIn(now);
        await tryToContinue(id);
        const restored = `${which.join(' and ')} from point ${index} at point ${points.length - 1}`;
        if (hasEnded || isOlder) expect(rig.service.countSent(id), restored).toBe(sent);
        else expect(rig.service.countSent(id), restored).toBeLessThanOrEqual(sent + 1);
        const contradictions = await countContradictions(id);
        expect(contradictions, restored).toBeLessThanOrEqual(1);
        if (isOlder) expect(contradictions, restored).toBe(1);
        if (isOlder && hasEnded) expect((await rig.read(id)).state, restored).toBe('FAILED');
        tried += 1;
      }
    }
  }
  expect(tried).toBeGreaterThan(2);
});

test('restored rows of an ended mandate don’t renew anything', async () => {
  await on.watch('cafe.rest', 10);
  const createEndedMandate = async (which: number) => {
    const { id } = await on.ask();
    const points = [await takeSnapshot(id)];
    await approveOrder(rig.orders, id, 'U0BOB');
    points.push(await takeSnapshot(id));
    await rig.runDue();
    points.push(await takeSnapshot(id));
    await endMandate(rig.mandates, id, 'U0ALICE');
    return { id, before: points[which] ?? new Map() };
  };
  for (const which of [0, 1, 2]) {
    const { id, before } = await createEndedMandate(which);
    for (const set of tableSetsToRestore(before, await takeSnapshot(id))) {
      await restore(id, before, set);
      await tryToContinue(id);
      await on.run();
      expect(await on.listActs(), `${set.join(' and ')} of point ${which}`).toEqual([]);
      rig.advanceClock(-2 * HOUR_MS);
    }
    expect(await countContradictions(id)).toBeGreaterThan(0);
    await rig.sql('UPDATE order_items SET open_key = NULL WHERE order_id = $1', id);
  }
  rig.advanceClock(DAY_MS);
});
