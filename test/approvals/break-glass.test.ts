import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveInEmergency, signOff } from '../../src/approvals/approve.ts';
import { calculateCost } from '../../src/money/prices.ts';
import type { ChangeOutcome } from '../../src/orders/change-order.ts';
import type { OrdersContext } from '../../src/orders/context.ts';
import type { Order } from '../../src/orders/order.ts';
import { HOUR_MS, type Rig, startRig } from '../orders/rig.ts';
import { newServiceError } from '../orders/scripted-service.ts';

/* One admin approves with break glass, and another signs it off. */

let rig: Rig;
let admins: ReadonlySet<string>;
let deps: OrdersContext;
beforeAll(async () => {
  rig = await startRig();
  deps = { ...rig.orders, isAdmin: async (userId) => admins.has(userId) };
});
beforeEach(async () => {
  await rig.reset();
  admins = new Set(['U0ADA', 'U0EVE']);
  rig.groups.set('S0FINANCE', ['U0FAY', 'U0FRED', 'U0ALICE', 'U0ADA']);
});
afterAll(() => rig.end());

const RULE = { decision: 'approve', approvers: ['S0FINANCE', 'U0LEA'], needed: 2, breakGlass: true } as const;
const requestRenewal = () => rig.requestAccepted('renew', { names: ['cafe.rest'], period: 1 });
const breakGlass = (order: Order, userId = 'U0ADA', reason: string | undefined = 'The shop is down') =>
  approveInEmergency(deps, order.id, userId, reason);
const codeOf = (outcome: ChangeOutcome) => (outcome.ok ? outcome.order.state : outcome.refusal.code);
const openReviews = async () =>
  (await rig.store.list({ viewer: 'system', isReviewOpen: true, limit: 10 })).map(({ id }) => id);

describe('approving alone', () => {
  test('sends the order, records who could have decided, and needs a sign-off', async () => {
    rig.setPolicy(3, RULE);
    const order = await requestRenewal();
    const standIn = { userId: 'U0CAROL', until: new Date(rig.now.getTime() + HOUR_MS) };
    await rig.standIns.begin('U0LEA', standIn, rig.now);
    expect(codeOf(await breakGlass(order))).toBe('APPROVED');
    const history = await rig.store.loadHistory(order.id, 'system');
    expect(history.at(-1)).toMatchObject({
      kind: 'emergency_approved',
      actor: 'U0ADA',
      reason: 'The shop is down',
      approvers: ['U0FAY', 'U0FRED', 'U0LEA', 'U0CAROL'],
      unreadableGroups: [],
      policyVersion: 3,
    });
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED', emergencyApprovedBy: 'U0ADA' });
    expect(rig.service.received).toHaveLength(1);
    expect(await openReviews()).toEqual([order.id]);
  });

  test('needs every rule to allow it, at the request and at the click', async () => {
    const strict = { ...RULE, breakGlass: false };
    rig.setPolicy(1, { ...RULE, names: ['cafe.rest'] }, { ...strict, names: ['bar.rest'] });
    const both = await rig.requestAccepted('renew', { names: ['cafe.rest', 'bar.rest'], period: 1 });
    expect(codeOf(await breakGlass(both))).toBe('break_glass_not_allowed');

    rig.setPolicy(2, strict);
    const before = await rig.requestAccepted('renew', { names: ['chef.rest'], period: 1 });
    rig.setPolicy(3, RULE);
    expect(codeOf(await breakGlass(before)), 'not allowed at the request').toBe('break_glass_not_allowed');
    const after = await rig.requestAccepted('renew', { names: ['diner.rest'], period: 1 });
    rig.setPolicy(4, strict);
    expect(codeOf(await breakGlass(after)), 'no longer allowed').toBe('break_glass_not_allowed');
    rig.setPolicy(5, { decision: 'refuse' });
    expect(codeOf(await breakGlass(after))).toBe('policy_refuses');
    rig.setPolicy(6);
    const bySettings = await rig.requestAccepted('renew', { names: ['grill.rest'], period: 1 });
    expect(codeOf(await breakGlass(bySettings)), 'not allowed by the settings').toBe(
      'break_glass_not_allowed',
    );
  });

  test('reserves the price, even over a budget, and records the excess', async () => {
    rig.setPolicy(3, RULE);
    const order = await requestRenewal();
    const exceeded = [{ tag: null, period: '2026-03', currency: 'EUR', leftMinor: 0, orderMinor: 1_800 }];
    const reservation = {
      ...{ teamId: 'T0STEWARD', day: '2026-03-01', items: [] },
      ...{ agreedExcess: [], hasBudget: true },
    };
    const reserved: unknown[] = [];
    rig.setBeforeCommit(async (change) => void reserved.push(change.reservation));
    const budgets = {
      priceOrder: async () => calculateCost([], { task: 'renew', names: ['cafe.rest'] }, '2026-03-01'),
      compareBudgets: async () => ({ shares: [], exceeded, reservation }),
    };
    const click = () => approveInEmergency({ ...deps, ...budgets }, order.id, 'U0ADA', 'Now');
    expect(codeOf(await click()), 'before the card shows the excess').toBe('excess_not_shown');
    await rig.realStore.recordShownOverruns(order.id, exceeded);
    expect(codeOf(await click())).toBe('APPROVED');
    expect(reserved).toEqual([{ ...reservation, agreedExcess: exceeded }]);
    expect((await rig.store.loadHistory(order.id, 'system')).at(-1)).toMatchObject({
      overBudget: exceeded,
      admins: ['U0ADA'],
    });
  });

  test('counts once for concurrent clicks', async () => {
    rig.setPolicy(3, RULE);
    const order = await requestRenewal();
    const outcomes = await Promise.all(['U0ADA', 'U0EVE', 'U0ADA'].map((admin) => breakGlass(order, admin)));
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
    await rig.runDue();
    expect(rig.service.received).toHaveLength(1);
  });
});

describe('the review', () => {
  test('stays open after a failure, and is signed off by another admin who isn’t the requester', async () => {
    rig.setPolicy(3, RULE);
    rig.service.answer = async () => {
      throw newServiceError('refused', { code: 'EF1' });
    };
    const order = await requestRenewal();
    await breakGlass(order);
    await rig.runDue();
    expect((await rig.read(order.id)).state).toBe('FAILED');
    expect(await openReviews()).toEqual([order.id]);
    admins = new Set(['U0ADA', 'U0ALICE', 'U0EVE']);
    expect(codeOf(await signOff(deps, order.id, 'U0FAY'))).toBe('not_an_admin');
    expect(codeOf(await signOff(deps, order.id, 'U0ADA'))).toBe('own_emergency_approval');
    expect(codeOf(await signOff(deps, order.id, 'U0ALICE'))).toBe('own_order_to_sign_off');
    expect(await openReviews()).toEqual([order.id]);
    expect(codeOf(await signOff(deps, order.id, 'U0EVE'))).toBe('FAILED');
    expect(await openReviews()).toEqual([]);
    expect(await rig.read(order.id)).toMatchObject({ emergencyApprovedBy: 'U0ADA', signedOffBy: 'U0EVE' });
    expect(codeOf(await signOff(deps, order.id, 'U0EVE'))).toBe('already_signed_off');
  });

  test('doesn’t affect an order in execution', async () => {
    rig.setPolicy(3, RULE);
    const order = await requestRenewal();
    await breakGlass(order);
    rig.service.prepare = async () => {
      expect(codeOf(await signOff(deps, order.id, 'U0EVE'))).toBe('EXECUTING');
    };
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED', signedOffBy: 'U0EVE' });
    expect(rig.service.received).toHaveLength(1);
  });
});
