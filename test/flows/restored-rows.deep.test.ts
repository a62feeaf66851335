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
import { newServiceError, SUCCESS_ENVELOPE } from '../orders/scripted-service.ts';

/*
 * An attacker restores earlier rows of an order at every later point of its life: in all tables, in one or in two. If
 * the log says that the order was sent or has ended, it isn't sent again, and the contradiction is reported once.
 */

let rig: Rig;
let mandates: ReturnType<typeof createMandateHelpers>;
/** Maps each table with rows of orders to its column for the order's id. */
let tables: ReadonlyMap<string, string>;
beforeAll(async () => {
  rig = await startRig();
  mandates = createMandateHelpers(rig);
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
async function restore(id: string, snapshot: Snapshot, tableNames: readonly string[]): Promise<void> {
  await rig.database.transaction(async (run) => {
    await run({ text: 'SET LOCAL session_replication_role = replica', values: [] });
    for (const table of tableNames) {
      await run({ text: `DELETE FROM ${table} WHERE ${tables.get(table)} = $1`, values: [id] });
      const text = `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`;
      await run({ text, values: [snapshot.get(table)] });
    }
  });
}

/** Lists the sets of tables to restore: of the tables whose rows differ, all, each pair and each one. */
function tableSetsToRestore(earlier: Snapshot, later: Snapshot): string[][] {
  const differing = [...tables.keys()].filter((table) => earlier.get(table) !== later.get(table));
  const pairs = differing.flatMap((a, index) => differing.slice(index + 1).map((b) => [a, b]));
  const all = differing.length > 2 ? [differing] : [];
  return [...all, ...pairs, ...differing.map((table) => [table])];
}

/** A step in an order's life. It can record more points while it runs. */
type Step = (id: string, recordPoint: () => Promise<void>) => Promise<unknown>;

const busyError = newServiceError('busy', { retryAfterMs: MINUTE_MS, httpStatus: 429 });
const respondWith =
  (answer: () => typeof SUCCESS_ENVELOPE): Step =>
  async (_id, recordPoint) => {
    rig.service.answer = async () => {
      await recordPoint();
      return answer();
    };
    await rig.runDue();
  };
const failWith = (error: Error) => () => {
  throw error;
};
const approve: Step = (id) => approveOrder(rig.orders, id, 'U0BOB');
const waitTwoMinutes: Step = async () => rig.advanceClock(2 * MINUTE_MS);
const settleAs =
  (outcome: 'SUCCEEDED' | 'FAILED'): Step =>
  (id) =>
    resolveOrder(rig.orders, id, 'U0BOB', outcome, undefined);
const LOSE_RESPONSE = respondWith(failWith(newServiceError('unknown_outcome')));

const STEPS_BY_OUTCOME: Readonly<Record<string, readonly Step[]>> = {
  done: [approve, respondWith(() => SUCCESS_ENVELOPE)],
  'done after the service was busy': [
    approve,
    respondWith(failWith(busyError)),
    waitTwoMinutes,
    respondWith(() => SUCCESS_ENVELOPE),
  ],
  refused: [approve, respondWith(failWith(newServiceError('refused', { code: 'EF1' })))],
  'settled as done': [approve, LOSE_RESPONSE, settleAs('SUCCEEDED')],
  'settled as failed': [approve, LOSE_RESPONSE, settleAs('FAILED')],
  denied: [(id) => denyOrder(rig.orders, id, 'U0BOB', undefined)],
  cancelled: [(id) => cancelOrder(rig.orders, id, 'U0ALICE')],
  stopped: [approve, respondWith(failWith(busyError)), (id) => stopOrder(rig.orders, id, 'U0BOB')],
  expired: [
    async (id) => {
      rig.advanceClock(73 * HOUR_MS);
      await rig.main.expire(id);
    },
  ],
};

let nameCount = 0;

/** Requests an order and runs the steps. @returns its id, and its rows at each point */
async function playSteps(steps: readonly Step[]): Promise<{ id: string; points: Snapshot[] }> {
  nameCount += 1;
  const { id } = await rig.requestAccepted('renew', { names: [`name-${nameCount}.rest`], period: 1 });
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
  rig.service.answer = async () => SUCCESS_ENVELOPE;
  await rig.sql('UPDATE orders SET due_at = $2, lease_until = NULL WHERE id = $1', id, rig.now);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    for (const lane of ['deadlines', 'observation'] as const) await rig.main.advance(id, lane);
    await approveOrder(rig.orders, id, 'U0BOB');
    await rig.runDue();
    rig.advanceClock(HOUR_MS);
  }
}

async function countContradictions(id: string): Promise<number> {
  return (await rig.store.loadHistory(id, 'system')).filter(({ kind }) => kind === 'contradicted').length;
}

const orderRowsSchema = z.array(z.object({ state: z.string(), version: z.number() }));
const getOrderVersion = (snapshot: Snapshot | undefined) =>
  orderRowsSchema.parse(JSON.parse(snapshot?.get('orders') ?? '[]'))[0]?.version;

test.each(Object.entries(STEPS_BY_OUTCOME))('an order that was %s isn’t sent again', async (_what, steps) => {
  let restoreCount = 0;
  for (let stepCount = 1; stepCount <= steps.length; stepCount += 1) {
    const reference = await playSteps(steps.slice(0, stepCount));
    const lastPoint = reference.points.at(-1);
    for (const [index, earlier] of reference.points.slice(0, -1).entries()) {
      for (const tableNames of tableSetsToRestore(earlier, lastPoint ?? new Map())) {
        const { id, points } = await playSteps(steps.slice(0, stepCount));
        const [before, now] = [points[index], points.at(-1)];
        if (before === undefined || now === undefined) throw new Error('no such point');
        const sentBefore = rig.service.countSent(id);
        const hasEnded = !['PENDING', 'APPROVED'].includes((await rig.read(id)).state);
        await restore(id, before, tableNames);
        const isVersionOlder =
          tableNames.includes('orders') && getOrderVersion(before) !== getOrderVersion(now);
        await tryToContinue(id);
        const description = `${tableNames.join(' and ')} from point ${index} at point ${points.length - 1}`;
        if (hasEnded || isVersionOlder) expect(rig.service.countSent(id), description).toBe(sentBefore);
        else expect(rig.service.countSent(id), description).toBeLessThanOrEqual(sentBefore + 1);
        const contradictions = await countContradictions(id);
        expect(contradictions, description).toBeLessThanOrEqual(1);
        if (isVersionOlder) expect(contradictions, description).toBe(1);
        if (isVersionOlder && hasEnded) expect((await rig.read(id)).state, description).toBe('FAILED');
        restoreCount += 1;
      }
    }
  }
  expect(restoreCount).toBeGreaterThan(2);
});

test('restored rows of an ended mandate don’t renew anything', async () => {
  await mandates.watch('cafe.rest', 10);
  const createEndedMandate = async (pointIndex: number) => {
    const { id } = await mandates.requestMandate();
    const points = [await takeSnapshot(id)];
    await approveOrder(rig.orders, id, 'U0BOB');
    points.push(await takeSnapshot(id));
    await rig.runDue();
    points.push(await takeSnapshot(id));
    await endMandate(rig.mandates, id, 'U0ALICE');
    return { id, before: points[pointIndex] ?? new Map() };
  };
  for (const pointIndex of [0, 1, 2]) {
    const { id, before } = await createEndedMandate(pointIndex);
    for (const tableNames of tableSetsToRestore(before, await takeSnapshot(id))) {
      await restore(id, before, tableNames);
      await tryToContinue(id);
      await mandates.run();
      expect(await mandates.listActs(), `${tableNames.join(' and ')} of point ${pointIndex}`).toEqual([]);
      rig.advanceClock(-2 * HOUR_MS);
    }
    expect(await countContradictions(id)).toBeGreaterThan(0);
    await rig.sql('UPDATE order_items SET open_key = NULL WHERE order_id = $1', id);
  }
  rig.advanceClock(DAY_MS);
});
