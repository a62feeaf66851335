import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder, resumeOrder } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { cancelOrder, expireOrder } from '../../src/approvals/pending.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import type { AnyOrderLogEntry } from '../../src/orders/order-events.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { ALICE, HOUR_MS } from '../orders/rig.ts';
import { newServiceError, SUCCESS_ENVELOPE } from '../orders/scripted-service.ts';
import { type MoneyRig, startRig } from './rig.ts';

/*
 * Budgets and orders on a real database: reserving and releasing amounts, and approving an excess.
 */

let moneyRig: MoneyRig;
beforeAll(async () => {
  moneyRig = await startRig();
});
beforeEach(() => moneyRig.reset());
afterAll(() => moneyRig.end());

const requestRenewal = (...names: string[]) => moneyRig.requestAccepted('renew', { names, period: 1 });
const approve = (orderId: string, userId = 'U0BOB') => approveOrder(moneyRig.orders, orderId, userId);
const loadState = async (orderId: string) => (await moneyRig.rig.read(orderId)).state;
/** The booked and reserved amounts of the only budget. */
const getStatus = async () => (await moneyRig.listStatuses())[0];

async function getLastExcess(orderId: string) {
  const { overBudget: exceeded, admins = [] }: AnyOrderLogEntry =
    (await moneyRig.rig.store.loadHistory(orderId, 'system')).at(-1) ?? {};
  return exceeded && { exceeded, admins };
}

describe('the cost of an order', () => {
  test('is reserved with the last approval, and booked once the order succeeds', async () => {
    await moneyRig.addBudget(2_500);
    moneyRig.rig.setTeam({ approvalsRequired: 2 });
    const { id } = await requestRenewal('cafe.rest', 'bar.rest');
    await approve(id);
    expect(await getStatus()).toEqual([0n, 0n]);
    await approve(id, 'U0CAROL');
    expect(await loadState(id)).toBe('APPROVED');
    expect(await getStatus()).toEqual([0n, 2_000n]);
    await moneyRig.rig.runDue();
    expect(await loadState(id)).toBe('SUCCEEDED');
    expect(await getStatus()).toEqual([2_000n, 0n]);
  });

  test('is reserved without waiting for budgets that don’t include it', async () => {
    await moneyRig.addBudget(2_500, { tag: 'brand' });
    const { id } = await requestRenewal('cafe.rest');
    await moneyRig.database.transaction(async (run) => {
      await run({ text: 'SELECT id FROM budgets FOR UPDATE', values: [] });
      await approve(id);
    });
    expect(await loadState(id)).toBe('APPROVED');
    const rows = await moneyRig.rig.sql('SELECT amount_minor::int AS minor FROM budget_reservations');
    expect(rows).toEqual([{ minor: 1_000 }]);
  });

  test('stays reserved while the outcome is unknown, and is booked or released when settled', async () => {
    await moneyRig.addBudget(5_000);
    moneyRig.rig.service.answer = async () => {
      throw newServiceError('unknown_outcome');
    };
    const done = await requestRenewal('a.rest');
    const failed = await requestRenewal('b.rest');
    for (const { id } of [done, failed]) await approve(id);
    await moneyRig.rig.runDue();
    expect(await getStatus()).toEqual([0n, 2_000n]);
    await resolveOrder(moneyRig.orders, done.id, 'U0BOB', 'SUCCEEDED', undefined);
    expect(await getStatus()).toEqual([1_000n, 1_000n]);
    await resolveOrder(moneyRig.orders, failed.id, 'U0BOB', 'FAILED', undefined);
    expect(await getStatus()).toEqual([1_000n, 0n]);
  });

  test('isn’t reserved for unapproved orders, and is released for stopped ones', async () => {
    await moneyRig.addBudget(9_000);
    const [denied, cancelled, expired, stopped] = [
      await requestRenewal('a.rest'),
      await requestRenewal('b.rest'),
      await requestRenewal('c.rest'),
      await requestRenewal('d.rest'),
    ];
    await denyOrder(moneyRig.orders, denied.id, 'U0BOB', undefined);
    await cancelOrder(moneyRig.orders, cancelled.id, 'U0ALICE');
    moneyRig.rig.advanceClock(73 * HOUR_MS);
    await expireOrder(moneyRig.orders, expired.id);
    expect(await getStatus()).toEqual([0n, 0n]);
    await moneyRig.rig.sql(
      `UPDATE orders SET expires_at = $1 WHERE id = $2`,
      new Date(moneyRig.rig.now.getTime() + HOUR_MS),
      stopped.id,
    );
    await approve(stopped.id);
    expect(await getStatus()).toEqual([0n, 1_000n]);
    const outcome = await stopOrder(moneyRig.orders, stopped.id, 'U0ALICE');
    expect(outcome.ok).toBe(true);
    expect(await loadState(stopped.id)).toBe('CANCELLED');
    expect(await getStatus()).toEqual([0n, 0n]);
  });

  test('counts in every budget of its tags, month and year', async () => {
    moneyRig.tags.set('cafe.rest', ['brand']);
    await moneyRig.addBudget(9_000);
    await moneyRig.addBudget(9_000, { span: 'year' });
    await moneyRig.addBudget(9_000, { tag: 'brand' });
    await moneyRig.addBudget(9_000, { tag: 'shop' });
    const { id } = await requestRenewal('cafe.rest', 'bar.rest');
    await approve(id);
    expect((await moneyRig.listStatuses()).map(([, reserved]) => reserved)).toEqual([
      2_000n,
      2_000n,
      1_000n,
      0n,
    ]);
    moneyRig.rig.advanceClock(31 * 24 * HOUR_MS);
    expect((await moneyRig.listStatuses()).map(([, reserved]) => reserved)).toEqual([0n, 2_000n, 0n, 0n]);
  });

  test.each([[['month']], [['year']], [['month', 'year']]] as const)(
    'counts only in budgets of its period and currency: %j',
    async (spans) => {
      for (const span of spans) await moneyRig.addBudget(90_000, { span });
      const days = [
        '2025-12-31',
        '2026-01-01',
        '2026-10-31',
        '2026-11-01',
        '2026-11-30',
        '2026-12-31',
        '2027-01-01',
      ];
      const { id } = await requestRenewal(...[...days, 'another-currency'].map((label) => `${label}.rest`));
      await approve(id);
      // Every name has its own digit, so that a sum shows which names it includes.
      await moneyRig.rig.sql(`UPDATE budget_reservations SET amount_minor = 10 ^ n,
        currency = CASE WHEN n = 8 THEN 'USD' ELSE currency END, day = (ARRAY['${days.join("','")}', '2026-11-07'])[n]::date`);
      const expected = { month: 110_000n, year: 1_111_100n };
      const statuses = await moneyRig.budgets.listStatuses('2026-11-30');
      expect(statuses.map(({ budget, reserved }) => [budget.span, reserved])).toEqual(
        spans.map((span) => [span, expected[span]]),
      );
    },
  );

  test('is zero on a test system, or without a price', async () => {
    await moneyRig.addBudget(500);
    moneyRig.rig.accounts.set(ALICE.id, { ...ALICE, context: 1 });
    const demo = await requestRenewal('cafe.rest');
    await approve(demo.id);
    moneyRig.rig.accounts.set(ALICE.id, ALICE);
    const unknown = await requestRenewal('bar.example');
    await approve(unknown.id);
    expect([await loadState(demo.id), await loadState(unknown.id)]).toEqual(['APPROVED', 'APPROVED']);
    expect(await getStatus()).toEqual([0n, 0n]);
  });
});

describe('an order that exceeds a budget', () => {
  test('stays pending after its approval, until an admin approves the excess', async () => {
    await moneyRig.addBudget(1_500);
    const { id, approvalsRequired } = await requestRenewal('cafe.rest', 'bar.rest');
    expect(approvalsRequired, 'the excess adds no approval').toBe(1);
    expect(await getLastExcess(id)).toBeUndefined();
    expect((await approve(id)).ok).toBe(true);
    expect(await loadState(id)).toBe('PENDING');
    expect(await getLastExcess(id)).toEqual({
      exceeded: [{ tag: null, period: '2026-03', currency: 'EUR', leftMinor: 1_500, orderMinor: 2_000 }],
      admins: [],
    });
    const secondApproval = await approve(id);
    expect(secondApproval.ok ? '' : refusalText(secondApproval.refusal)).toContain(
      'It exceeds the March 2026 budget for all names by €5.00. It costs about €20.00, and €15.00 is left.',
    );
    expect(await getStatus()).toEqual([0n, 0n]);
    await moneyRig.recordCardShown(id);
    expect((await approve(id, 'U0ADA')).ok).toBe(true);
    expect(await loadState(id)).toBe('APPROVED');
    expect(await getStatus()).toEqual([0n, 2_000n]);
    expect((await getLastExcess(id))?.admins).toEqual(['U0ADA']);
    expect((await moneyRig.rig.store.loadHistory(id, 'system')).at(-1)).toMatchObject({
      lapsed: [],
      validCount: 1,
    });
  });

  test('needs a new click by an admin who approved it before it exceeded the budget', async () => {
    await moneyRig.addBudget(2_000);
    moneyRig.rig.setTeam({ approvalsRequired: 2 });
    const { id } = await requestRenewal('cafe.rest');
    await moneyRig.recordCardShown(id);
    await approve(id, 'U0CAROL');
    const [budget] = await moneyRig.budgets.list();
    await moneyRig.budgets.setAmount(budget?.id ?? '', 500, 'U0ADA', moneyRig.rig.now);
    await approve(id, 'U0BOB');
    expect(await loadState(id)).toBe('PENDING');
    expect((await getLastExcess(id))?.admins, 'admins in the audit log').toEqual([]);
    expect(await approve(id, 'U0CAROL')).toMatchObject({ ok: false, refusal: { code: 'excess_not_shown' } });
    expect(await moneyRig.rig.readDueTimes(id), 'the card is due for an update').toMatchObject({
      notifications: moneyRig.rig.now,
    });
    await moneyRig.recordCardShown(id);
    await approve(id, 'U0CAROL');
    expect(await loadState(id)).toBe('APPROVED');
    expect((await getLastExcess(id))?.admins).toEqual(['U0CAROL']);
  });

  test('is approved only up to the excess on its card, which other orders can increase', async () => {
    await moneyRig.addBudget(1_500);
    const [first, second] = [
      await requestRenewal('a.rest', 'b.rest'),
      await requestRenewal('c.rest', 'd.rest'),
    ];
    for (const { id } of [first, second]) await moneyRig.recordCardShown(id);
    await approve(first.id, 'U0CAROL');
    await approve(second.id, 'U0CAROL');
    expect([await loadState(first.id), await loadState(second.id)]).toEqual(['APPROVED', 'PENDING']);
    await moneyRig.recordCardShown(second.id);
    await approve(second.id, 'U0CAROL');
    expect(await loadState(second.id)).toBe('APPROVED');
  });
});

describe('a paused bulk order', () => {
  const rows = Array.from({ length: 6 }, (_, n) => ({
    name: `r${n + 1}.rest`,
    input: { names: [`r${n + 1}.rest`], period: 1 },
    secret: undefined,
  }));
  /** Creates an approved bulk order that three refusals have paused. Returns its ID and count of unsent items. */
  async function createPausedOrder() {
    moneyRig.rig.service.answer = async () => {
      throw newServiceError('refused');
    };
    const { id } = await moneyRig.requestAccepted(
      'renew',
      {},
      { bulk: { rows, findings: [], skippedCount: 0 } },
    );
    await confirmOrder(moneyRig.orders, id, 'U0ALICE');
    await approve(id);
    await moneyRig.rig.runDue();
    moneyRig.rig.service.answer = async () => SUCCESS_ENVELOPE;
    const { items } = await moneyRig.rig.read(id);
    return { id, waiting: items.filter(({ state }) => state === 'WAITING').length };
  }
  const resume = (orderId: string, userId = 'U0ALICE') => resumeOrder(moneyRig.orders, orderId, userId);

  test('continues within its reservation if the budget has nothing else left', async () => {
    await moneyRig.addBudget(6_000);
    const { id, waiting } = await createPausedOrder();
    expect(await getStatus()).toEqual([0n, BigInt(waiting) * 1_000n]);
    const [budget] = await moneyRig.budgets.list();
    await moneyRig.budgets.setAmount(budget?.id ?? '', waiting * 1_000, 'U0ADA', moneyRig.rig.now);
    expect(await resume(id)).toMatchObject({ ok: true });
    await moneyRig.rig.runDue();
    expect(await getStatus()).toEqual([BigInt(waiting) * 1_000n, 0n]);
  });

  test('reserves its remaining cost in the month in which it continues', async () => {
    moneyRig.rig.setTeam({ approvalTtlMs: 60 * 24 * HOUR_MS });
    await moneyRig.addBudget(6_000);
    const { id, waiting } = await createPausedOrder();
    moneyRig.rig.advanceClock(31 * 24 * HOUR_MS);
    expect(await getStatus()).toEqual([0n, 0n]);
    expect(await resume(id)).toMatchObject({ ok: true });
    expect(await getStatus()).toEqual([0n, BigInt(waiting) * 1_000n]);
    const march = await moneyRig.budgets.listStatuses('2026-03-15');
    expect(march.map(({ reserved }) => reserved)).toEqual([0n]);
  });

  test('needs an admin if the remaining cost exceeds the budget, and reserves nothing twice', async () => {
    await moneyRig.addBudget(6_000);
    const { id, waiting } = await createPausedOrder();
    const [budget] = await moneyRig.budgets.list();
    await moneyRig.budgets.setAmount(budget?.id ?? '', 500, 'U0ADA', moneyRig.rig.now);
    expect(await resume(id)).toMatchObject({ ok: false, refusal: { code: 'over_budget' } });
    expect(await resume(id, 'U0ADA')).toMatchObject({ ok: false, refusal: { code: 'excess_not_shown' } });
    await moneyRig.recordCardShown(id);
    expect(await resume(id)).toMatchObject({ ok: false, refusal: { code: 'over_budget' } });
    expect(await resume(id, 'U0ADA')).toMatchObject({ ok: true });
    expect(await getLastExcess(id)).toMatchObject({
      exceeded: [{ leftMinor: 500, orderMinor: waiting * 1_000 }],
      admins: ['U0ADA'],
    });
    await moneyRig.rig.runDue();
    expect(await getStatus()).toEqual([BigInt(waiting) * 1_000n, 0n]);
  });

  test('and another order never overspend when resumed and approved concurrently', async () => {
    moneyRig.rig.setTeam({ approvalTtlMs: 60 * 24 * HOUR_MS });
    await moneyRig.addBudget(9_000);
    const { id, waiting } = await createPausedOrder();
    moneyRig.rig.advanceClock(31 * 24 * HOUR_MS);
    const [budget] = await moneyRig.budgets.list();
    await moneyRig.budgets.setAmount(budget?.id ?? '', waiting * 1_000, 'U0ADA', moneyRig.rig.now);
    const other = await requestRenewal('other.rest');
    await Promise.all([resume(id), approve(other.id, 'U0BOB')]);
    const [[, reserved] = [0n, 0n]] = await moneyRig.listStatuses();
    expect(reserved <= BigInt(waiting) * 1_000n, `${reserved} reserved`).toBe(true);
    expect([1_000n, BigInt(waiting) * 1_000n]).toContain(reserved);
  });
});

test.each([
  ['within budget', 1_000],
  ['over budget', 500],
])('after five concurrent clicks on orders %s, the cost of only one is reserved', async (_, minor) => {
  await moneyRig.addBudget(minor);
  const orders = [];
  for (let n = 0; n < 5; n += 1) orders.push(await requestRenewal(`n${n}.rest`));
  for (const { id } of orders) await moneyRig.recordCardShown(id);
  await Promise.all(orders.map(({ id }) => approve(id, 'U0CAROL')));
  const states = await Promise.all(orders.map(({ id }) => loadState(id)));
  expect(states.toSorted()).toEqual(['APPROVED', 'PENDING', 'PENDING', 'PENDING', 'PENDING']);
  expect(await getStatus()).toEqual([0n, 1_000n]);
});

test('20 concurrent orders that need no approval never overspend', async () => {
  moneyRig.rig.setTeam({ approvalTasks: [] });
  await moneyRig.addBudget(7_500);
  const orders = await Promise.all(Array.from({ length: 20 }, (_, n) => requestRenewal(`n${n}.rest`)));
  expect(orders.filter(({ state }) => state === 'APPROVED')).toHaveLength(7);
  expect(orders.filter(({ state }) => state === 'PENDING')).toHaveLength(13);
  expect(await getStatus()).toEqual([0n, 7_000n]);
});
