import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/duration.ts';
import { endMandate } from '../../src/mandates/life.ts';
import {
  createMandateCheck,
  findCoveringMandate,
  findMandatesByPerson,
  loadMandateStatuses,
  loadPreview,
  loadRenewalForecast,
} from '../../src/mandates/overview.ts';
import { runMandates } from '../../src/mandates/run.ts';
import { checkClearance } from '../../src/mandates/sending.ts';
import { mandateTermsSchema } from '../../src/mandates/terms.ts';
import { getSendingDay } from '../../src/money/order-cost.ts';
import type { OrdersContext } from '../../src/orders/context.ts';
import type { Order } from '../../src/orders/order.ts';
import { loadBudgetUse } from '../../src/orders/order-budget.ts';
import type { OrderStore } from '../../src/orders/ports.ts';
import { markUnsentAsUnknown } from '../../src/orders/restore-guard.ts';
import { buildStatement } from '../../src/orders/statement.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { webhookBodySchema } from '../../src/outbox/webhooks/messages.ts';
import { getUtcDay } from '../../src/zones/calendar-day.ts';
import { ALICE, type Rig, startRig } from '../orders/rig.ts';
import { ENDPOINTS } from '../orders/sample.ts';
import { newServiceError } from '../orders/scripted-service.ts';
import { createMandateHelpers } from './mandate-rig.ts';

/*
 * Mandates on the real store: how they come into force, the orders they create, why they don't act, and how they end.
 */

const ADA = { id: 'U0ADA', isAdmin: true };

let rig: Rig;
let on: ReturnType<typeof createMandateHelpers>;
beforeAll(async () => {
  rig = await startRig();
  on = createMandateHelpers(rig);
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const loadRenewalOrder = async (name: string) => rig.read((await on.runAndFindAct(name)).orderId ?? 'none');
const countSentRequests = () => rig.service.received.length;
async function changeTaskToDelete(id: string): Promise<void> {
  await rig.sql(`UPDATE orders SET task = 'delete' WHERE id = $1`, id);
  await rig.changeRequestedInput(id, `jsonb_build_object('name', 'cafe.rest')`);
}

test('a mandate’s renewal is priced and budgeted for the day it is sent', async () => {
  await on.watch('cafe.rest', 10);
  await on.createMandate();
  const priced = new Set<string>();
  const budgeted: string[] = [];
  const context: OrdersContext = {
    ...rig.mandates,
    priceOrder: (order) => {
      priced.add(getSendingDay(order, rig.now));
      return rig.mandates.priceOrder(order);
    },
    compareBudgetsOn: (day) => {
      budgeted.push(day);
      return rig.mandates.compareBudgetsOn(day);
    },
  };
  await runMandates(context);
  const order = await loadRenewalOrder('cafe.rest');
  const day = getUtcDay(order.sendAfter ?? rig.now);
  expect(day > getUtcDay(rig.now)).toBe(true);
  budgeted.length = 0;
  await loadBudgetUse(context, order);
  expect([[...priced], budgeted]).toEqual([[day], [day]]);
});

describe('a mandate', () => {
  test('is an order for its name patterns, and its statement contains its terms', async () => {
    await on.watch('cafe.rest', 100);
    const order = await on.requestMandate();
    expect(order).toMatchObject({ task: 'mandate', state: 'PENDING', items: [{ name: '*.rest' }] });
    expect(buildStatement(order, ENDPOINTS).items).toEqual([
      {
        n: 1,
        name: '*.rest',
        ctid: order.id,
        request: {
          interface: 'none',
          terms: {
            max_price: '20.00 EUR',
            max_total: '100.00 EUR',
            span: 'month',
            until: '2026-12-26',
            notice: 14,
          },
        },
      },
    ]);
  });

  test('is in force once approved, without sending anything', async () => {
    await on.watch('cafe.rest', 100);
    const order = await on.createMandate();
    expect(order).toMatchObject({ state: 'SUCCEEDED', mandateEnd: undefined });
    expect(countSentRequests()).toBe(0);
    expect(await rig.listHistory(order.id)).toEqual([
      'requested by U0ALICE',
      'approved by U0BOB',
      'in_force',
      'finished',
    ]);
  });

  test('needs the same approvals as renewals of the names it covers', async () => {
    await on.watch('brand.rest', 100, 2_000, ['brand']);
    rig.setPolicy(1, {
      tasks: ['renew'],
      names: ['tag:brand'],
      decision: 'approve',
      approvers: ['U0CAROL', 'U0DORA'],
      needed: 2,
    });
    const order = await on.requestMandate();
    expect(order.requirements.list).toMatchObject([
      { names: ['*.rest'], needed: 2, approvers: ['U0CAROL', 'U0DORA'] },
    ]);
    expect(order.requirements.breakGlass).toBe(false);
  });

  test('has a preview with the names it wouldn’t renew, from prices of today and a year ago', async () => {
    for (const [name, price] of Object.entries({ 'cafe.rest': 2_000, 'dear.rest': 2_001, 'old.rest': 2_000 }))
      await on.watch(name, 100, price);
    await on.watch('doubtful.rest', 100);
    await rig.sql(`UPDATE domains SET expiry_source = 'person' WHERE name = 'doubtful.rest'`);
    const priced: string[] = [];
    const context: OrdersContext = {
      ...rig.mandates,
      priceRenewals: (names, day) => {
        priced.push(day);
        return rig.mandates.priceRenewals(names, day);
      },
    };
    const preview = (order: Order) => loadPreview(context, order, mandateTermsSchema.parse(order.input));
    const older = await on.createMandate({ mandate_names: ['old.rest'] });
    expect(await preview(await on.requestMandate())).toMatchObject({
      names: ['cafe.rest', 'dear.rest', 'doubtful.rest', 'old.rest'],
      heldNames: [
        { name: 'dear.rest', holdReason: 'price_above' },
        { name: 'doubtful.rest', holdReason: 'date_in_doubt' },
      ],
      namesCoveredByOthers: ['old.rest'],
    });
    expect(priced).toEqual([getUtcDay(new Date(rig.now.getTime() - 365 * DAY_MS)), getUtcDay(rig.now)]);
    expect((await preview(older)).namesCoveredByOthers).toEqual([]);
  });

  test('is listed with its acts for viewers, and found by its requester and approver', async () => {
    await on.watch('cafe.rest', 10);
    const { id } = await on.createMandate();
    await on.run();
    await rig.sql('UPDATE orders SET is_private = true WHERE id = $1', id);
    expect(await loadMandateStatuses(rig.mandates, ADA)).toMatchObject({
      statuses: [{ acts: [{ name: 'cafe.rest' }] }],
      hiddenCount: 0,
    });
    const eve = { id: 'U0EVE', isAdmin: false };
    expect(await loadMandateStatuses(rig.mandates, eve)).toEqual({ statuses: [], hiddenCount: 1 });
    const found = async (userId: string) => (await findMandatesByPerson(rig.mandates, userId)).length;
    expect([await found('U0ALICE'), await found('U0BOB'), await found('U0CAROL')]).toEqual([1, 1, 0]);
  });

  test('doesn’t come into force if its row was changed in the database', async () => {
    await on.watch('cafe.rest', 10);
    const { id } = await on.requestMandate();
    await rig.sql(
      `UPDATE orders SET input = jsonb_set(input, '{max_price,minor}', '999999') WHERE id = $1`,
      id,
    );
    await approveOrder(rig.orders, id, 'U0BOB');
    await rig.runDue();
    expect(await rig.read(id)).toMatchObject({ state: 'FAILED' });
  });
});

describe('a mandate in force', () => {
  test('creates an order for each due name, announces it, and sends it a day later', async () => {
    await on.watch('soon.rest', 13);
    await on.watch('later.rest', 40);
    const mandate = await on.createMandate();
    const order = await loadRenewalOrder('soon.rest');
    expect(order).toMatchObject({
      task: 'renew',
      state: 'APPROVED',
      requesterId: 'U0ALICE',
      mandate: { id: mandate.id },
      input: { names: ['soon.rest'], period: 1 },
    });
    expect((await on.listActs()).map(({ name }) => name)).toEqual(['soon.rest']);
    await on.markAnnounced();
    rig.advanceClock(DAY_MS - 60_000);
    await on.recordLookup();
    await rig.runDue();
    expect(countSentRequests()).toBe(0);
    await on.advanceAndSend();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
    expect(countSentRequests()).toBe(1);
    await on.run();
    expect(await on.listActs()).toHaveLength(1);
  });

  test('sends an order only after another registry lookup', async () => {
    await on.watch('soon.rest', 13);
    await on.createMandate();
    const order = await loadRenewalOrder('soon.rest');
    await on.markAnnounced();
    rig.advanceClock(2 * DAY_MS);
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'APPROVED' });
    await on.advanceAndSend();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
  });

  test('ignores names that a person has already requested, and names set to lapse', async () => {
    await on.watch('asked.rest', 10);
    await on.watch('lapsing.rest', 10);
    await rig.sql(`UPDATE domains SET lapse_confirmed_at = $1 WHERE name = 'lapsing.rest'`, rig.now);
    await on.createMandate();
    await rig.requestAccepted('renew', { names: ['asked.rest'], period: 1 });
    await on.run();
    expect(await on.listActs()).toEqual([]);
  });

  test('can be stopped for one name by an approver, and creates no other order for it', async () => {
    await on.watch('soon.rest', 13);
    await on.createMandate();
    const order = await loadRenewalOrder('soon.rest');
    await on.markAnnounced();
    expect(await stopOrder(rig.orders, order.id, 'U0CAROL')).toMatchObject({ ok: true });
    await on.advanceAndSend();
    await on.run();
    expect(await rig.read(order.id)).toMatchObject({ state: 'CANCELLED' });
    expect(await on.listActs()).toHaveLength(1);
    expect(countSentRequests()).toBe(0);
  });

  test('acts once on two replicas', async () => {
    for (const n of [1, 2, 3, 4]) await on.watch(`name${n}.rest`, 10);
    await on.createMandate();
    await Promise.all([on.run(), on.run(), on.run()]);
    const rows = await rig.sql('SELECT name, count(*)::int AS n FROM mandate_acts GROUP BY 1 ORDER BY 1');
    expect(rows.map(({ n }) => n)).toEqual([1, 1, 1, 1]);
    const orders = await rig.sql(`SELECT id FROM orders WHERE mandate_id IS NOT NULL`);
    expect(orders).toHaveLength(4);
  });

  test.each([3, 30])('creates orders %i days before expiry if that is its notice', async (notice) => {
    await on.watch('cafe.rest', notice);
    await on.watch('day-after.rest', notice + 0.001);
    await on.createMandate({ notice });
    await on.run();
    expect((await on.listActs()).map(({ name }) => name)).toEqual(['cafe.rest']);
  });

  test('doesn’t cover names that expire after its end, which another mandate renews', async () => {
    await on.watch('cafe.rest', 20);
    const soon = await on.createMandate({ until: getUtcDay(new Date(rig.now.getTime() + 6 * DAY_MS)) });
    const end = { name: 'cafe.rest', expiresAt: new Date(rig.now.getTime() + 20 * DAY_MS) };
    const isRenewed = async () => (await createMandateCheck(rig.mandates))(end);
    expect(await isRenewed()).toBe(false);
    expect(await findCoveringMandate(rig.mandates, 'cafe.rest', ADA)).toMatchObject({
      mandate: { order: { id: soon.id } },
      endsBeforeRenewal: true,
    });
    expect(
      (await loadMandateStatuses(rig.mandates, ADA)).statuses.map(({ upcomingNames }) => upcomingNames),
    ).toEqual([[]]);
    expect((await loadRenewalForecast(rig.mandates, [end], 'system')).uncoveredNames).toEqual(['cafe.rest']);
    rig.advanceClock(1_000);
    const long = await on.createMandate();
    expect(await isRenewed()).toBe(true);
    expect(await findCoveringMandate(rig.mandates, 'cafe.rest', ADA)).toMatchObject({
      mandate: { order: { id: long.id } },
      endsBeforeRenewal: false,
    });
    expect((await loadRenewalForecast(rig.mandates, [end], 'system')).uncoveredNames).toEqual([]);
    const coming = (await loadMandateStatuses(rig.mandates, ADA)).statuses.map(
      ({ order, upcomingNames: names }) => [order.id, names.length],
    );
    expect(coming).toEqual([
      [soon.id, 0],
      [long.id, 1],
    ]);
    rig.advanceClock(6.5 * DAY_MS);
    await on.run();
    expect(await on.listActs(), 'the mandate ends before it can send anything').toEqual([]);
    rig.advanceClock(2 * DAY_MS);
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({ mandateId: long.id, held: undefined });
  });
});

describe('limits', () => {
  test('are inclusive', async () => {
    await on.watch('a.rest', 10, 2_000);
    await on.watch('b.rest', 11, 2_001);
    await on.createMandate({ max_total: { currency: 'EUR', minor: 2_000 } });
    expect(await on.runAndFindAct('a.rest')).toMatchObject({ held: undefined });
    expect(await on.runAndFindAct('b.rest')).toMatchObject({ held: 'price_above' });
  });

  test('of a period count pending orders, but no stopped orders', async () => {
    for (const [n, name] of ['a.rest', 'b.rest', 'c.rest'].entries()) await on.watch(name, 10 + n);
    await on.createMandate({ max_total: { currency: 'EUR', minor: 4_000 } });
    expect(await on.runAndFindAct('c.rest')).toMatchObject({ held: 'total_spent' });
    await stopOrder(rig.orders, (await loadRenewalOrder('a.rest')).id, 'U0ALICE');
    await on.watch('d.rest', 10);
    expect(await on.runAndFindAct('d.rest')).toMatchObject({ held: undefined });
  });

  test('stop an order after a price increase, and create a regular order instead', async () => {
    await on.watch('a.rest', 10);
    await on.createMandate();
    const order = await loadRenewalOrder('a.rest');
    await on.markAnnounced();
    rig.prices.set('a.rest', 2_500);
    await on.advanceAndSend();
    expect(countSentRequests()).toBe(0);
    expect(await rig.read(order.id)).toMatchObject({ state: 'FAILED' });
    const act = await on.runAndFindAct('a.rest');
    expect(act).toMatchObject({ held: 'price_above' });
    expect(await loadRenewalOrder('a.rest')).toMatchObject({
      state: 'PENDING',
      mandate: undefined,
      requesterId: 'U0ALICE',
    });
  });

  test('include the team’s budgets: a name over budget gets a regular order', async () => {
    await rig.budgets.add(
      { tag: undefined, span: 'month', amount: { currency: 'EUR', minor: 3_000 } },
      'U0ADMIN',
      rig.now,
    );
    await on.watch('a.rest', 10);
    await on.watch('b.rest', 11);
    await on.createMandate();
    expect(await on.runAndFindAct('a.rest')).toMatchObject({ held: undefined });
    expect(await on.runAndFindAct('b.rest')).toMatchObject({ held: 'budget_empty' });
    for (const { id } of await rig.budgets.list()) await rig.budgets.remove(id, 'U0ADMIN', rig.now);
  });

  describe('with a monthly budget', () => {
    const budgetOf = (minor: number) =>
      rig.budgets.add(
        { tag: undefined, span: 'month', amount: { currency: 'EUR', minor } },
        'U0ADMIN',
        rig.now,
      );
    const dropBudgets = async () => {
      for (const { id } of await rig.budgets.list()) await rig.budgets.remove(id, 'U0ADMIN', rig.now);
    };
    afterEach(dropBudgets);

    test('an order is sent if its own reservation fills the budget', async () => {
      await budgetOf(2_000);
      await on.watch('a.rest', 10);
      await on.createMandate();
      const order = await loadRenewalOrder('a.rest');
      await on.markAnnounced();
      await on.advanceAndSend();
      expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
    });
  });

  test('are checked again if midnight passes between the check and the commit of sentAt', async () => {
    await on.watch('a.rest', 10);
    const mandate = await on.createMandate();
    const { id } = await loadRenewalOrder('a.rest');
    await on.markAnnounced();
    rig.advanceClock(DAY_MS + 12 * 60 * 60_000);
    await on.recordLookup();
    const cleared = await checkClearance(rig.mandates, await rig.read(id));
    if (cleared.kind !== 'clear') throw new Error(`the order isn’t clear to send: ${cleared.kind}`);
    const read = {
      name: 'a.rest',
      affectedTags: [],
      plannedExpiry: (await on.runAndFindAct('a.rest')).expiresAt,
      expiresAt: (await on.runAndFindAct('a.rest')).expiresAt,
      isLapsing: false,
      announcedAt: (await on.runAndFindAct('a.rest')).announcedAt,
      amount: { currency: 'EUR', minor: 2_000 },
      usedAmounts: { amountsByDay: [], countOrdersOn: () => 0 },
    };
    expect(cleared.mandateUse.check(mandate, read)).toBeUndefined();
    rig.advanceClock(
      Date.parse(`${cleared.mandateUse.reservation.day}T00:00:00Z`) + DAY_MS - rig.now.getTime(),
    );
    expect(cleared.mandateUse.check(mandate, read)).toBe('day_full');
  });
});

const HOLD_REASONS: readonly (readonly [code: string, trigger: () => unknown])[] = [
  ['price_unknown', () => void rig.prices.delete('cafe.rest')],
  ['incident_open', () => void rig.incidents.add('cafe.rest')],
  ['date_in_doubt', async () => void (await rig.sql(`UPDATE domains SET expiry_source = 'order'`))],
  [
    'owner_left',
    async () => {
      await rig.sql(`UPDATE domains SET owner_id = 'U0GONE'`);
      rig.memberships.set('U0GONE', 'left');
    },
  ],
  [
    'policy_asks_more',
    () => rig.setPolicy(1, { tasks: ['renew'], decision: 'approve', approvers: ['U0CAROL'] }),
  ],
];

describe('a held renewal', () => {
  test.each(HOLD_REASONS)('%s: a regular order is created immediately', async (code, trigger) => {
    await on.watch('cafe.rest', 10);
    await on.createMandate();
    await trigger();
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({ held: code });
    const order = await loadRenewalOrder('cafe.rest');
    expect(order).toMatchObject({ task: 'renew', state: 'PENDING', mandate: undefined });
    await on.run();
    expect(await on.listActs()).toHaveLength(1);
    const events = await rig.sql(`SELECT data FROM events WHERE kind = 'mandate_held' ORDER BY seq`);
    expect(events.at(-1)?.['data']).toMatchObject({ holdReason: code });
  });

  test('not_announced: a regular order is created while a day is left', async () => {
    await on.watch('cafe.example', 4);
    await on.createMandate({ mandate_names: ['*.example'] });
    const order = await loadRenewalOrder('cafe.example');
    // Slack accepts nothing.
    rig.advanceClock(2 * DAY_MS);
    await on.recordLookup();
    await rig.runDue();
    expect(await rig.read(order.id), 'it can still be announced').toMatchObject({ state: 'APPROVED' });
    rig.advanceClock(DAY_MS + 60_000);
    await on.recordLookup();
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'FAILED' });
    expect(countSentRequests()).toBe(0);
    expect(await on.runAndFindAct('cafe.example')).toMatchObject({ held: 'not_announced' });
    expect(await loadRenewalOrder('cafe.example')).toMatchObject({ state: 'PENDING', mandate: undefined });
  });

  test('earlier_unknown: no order is created while an earlier one’s outcome is unknown', async () => {
    await on.watch('cafe.rest', 10);
    const former = await rig.requestAccepted('renew', { names: ['cafe.rest'], period: 1 });
    await approveOrder(rig.orders, former.id, 'U0BOB');
    rig.service.answer = async () => {
      throw newServiceError('unknown_outcome');
    };
    await rig.runDue();
    expect(await rig.read(former.id)).toMatchObject({ state: 'UNKNOWN' });
    await on.createMandate();
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({
      held: 'earlier_unknown',
      orderId: undefined,
    });
    expect([...(await rig.store.findOpenOrders('renew', ['cafe.rest'])).values()]).toEqual([former.id]);
  });

  test('policy_refuses: no order is created', async () => {
    await on.watch('cafe.rest', 10);
    await on.createMandate();
    rig.setPolicy(1, { tasks: ['renew'], decision: 'refuse' });
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({ held: 'policy_refuses', orderId: undefined });
  });

  test('price_above: the regular order needs approval even if the policy says free', async () => {
    await on.watch('cafe.rest', 10, 9_999);
    await on.createMandate();
    rig.setPolicy(1, { tasks: ['renew'], decision: 'free' });
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({ held: 'price_above' });
    expect(await loadRenewalOrder('cafe.rest')).toMatchObject({ state: 'PENDING' });
  });

  test('account_gone: the regular order uses another account', async () => {
    await on.watch('cafe.rest', 10);
    const mandate = await on.createMandate();
    rig.accounts.set('other', { ...ALICE, id: 'other' });
    rig.accounts.delete(mandate.account.id);
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({ held: 'account_gone' });
    rig.accounts.delete('other');
  });

  test('is retried with exponential backoff if its regular order can’t be created', async () => {
    await on.watch('broken.rest', 10, 3_000);
    await on.watch('cafe.rest', 10, 3_000);
    await on.createMandate();
    let attempts = 0;
    const create: OrderStore['create'] = async (creation) => {
      if (creation.order.items[0]?.name !== 'broken.rest') return rig.store.create(creation);
      attempts += 1;
      throw new Error('creation fails');
    };
    const deps = { ...rig.mandates, store: { ...rig.store, create } };
    let reported = 0;
    for (let minutes = 0; minutes <= 120; minutes += 10) {
      await runMandates(deps).catch(() => (reported += 1));
      const due = await rig.mandates.mandates.listDueForRegularOrder(rig.now, 500);
      expect(due, 'nothing due before the next attempt').toEqual([]);
      rig.advanceClock(10 * MINUTE_MS);
    }
    expect(attempts, 'after 0, 10, 30 and 70 minutes').toBe(4);
    expect(reported).toBe(13);
    const orders = (await on.listActs()).map(({ name, orderId }) => [name, orderId !== undefined]);
    expect(orders).toEqual([
      ['broken.rest', false],
      ['cafe.rest', true],
    ]);
    rig.advanceClock(DAY_MS);
    await runMandates(rig.mandates);
    expect((await on.listActs()).every(({ orderId }) => orderId !== undefined)).toBe(true);
    await runMandates(rig.mandates);
  });

  test('moved_out: an order isn’t sent after its name has left the mandate’s patterns', async () => {
    await on.watch('cafe.rest', 10, 2_000, ['brand']);
    await on.createMandate({ mandate_names: ['tag:brand'] });
    const order = await loadRenewalOrder('cafe.rest');
    await on.markAnnounced();
    await rig.sql(`UPDATE domains SET tags = '{}'`);
    rig.tags.set('cafe.rest', []);
    await on.advanceAndSend();
    expect(await rig.read(order.id)).toMatchObject({ state: 'FAILED' });
    expect(countSentRequests()).toBe(0);
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({ held: 'moved_out' });
  });

  test.each([
    ['another period', (id: string) => rig.changeRequestedInput(id, `jsonb_set(input, '{period}', '9')`)],
    ['another task', (id: string) => changeTaskToDelete(id)],
  ])('moved_out: an order whose row was changed to %s isn’t sent', async (_what, change) => {
    await on.watch('cafe.rest', 10);
    await on.createMandate();
    const order = await loadRenewalOrder('cafe.rest');
    await change(order.id);
    await on.markAnnounced();
    await on.advanceAndSend();
    expect(countSentRequests()).toBe(0);
    expect(await rig.read(order.id)).toMatchObject({ state: 'FAILED' });
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({ held: 'moved_out' });
  });

  test('set_to_lapse: a name set to lapse after the announcement gets no order', async () => {
    await on.watch('cafe.rest', 10);
    await on.createMandate();
    const order = await loadRenewalOrder('cafe.rest');
    await on.markAnnounced();
    await rig.sql(`UPDATE domains SET lapse_confirmed_at = $1`, rig.now);
    await on.advanceAndSend();
    await on.run();
    expect(countSentRequests()).toBe(0);
    expect(await rig.read(order.id)).toMatchObject({ state: 'FAILED' });
    expect(await on.listActs()).toMatchObject([{ held: 'set_to_lapse', orderId: undefined }]);
    expect(await rig.store.findOpenOrders('renew', ['cafe.rest'])).toEqual(new Map());
  });

  test('a stopped name stays stopped when its expiry date is corrected', async () => {
    await on.watch('cafe.rest', 10);
    await on.createMandate();
    const order = await loadRenewalOrder('cafe.rest');
    await stopOrder(rig.orders, order.id, 'U0CAROL');
    await rig.sql(`UPDATE domains SET expires_at = expires_at + interval '2 days'`);
    await on.run();
    expect(await on.listActs()).toHaveLength(1);
    expect(await rig.store.findOpenOrders('renew', ['cafe.rest'])).toEqual(new Map());
  });

  test('nothing is sent after the mandate’s row was changed in the database', async () => {
    await on.watch('cafe.rest', 10);
    const mandate = await on.createMandate();
    const order = await loadRenewalOrder('cafe.rest');
    await on.markAnnounced();
    await rig.sql(
      `UPDATE orders SET input = jsonb_set(input, '{max_total,minor}', '99999999') WHERE id = $1`,
      mandate.id,
    );
    await on.advanceAndSend();
    expect(countSentRequests()).toBe(0);
    expect(await rig.read(order.id)).toMatchObject({ state: 'FAILED' });
  });
});

test('a held renewal is queued for webhooks', async () => {
  await rig.sql(
    `INSERT INTO webhook_endpoints (team_id, id, served_at, tested_month) VALUES ('', 'e', now(), '2026-11')`,
  );
  await on.watch('cafe.rest', 10, 9_999);
  const { id } = await on.createMandate();
  await on.runAndFindAct('cafe.rest');
  const rows = await rig.sql('SELECT body FROM webhook_deliveries');
  expect(rows.map(({ body }) => webhookBodySchema.parse(JSON.parse(String(body))))).toMatchObject([
    { type: 'mandate.held', data: { name: 'cafe.rest', mandate: id, code: 'price_above' } },
  ]);
});

describe('the start after a possible database restore', () => {
  const startAfter = (ms: number) => {
    const last = {
      seenAt: new Date(rig.now.getTime() - ms),
      database: 'd',
      server: 's',
      count: 1,
      isOriginal: true,
      activeProcesses: [],
      version: '1',
    };
    return markUnsentAsUnknown({
      ...rig.orders,
      heartbeat: {
        read: async () => ({ database: 'd', server: 's', position: 1, isBehind: false, last }),
        write: async () => 2,
        verify: async () => undefined,
        suspend: () => undefined,
        onUnverifiedServer: () => undefined,
      },
      processId: 'p',
    });
  };

  test('after an hour, keeps mandates and orders that weren’t due yet', async () => {
    await on.watch('cafe.rest', 10);
    const mandate = await on.createMandate();
    const order = await loadRenewalOrder('cafe.rest');
    await startAfter(60 * 60_000);
    expect(await rig.read(order.id)).toMatchObject({ state: 'APPROVED' });
    expect(await rig.read(mandate.id)).toMatchObject({ mandateEnd: undefined });
  });

  test('marks orders as unknown that may have been sent', async () => {
    await on.watch('cafe.rest', 10);
    await on.createMandate();
    const order = await loadRenewalOrder('cafe.rest');
    rig.advanceClock(2 * DAY_MS);
    await startAfter(60 * 60_000);
    expect(await rig.read(order.id)).toMatchObject({ state: 'UNKNOWN' });
  });

  test('ends mandates after more than a day, because their spending is unknown', async () => {
    await on.watch('cafe.rest', 10);
    const mandate = await on.createMandate();
    await startAfter(25 * 60 * 60_000);
    expect(await rig.read(mandate.id)).toMatchObject({ mandateEnd: { cause: 'database_restored' } });
    await on.run();
    expect(await on.listActs()).toEqual([]);
  });
});

describe('a mandate ends', () => {
  test('when an approver ends it, which stops unsent orders; others can’t end it', async () => {
    await on.watch('cafe.rest', 10);
    const { id } = await on.createMandate();
    const order = await loadRenewalOrder('cafe.rest');
    expect(await endMandate(rig.mandates, id, 'U0NOBODY')).toMatchObject({
      ok: false,
      refusal: { code: 'not_an_approver' },
    });
    expect(await endMandate(rig.mandates, id, 'U0CAROL')).toMatchObject({ ok: true });
    expect(await rig.read(order.id)).toMatchObject({ state: 'FAILED' });
    expect(await endMandate(rig.mandates, id, 'U0CAROL')).toMatchObject({
      ok: false,
      refusal: { code: 'not_in_force' },
    });
    expect(await rig.read(id)).toMatchObject({
      state: 'SUCCEEDED',
      mandateEnd: { cause: 'person', by: 'U0CAROL' },
    });
  });

  test('and leaves its unsent names to another mandate', async () => {
    await on.watch('cafe.rest', 10);
    const first = await on.createMandate();
    await loadRenewalOrder('cafe.rest');
    rig.advanceClock(1_000);
    const second = await on.createMandate();
    await endMandate(rig.mandates, first.id, 'U0ALICE');
    expect(await on.runAndFindAct('cafe.rest')).toMatchObject({ mandateId: second.id, held: undefined });
  });

  test.each([
    ['U0ALICE', 'requester_left'],
    ['U0BOB', 'approver_left'],
  ])('when %s leaves', async (userId, cause) => {
    await on.watch('cafe.rest', 10);
    const { id } = await on.createMandate();
    const order = await loadRenewalOrder('cafe.rest');
    rig.memberships.set(userId, 'left');
    await on.run();
    expect(await rig.read(id)).toMatchObject({ mandateEnd: { cause, by: userId } });
    expect((await rig.read(order.id)).state).toBe('FAILED');
  });

  test('on its end date, after an announcement a week earlier', async () => {
    await on.watch('cafe.rest', 100);
    const { id } = await on.createMandate({ until: '2026-03-31' });
    rig.advanceClock(24 * DAY_MS);
    await rig.store.claimDue('observation', rig.now, 1, 10);
    await rig.main.advance(id, 'observation');
    expect(await rig.listHistory(id)).toContain('mandate_ending');
    rig.advanceClock(8 * DAY_MS);
    await rig.main.advance(id, 'observation');
    expect(await rig.read(id)).toMatchObject({ mandateEnd: { cause: 'expired' } });
  });
});
