import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import type { Order } from '../../src/orders/order.ts';
import type { OrderRequest } from '../../src/orders/request-context.ts';
import { requestOrder } from '../../src/orders/request-order.ts';
import { type Heartbeat, type HeartbeatRow, markUnsentAsUnknown } from '../../src/orders/restore-guard.ts';
import { tryBuildStatement } from '../../src/orders/statement.ts';
import { undoOrder } from '../../src/orders/undo.ts';
import { ALICE, HOUR_MS, MINUTE_MS, type Rig, requireAccepted, startRig } from './rig.ts';
import { ENDPOINTS, hoursLater } from './sample.ts';

/* Scheduled orders, with the real store. */

let rig: Rig;
let deliveries = 0;

beforeAll(async () => (rig = await startRig()));
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const SEND_TIME = hoursLater(24);

function request(changes: Partial<OrderRequest> = {}) {
  deliveries += 1;
  return requestOrder(rig.mandates, {
    task: 'renew',
    input: { names: ['cafe.rest'], period: 1 },
    secret: undefined,
    reason: undefined,
    requesterId: 'U0ALICE',
    account: ALICE,
    channelId: 'C0DOMAINS',
    threadTs: undefined,
    sendAt: { text: '2026-03-02 09:00', timeZone: 'UTC' },
    deliveryId: `scheduled:${deliveries}`,
    ...changes,
  });
}

async function requestScheduled(): Promise<Order> {
  const outcome = await request();
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.order;
}

async function approve(order: Order): Promise<Order> {
  const outcome = await approveOrder(rig.mandates, order.id, 'U0BOB');
  if (!outcome.ok) throw new Error(outcome.refusal.code);
  return outcome.order;
}

async function advanceTo(time: Date): Promise<void> {
  rig.advanceClock(time.getTime() - rig.now.getTime());
  await rig.runDue();
}

const readRows = (table: string) => rig.sql(`SELECT * FROM ${table}`);

test('a scheduled order is approved with its time, waits for it and is then sent', async () => {
  const order = await requestScheduled();
  expect(tryBuildStatement(order, ENDPOINTS)).toMatchObject({
    task: 'renew',
    notBefore: '2026-03-02T09:00:00.000Z',
  });
  expect(order).toMatchObject({ state: 'PENDING', expiresAt: SEND_TIME });
  await approve(order);
  expect(await rig.readDueTimes(order.id)).toMatchObject({ work: SEND_TIME });
  expect(await rig.store.claimDue('execution', rig.now, 1_000, 10), 'due orders before the time').toEqual([]);
  await advanceTo(new Date(SEND_TIME.getTime() - 1));
  expect(rig.service.received).toEqual([]);
  await advanceTo(SEND_TIME);
  expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  expect(rig.service.received).toHaveLength(1);
});

test('a scheduled order expires at its time without an approval', async () => {
  const order = await requestScheduled();
  await advanceTo(SEND_TIME);
  expect((await rig.read(order.id)).state).toBe('EXPIRED');
});

test('a scheduled order whose price changes needs approval again, and is then sent at once', async () => {
  rig.prices.set('cafe.rest', 1_800);
  const order = await approve(await requestScheduled());
  expect(await readRows('approvals')).toHaveLength(1);
  rig.prices.set('cafe.rest', 1_900);
  await advanceTo(SEND_TIME);
  expect(await rig.read(order.id)).toMatchObject({
    ...{ state: 'PENDING', approvals: [], approvalRound: 1 },
    expiresAt: new Date(SEND_TIME.getTime() + 72 * HOUR_MS),
  });
  expect(await readRows('budget_reservations')).toEqual([]);
  expect(rig.service.received).toEqual([]);
  rig.advanceClock(3 * HOUR_MS);
  await approve(order);
  await rig.runDue();
  expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  expect(await rig.listHistory(order.id)).toEqual([
    ...['requested by U0ALICE', 'approved by U0BOB', 'reopened', 'approved by U0BOB'],
    ...['claimed', 'sending', 'answered', 'finished'],
  ]);
});

test('a second order for the name, and a name that expires earlier, are refused', async () => {
  await approve(await requestScheduled());
  expect((await request()).kind).toBe('already_open');
  const context = { ...rig.mandates, findFirstExpiry: async () => hoursLater(23) };
  const outcome = await requestOrder(context, {
    ...{ task: 'renew', input: { names: ['bar.rest'], period: 1 }, secret: undefined, reason: undefined },
    ...{
      requesterId: 'U0ALICE',
      account: ALICE,
      channelId: 'C0DOMAINS',
      threadTs: undefined,
      deliveryId: 'x',
    },
    sendAt: { text: '2026-03-02 09:00', timeZone: 'UTC' },
  });
  expect(outcome).toMatchObject({ refusal: { code: 'send_at_after_expiry', expiresAt: hoursLater(23) } });
});

describe('names of two zones, one of them documented,', () => {
  const NAME_SEQUENCES = [
    ['cafe.rest', 'cafe.pizza'],
    ['cafe.pizza', 'cafe.rest'],
  ] as const;
  type Row = { readonly name: string; readonly period: number };
  /** A list of names shares a period; each row of a bulk order has its own. */
  const REQUEST_BUILDERS = {
    list: (rows: readonly Row[]) => ({
      input: { names: rows.map(({ name }) => name), period: rows[0]?.period },
    }),
    plan: (rows: readonly Row[]) => ({
      input: {},
      bulk: {
        rows: rows.map(({ name, period }) => ({ name, input: { names: [name], period }, secret: undefined })),
        ...{ findings: [], skippedCount: 0 },
      },
    }),
  };
  const CASES = Object.entries(REQUEST_BUILDERS).flatMap(([way, build]) =>
    NAME_SEQUENCES.map((names) => [way, names.join(), names, build] as const),
  );

  test.each(CASES)(
    'in a %s of %s are checked against both zones at the request',
    async (_way, _names, names, build) => {
      const buildRows = (period: number) => names.map((name) => ({ name, period }));
      const listIssues = async (changes: Partial<OrderRequest>) => {
        const outcome = await request(changes);
        return outcome.kind === 'invalid' ? outcome.issues : outcome.kind;
      };
      expect(await listIssues(build(buildRows(11)))).toMatchObject([
        { issue: { code: 'period_out_of_range', max: 10 } },
      ]);
      const subdomainRows = names.map((name) => ({
        name: name.endsWith('.pizza') ? `www.${name}` : name,
        period: 1,
      }));
      expect(await listIssues(build(subdomainRows))).toMatchObject([{ issue: { code: 'subdomain' } }]);
      rig.setPolicy(1, { decision: 'refuse', names: ['*.pizza'] });
      expect(await request(build(buildRows(1)))).toMatchObject({ refusal: { code: 'policy_refuses' } });
    },
  );
});

test('scheduled nameservers are checked, and can be undone, for 48 hours after they are sent', async () => {
  const checkedAt: Date[] = [];
  const bot = rig.startProcess({
    lookUpDelegation: async () => {
      checkedAt.push(rig.now);
      return { kind: 'answering' };
    },
  });
  /** Moves the clock in steps of half an hour and runs due lookups. */
  const watchUntil = async (time: Date) => {
    while (rig.now < time) {
      await advanceTo(new Date(Math.min(time.getTime(), rig.now.getTime() + HOUR_MS / 2)));
      for (const id of await rig.store.claimDue('observation', rig.now, 1_000, 10))
        await bot.advance(id, 'observation');
    }
  };
  rig.setPolicy(1, { decision: 'approve', approvers: ['U0BOB'] });
  const nameServers = ['ns1.new.example', 'ns2.new.example'];
  const { id } = requireAccepted(
    await request({ task: 'nameservers', input: { name: 'cafe.rest', nameServers } }),
  );
  await confirmOrder(rig.mandates, id, 'U0ALICE');
  await approve(await rig.read(id));
  const undo = () =>
    undoOrder(rig.mandates, {
      ...{ orderId: id, userId: 'U0ALICE', reason: 'undo', deliveryId: `undo:${rig.now.getTime()}` },
      findPreviousNameServers: async () => ({ kind: 'unknown' }),
    });

  await watchUntil(new Date(SEND_TIME.getTime() - 1));
  expect(checkedAt).toEqual([]);
  expect(await undo()).toMatchObject({ refusal: { code: 'nothing_to_undo' } });
  const sentAt = new Date(SEND_TIME.getTime() + 20 * MINUTE_MS);
  await advanceTo(sentAt);
  expect((await rig.read(id)).items).toMatchObject([{ state: 'SUCCEEDED', sentAt }]);
  const deadline = new Date(sentAt.getTime() + 48 * HOUR_MS);
  await watchUntil(new Date(deadline.getTime() - 1));
  expect(await undo()).toMatchObject({ refusal: { code: 'previous_nameservers_unknown' } });
  await watchUntil(deadline);
  expect(await undo()).toMatchObject({ refusal: { code: 'undo_expired' } });
  await watchUntil(new Date(deadline.getTime() + 24 * HOUR_MS));
  const [first = SEND_TIME, last = SEND_TIME] = [checkedAt[0], checkedAt.at(-1)];
  expect(first.getTime() - sentAt.getTime()).toBeLessThanOrEqual(HOUR_MS);
  expect(last < deadline).toBe(true);
  expect(deadline.getTime() - last.getTime()).toBeLessThanOrEqual(HOUR_MS);
});

test('a scheduled order uses the budget of the month in which it is sent', async () => {
  rig.prices.set('cafe.rest', 1_800);
  const days: string[] = [];
  const context = {
    ...rig.mandates,
    compareBudgetsOn: (day: string) => {
      days.push(day);
      return rig.mandates.compareBudgetsOn(day);
    },
  };
  const outcome = await request({ sendAt: { text: '2026-04-02 09:00', timeZone: 'UTC' } });
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  await approveOrder(context, outcome.order.id, 'U0BOB');
  expect(new Set(days)).toEqual(new Set(['2026-04-02']));
  expect(await readRows('budget_reservations')).toMatchObject([{ day: new Date('2026-04-02T00:00:00Z') }]);
});

describe('after a restart, a scheduled order', () => {
  const LAST_HEARTBEAT = {
    database: 'd',
    server: 's',
    count: 1,
    isOriginal: true,
    activeProcesses: [],
    version: '1',
  };

  async function restartAt(now: Date, last: Partial<HeartbeatRow>): Promise<Order> {
    const order = await approve(await requestScheduled());
    rig.advanceClock(now.getTime() - rig.now.getTime());
    const row = { ...LAST_HEARTBEAT, seenAt: hoursLater(1), ...last };
    const heartbeat: Heartbeat = {
      read: async () => ({ database: 'd', server: 't', position: 0, isBehind: false, last: row }),
      write: async () => 2,
      verify: async () => undefined,
      suspend: () => undefined,
      onUnverifiedServer: () => undefined,
    };
    await markUnsentAsUnknown({ ...rig.mandates, heartbeat, processId: 'new' });
    await rig.runDue();
    return rig.read(order.id);
  }

  test.each<[what: string, now: Date, last: Partial<HeartbeatRow>, state: Order['state']]>([
    [
      'is sent if no bot ran for a few minutes around its time',
      hoursLater(24.1),
      { seenAt: hoursLater(23.9) },
      'SUCCEEDED',
    ],
    ['needs approval again after a longer time without a bot', hoursLater(24.5), {}, 'PENDING'],
    ['needs approval again if the bot was killed', hoursLater(24.5), { activeProcesses: ['old'] }, 'PENDING'],
    ['is unknown if a bot may have sent it', hoursLater(24.5), { seenAt: SEND_TIME }, 'UNKNOWN'],
    ['is unknown in a copy of the database', hoursLater(24.5), { isOriginal: false }, 'UNKNOWN'],
    ['is unchanged in a copy before its time', hoursLater(23), { isOriginal: false }, 'APPROVED'],
  ])('%s', async (_what, now, last, state) => {
    expect((await restartAt(now, last)).state).toBe(state);
  });
});

describe('nothing is sent after a change in the database', () => {
  test('of the send time to an earlier one', async () => {
    const order = await approve(await requestScheduled());
    await rig.sql(`UPDATE orders SET send_after = $2, due_at = $2 WHERE id = $1`, order.id, hoursLater(1));
    await advanceTo(hoursLater(1));
    const { state, items } = await rig.read(order.id);
    expect([state, items[0]?.result?.summary]).toEqual([
      'FAILED',
      { code: 'statement_changed', parts: ['time'] },
    ]);
    expect(rig.service.received).toEqual([]);
  });

  test('that restores an outdated approval', async () => {
    rig.prices.set('cafe.rest', 1_800);
    const order = await approve(await requestScheduled());
    rig.prices.set('cafe.rest', 1_900);
    await advanceTo(SEND_TIME);
    await rig.sql(
      `UPDATE orders SET state = 'APPROVED', approval_round = 0, expires_at = NULL, remind_at = NULL, due_at = $2 WHERE id = $1`,
      ...[order.id, rig.now],
    );
    await rig.sql(
      `INSERT INTO approvals (order_id, user_id, at, agreed_excess) VALUES ($1, 'U0BOB', $2, '[]')`,
      ...[order.id, rig.now],
    );
    // Without this event, the log would be newer than the row.
    await rig.sql(
      `INSERT INTO events (team_id, at, subject_kind, subject_id, kind, actor, data)
        SELECT team_id, $2, subject_kind, subject_id, 'approved', 'U0BOB',
          data || '{"state": "APPROVED", "version": 3}' FROM events WHERE subject_id = $1 AND kind = 'approved'`,
      ...[order.id, new Date(rig.now.getTime() + 1)],
    );
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('FAILED');
    expect(rig.service.received).toEqual([]);
  });
});
