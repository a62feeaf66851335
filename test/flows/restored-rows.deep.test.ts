import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { approveOrder } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { cancelOrder } from '../../src/approvals/pending.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import { endMandate } from '../../src/mandates/life.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { mandatesOn } from '../mandates/mandate-rig.ts';
import { MINUTE_MS, type Rig, startRig } from '../orders/rig.ts';
import { DONE, fails } from '../orders/scripted-service.ts';

/*
 * An attacker restores earlier rows of an order at every later point of its life: in all tables, in each one, and in
 * each pair. Nothing is sent that was sent or has ended by the log, and the difference is reported once.
 */

let rig: Rig;
let on: ReturnType<typeof mandatesOn>;
/** The tables with rows of an order, with the column of its id. */
let tables: ReadonlyMap<string, string>;
beforeAll(async () => {
  rig = await startRig();
  on = mandatesOn(rig);
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

async function snapshotOf(id: string): Promise<Snapshot> {
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
function setsOf(earlier: Snapshot, later: Snapshot): string[][] {
  const differing = [...tables.keys()].filter((table) => earlier.get(table) !== later.get(table));
  const pairs = differing.flatMap((a, index) => differing.slice(index + 1).map((b) => [a, b]));
  const all = differing.length > 2 ? [differing] : [];
  return [...all, ...pairs, ...differing.map((table) => [table])];
}

/** A step of a life, which may call `see` for points in between. */
type Step = (id: string, see: () => Promise<void>) => Promise<unknown>;

const busy = fails('busy', { retryAfterMs: MINUTE_MS, httpStatus: 429 });
const answering =
  (answer: () => typeof DONE): Step =>
  async (_id, see) => {
    rig.service.answer = async () => {
      await see();
      return answer();
    };
    await rig.runDue();
  };
const refuse = (error: Error) => () => {
  throw error;
};
const approve: Step = (id) => approveOrder(rig.orders, id, 'U0BOB');
const later: Step = async () => rig.pass(2 * MINUTE_MS);
const settle =
  (outcome: 'SUCCEEDED' | 'FAILED'): Step =>
  (id) =>
    resolveOrder(rig.orders, id, 'U0BOB', outcome, undefined);
const LOST = answering(refuse(fails('unknown_outcome')));

const LIVES: Readonly<Record<string, readonly Step[]>> = {
  done: [approve, answering(() => DONE)],
  'done after the service was busy': [approve, answering(refuse(busy)), later, answering(() => DONE)],
  refused: [approve, answering(refuse(fails('refused', { code: 'EF1' })))],
  'settled as done': [approve, LOST, settle('SUCCEEDED')],
  'settled as failed': [approve, LOST, settle('FAILED')],
  denied: [(id) => denyOrder(rig.orders, id, 'U0BOB', undefined)],
  cancelled: [(id) => cancelOrder(rig.orders, id, 'U0ALICE')],
  stopped: [approve, answering(refuse(busy)), (id) => stopOrder(rig.orders, id, 'U0BOB')],
  expired: [
    async (id) => {
      rig.pass(73 * HOUR_MS);
      await rig.main.expire(id);
    },
  ],
};

let names = 0;

/** Plays a number of steps. @returns the order, with its rows at each point */
async function live(steps: readonly Step[]): Promise<{ id: string; points: Snapshot[] }> {
  names += 1;
  const { id } = await rig.ask('renew', { names: [`name-${names}.rest`], period: 1 });
  const points = [await snapshotOf(id)];
  const see = async () => void points.push(await snapshotOf(id));
  for (const step of steps) {
    await step(id, see);
    await see();
  }
  return { id, points };
}

/** Everything that could continue an order. */
async function goOn(id: string): Promise<void> {
  rig.service.answer = async () => DONE;
  await rig.sql('UPDATE orders SET due_at = $2, lease_until = NULL WHERE id = $1', id, rig.now);
  for (let tries = 0; tries < 2; tries += 1) {
    for (const lane of ['deadlines', 'observation'] as const) await rig.main.advance(id, lane);
    await approveOrder(rig.orders, id, 'U0BOB');
    await rig.runDue();
    rig.pass(HOUR_MS);
  }
}

async function contradictionsOf(id: string): Promise<number> {
  return (await rig.store.loadHistory(id, 'system')).filter(({ kind }) => kind === 'contradicted').length;
}

const open = z.array(z.object({ state: z.string(), version: z.number() }));
const versionIn = (snapshot: Snapshot | undefined) =>
  open.parse(JSON.parse(snapshot?.get('orders') ?? '[]'))[0]?.version;

test.each(Object.entries(LIVES))('an order that was %s', async (_what, steps) => {
  let tried = 0;
  for (let end = 1; end <= steps.length; end += 1) {
    const first = await live(steps.slice(0, end));
    const last = first.points.at(-1);
    for (const [index, earlier] of first.points.slice(0, -1).entries()) {
      for (const which of setsOf(earlier, last ?? new Map())) {
        const { id, points } = await live(steps.slice(0, end));
        const [before, now] = [points[index], points.at(-1)];
        if (before === undefined || now === undefined) throw new Error('another life');
        const sent = rig.service.timesSent(id);
        const hasEnded = !['PENDING', 'APPROVED'].includes((await rig.read(id)).state);
        await restore(id, before, which);
        const isOlder = which.includes('orders') && versionIn(before) !== versionIn(now);
        await goOn(id);
        const said = `${which.join(' and ')} of point ${index} at point ${points.length - 1}`;
        if (hasEnded || isOlder) expect(rig.service.timesSent(id), said).toBe(sent);
        else expect(rig.service.timesSent(id), said).toBeLessThanOrEqual(sent + 1);
        const told = await contradictionsOf(id);
        expect(told, said).toBeLessThanOrEqual(1);
        if (isOlder) expect(told, said).toBe(1);
        if (isOlder && hasEnded) expect((await rig.read(id)).state, said).toBe('FAILED');
        tried += 1;
      }
    }
  }
  expect(tried).toBeGreaterThan(2);
});

test('a mandate', async () => {
  await on.watch('cafe.rest', 10);
  const point = async (which: number) => {
    const { id } = await on.ask();
    const points = [await snapshotOf(id)];
    await approveOrder(rig.orders, id, 'U0BOB');
    points.push(await snapshotOf(id));
    await rig.runDue();
    points.push(await snapshotOf(id));
    await endMandate(rig.mandates, id, 'U0ALICE');
    return { id, before: points[which] ?? new Map() };
  };
  for (const which of [0, 1, 2]) {
    const { id, before } = await point(which);
    for (const set of setsOf(before, await snapshotOf(id))) {
      await restore(id, before, set);
      await goOn(id);
      await on.run();
      expect(await on.acts(), `${set.join(' and ')} of point ${which}`).toEqual([]);
      rig.pass(-2 * HOUR_MS);
    }
    expect(await contradictionsOf(id)).toBeGreaterThan(0);
    await rig.sql('UPDATE order_items SET open_key = NULL WHERE order_id = $1', id);
  }
  rig.pass(DAY_MS);
});
