import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder, recordRefusalShown } from '../../src/approvals/approve.ts';
import { loadPendingRequirements } from '../../src/approvals/approvers.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { checkCanAsk } from '../../src/approvals/pending.ts';
import { findRefusingRules } from '../../src/approvals/requirements.ts';
import type { ChangeOutcome } from '../../src/orders/change-order.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { canSee, findPeopleToNotify } from '../../src/orders/visibility.ts';
import { collectRules, formatRuleNames } from '../../src/slack/approvals/decision.view.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { HOUR_MS, MINUTE_MS, type Rig, requireAccepted, startRig } from '../orders/rig.ts';
import { newServiceError } from '../orders/scripted-service.ts';

/* Orders with approvers from policy rules. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(async () => {
  await rig.reset();
  rig.groups.set('S0FINANCE', ['U0FAY', 'U0FRED']);
});
afterAll(() => rig.end());

const requestRenewal = () => rig.requestAccepted('renew', { names: ['cafe.rest'], period: 2 });
const textOf = (outcome: ChangeOutcome) => (outcome.ok ? 'it was done' : refusalText(outcome.refusal));
const approve = (orderId: string, userId: string) => approveOrder(rig.orders, orderId, userId);
const stateOf = async (orderId: string) => (await rig.read(orderId)).state;
const standIn = (away: string, userId: string) =>
  rig.standIns.begin(away, { userId, until: new Date(rig.now.getTime() + 48 * HOUR_MS) }, rig.now);

const FINANCE = { decision: 'approve', name: 'large renewals', approvers: ['S0FINANCE'] } as const;

test('approvers of a later rule see a private order, get its card and can ask questions', async () => {
  rig.setPolicy(1, FINANCE);
  const order = await rig.requestAccepted('renew', { names: ['cafe.rest'], period: 2 }, { isPrivate: true });
  rig.setPolicy(2, { ...FINANCE, name: 'legal decides', approvers: ['U0LENA'] });
  const lena = { id: 'U0LENA', isAdmin: false };
  expect(await canSee(rig.orders, order, lena)).toBe(true);
  expect(await canSee(rig.orders, order, { ...lena, id: 'U0EVE' })).toBe(false);
  expect((await findPeopleToNotify(rig.orders, order)).toSorted()).toEqual(['U0FAY', 'U0FRED', 'U0LENA']);
  expect(await checkCanAsk(rig.orders, order, 'U0LENA')).toBeUndefined();
});

describe('requesting', () => {
  test('opening a form reads the settings only if a rule could refuse the task', async () => {
    let reads = 0;
    const orders = {
      ...rig.orders,
      loadSettings: () => {
        reads += 1;
        return rig.orders.loadSettings();
      },
    };
    const refusing = (requesterId: string) =>
      findRefusingRules(orders, {
        task: 'transfer',
        names: ['cafe.rest'],
        requesterId,
        input: { name: 'cafe.rest' },
        usesTeamAccount: false,
      });
    rig.setPolicy(3, { decision: 'refuse', tasks: ['delete'] }, { decision: 'approve', tasks: ['transfer'] });
    expect(await refusing('U0ALICE')).toEqual([]);
    expect(reads).toBe(0);
    rig.setPolicy(4, {
      decision: 'refuse',
      name: 'finance buys nothing',
      tasks: ['charge'],
      by: ['S0FINANCE'],
    });
    expect(await refusing('U0ALICE')).toEqual([]);
    expect(await refusing('U0FAY')).toMatchObject([{ kind: 'rule', name: 'finance buys nothing' }]);
    expect(reads).toBe(2);
  });

  test('a rule’s requirements and times are stored with the order', async () => {
    rig.setPolicy(3, { ...FINANCE, needed: 2, ttlMs: 2 * HOUR_MS, remindAfterMs: 5 * MINUTE_MS });
    const order = await requestRenewal();
    expect(await rig.read(order.id)).toEqual(order);
    expect(order).toMatchObject({
      state: 'PENDING',
      policyVersion: 3,
      approvalsRequired: 2,
      expiresAt: new Date(rig.now.getTime() + 2 * HOUR_MS),
      remindAt: new Date(rig.now.getTime() + 5 * MINUTE_MS),
      requirements: { list: [{ needed: 2, approvers: ['S0FINANCE'] }] },
    });
    rig.advanceClock(2 * HOUR_MS);
    await rig.runDue();
    expect(await stateOf(order.id)).toBe('EXPIRED');
  });

  test('a draft gets its requirements from the policy at its confirmation', async () => {
    rig.setPolicy(1, { ...FINANCE, name: 'first' });
    const input = { name: 'cafe.rest', nameServers: ['ns1.example.com', 'ns2.example.com'] };
    const draft = requireAccepted(await rig.request('nameservers', input));
    expect(draft.state).toBe('DRAFT');
    rig.setPolicy(2, { ...FINANCE, needed: 2, ttlMs: HOUR_MS });
    const confirmed = await confirmOrder(rig.orders, draft.id, 'U0ALICE');
    expect(confirmed).toMatchObject({ kind: 'confirmed', order: { state: 'PENDING' } });
    expect(await rig.read(draft.id)).toMatchObject({
      policyVersion: 2,
      approvalsRequired: 2,
      expiresAt: new Date(rig.now.getTime() + HOUR_MS),
      requirements: { list: [{ needed: 2 }] },
    });
    const other = requireAccepted(await rig.request('nameservers', { ...input, name: 'bar.rest' }));
    rig.setPolicy(3, { decision: 'refuse' });
    expect(await confirmOrder(rig.orders, other.id, 'U0ALICE')).toMatchObject({
      kind: 'refused',
      refusal: { code: 'policy_refuses' },
    });
  });
});

describe('approving and denying', () => {
  test('are for the rule’s approvers, and refusals name them', async () => {
    rig.setPolicy(1, FINANCE);
    const order = await requestRenewal();
    for (const outcome of [
      await approve(order.id, 'U0BOB'),
      await denyOrder(rig.orders, order.id, 'U0BOB', undefined),
    ]) {
      expect(textOf(outcome)).toContain('<!subteam^S0FINANCE> can.');
    }
    expect(textOf(await approve(order.id, 'U0FAY'))).toBe('it was done');
    expect(await stateOf(order.id)).toBe('APPROVED');
  });
});

test('a finding after the first of two approvals drops it', async () => {
  rig.setPolicy(1, { ...FINANCE, needed: 2 });
  const order = await rig.requestAccepted('authcode', { name: 'cafe.rest' });
  let warnedAt: Date | undefined;
  const click = (userId: string) =>
    approveOrder({ ...rig.orders, findLastImpactWarning: async () => warnedAt }, order.id, userId);
  await click('U0FAY');
  rig.advanceClock(1_000);
  warnedAt = rig.now;
  await click('U0FRED');
  expect(await stateOf(order.id), 'Fay hasn’t seen the finding').toBe('PENDING');
  expect((await rig.store.loadHistory(order.id, 'system')).at(-1)).toMatchObject({ lapsed: ['U0FAY'] });
  rig.advanceClock(1_000);
  warnedAt = rig.now;
  expect(await click('U0FAY'), 'Fay’s second approval').toMatchObject({ ok: true });
  expect(await stateOf(order.id)).toBe('PENDING');
  await click('U0FRED');
  expect(await stateOf(order.id)).toBe('APPROVED');
});

describe('while an incident of a name is open', () => {
  /** Like the store, shows the incident to each person once. */
  function openIncident() {
    const shown = new Map<string, Date>();
    return {
      loadOpenIncidents: async () => ({ incidents: [{ id: 'i1', changeCount: 1 }], informedSince: shown }),
      recordShown: async (_orderId: string, userId: string) => void shown.set(userId, rig.now),
    };
  }

  /** Approves, and records that a refusal was shown. */
  function clickAndRecord(orderId: string) {
    const deps = { ...rig.orders, incidents: openIncident() };
    return async (userId: string) => {
      const outcome = await approveOrder(deps, orderId, userId);
      if (!outcome.ok) await recordRefusalShown(deps, orderId, userId, outcome.refusal);
      return outcome;
    };
  }

  test('a click before the person was shown the incident doesn’t count', async () => {
    rig.setPolicy(1, FINANCE);
    const order = await requestRenewal();
    const incidents = openIncident();
    const deps = { ...rig.orders, incidents };
    const first = await approveOrder(deps, order.id, 'U0FAY');
    expect(first).toMatchObject({ ok: false, refusal: { code: 'incident_open' } });
    rig.advanceClock(200);
    expect(await approveOrder(deps, order.id, 'U0FAY'), 'the second half of a double click').toMatchObject({
      ok: false,
      refusal: { code: 'incident_open' },
    });
    if (!first.ok) await recordRefusalShown(deps, order.id, 'U0FAY', first.refusal);
    rig.advanceClock(1_000);
    expect(await approveOrder(deps, order.id, 'U0FAY')).toMatchObject({ ok: true });
  });

  test('an earlier approver has to approve again', async () => {
    rig.setPolicy(1, { ...FINANCE, needed: 2 });
    const order = await requestRenewal();
    await approve(order.id, 'U0FAY');
    rig.advanceClock(1_000);
    const click = clickAndRecord(order.id);
    await click('U0FRED');
    rig.advanceClock(1_000);
    await click('U0FRED');
    expect(await stateOf(order.id), 'Fay hasn’t seen the incident').toBe('PENDING');
    await click('U0FAY');
    rig.advanceClock(1_000);
    await click('U0FAY');
    expect(await stateOf(order.id)).toBe('APPROVED');
  });
});

test('a click that doesn’t count doesn’t look up the impact', async () => {
  rig.setPolicy(1, FINANCE);
  const order = await rig.requestAccepted('authcode', { name: 'cafe.rest' });
  let lookups = 0;
  const checkImpact = async () => {
    lookups += 1;
    return 'changed' as const;
  };
  expect(await approveOrder({ ...rig.orders, checkImpact }, order.id, 'U0NINA')).toMatchObject({
    ok: false,
    refusal: { code: 'not_an_approver' },
  });
  expect(lookups, 'lookups for a person who can’t approve').toBe(0);
  await rig.sql(`UPDATE orders SET state = 'DENIED'`);
  expect(await approveOrder({ ...rig.orders, checkImpact }, order.id, 'U0FAY')).toMatchObject({
    ok: false,
    refusal: { code: 'wrong_state' },
  });
  expect(lookups, 'lookups for a denied order').toBe(0);
});

describe('a policy that changes while an order is pending', () => {
  test('adds a requirement, and records that more is needed', async () => {
    rig.setPolicy(1, FINANCE);
    const order = await requestRenewal();
    rig.setPolicy(2, { ...FINANCE, approvers: ['U0LEA'] });
    await approve(order.id, 'U0FAY');
    expect(await stateOf(order.id)).toBe('PENDING');
    expect((await rig.store.loadHistory(order.id, 'system')).at(-1)).toMatchObject({
      progress: { isStricter: true, policyVersion: 2 },
    });
    await approve(order.id, 'U0LEA');
    expect(await stateOf(order.id)).toBe('APPROVED');
  });
});

test.each([
  ['version', '9'],
  ['name', '"other"'],
])('a rule’s %s that differs from the log isn’t shown, and approvals are refused', async (field, value) => {
  rig.setPolicy(1, FINANCE);
  const { id } = await requestRenewal();
  await rig.sql(
    `UPDATE orders SET requirements = jsonb_set(requirements, '{list,0,rule,${field}}', '${value}')`,
  );
  const order = await rig.read(id);
  const history = await rig.store.loadHistory(id, 'system');
  const rules = collectRules(await loadPendingRequirements(rig.orders, order), history);
  expect(formatRuleNames(rules)).toBe('rule “large renewals” of policy version 1');
  expect(await approve(id, 'U0FAY')).toMatchObject({ refusal: { code: 'log_differs' } });
  expect(await rig.store.loadHistory(id, 'system')).toEqual(history);
});

describe('a stand-in', () => {
  beforeEach(() => rig.setPolicy(1, { ...FINANCE, needed: 2 }));

  test('approves for a member of the group, whose name is recorded', async () => {
    const order = await requestRenewal();
    await standIn('U0FAY', 'U0CAROL');
    await approve(order.id, 'U0FRED');
    await approve(order.id, 'U0CAROL');
    expect(await stateOf(order.id)).toBe('APPROVED');
    expect((await rig.store.loadHistory(order.id, 'system')).at(-1)).toMatchObject({
      progress: {
        requirements: [{ slots: [{ userId: 'U0FRED' }, { userId: 'U0CAROL', standsInFor: 'U0FAY' }] }],
      },
    });
  });

  test('doesn’t count at the last click after the end time or the absent person’s return', async () => {
    const order = await requestRenewal();
    await standIn('U0FAY', 'U0CAROL');
    await approve(order.id, 'U0CAROL');
    await rig.standIns.end('U0FAY', rig.now);
    await approve(order.id, 'U0FRED');
    expect(await stateOf(order.id)).toBe('PENDING');
    await approve(order.id, 'U0FAY');
    expect(await stateOf(order.id)).toBe('APPROVED');
    const other = await rig.requestAccepted('renew', { names: ['bar.rest'], period: 1 });
    await standIn('U0FAY', 'U0CAROL');
    rig.advanceClock(48 * HOUR_MS);
    expect(textOf(await approve(other.id, 'U0CAROL'))).toMatch(/You can’t approve this/);
  });

  test('settles, stops and retries like the absent person', async () => {
    rig.setPolicy(1, FINANCE);
    await standIn('U0FAY', 'U0CAROL');
    rig.setTeam({ approvers: ['U0BOB'] });
    const first = await requestRenewal();
    await approve(first.id, 'U0FRED');
    expect(textOf(await stopOrder(rig.orders, first.id, 'U0BOB'))).toMatch(/Only the requester or .* can\./);
    expect((await stopOrder(rig.orders, first.id, 'U0CAROL')).ok).toBe(true);
    rig.service.answer = async () => {
      throw newServiceError('unknown_outcome');
    };
    for (const [name, settler] of [
      ['bar.rest', 'U0CAROL'],
      ['chef.rest', 'U0BOB'],
    ] as const) {
      const order = await rig.requestAccepted('renew', { names: [name], period: 1 });
      await approve(order.id, 'U0FRED');
      await rig.runDue();
      expect(textOf(await resolveOrder(rig.orders, order.id, 'U0EVE', 'FAILED', undefined))).toMatch(
        /can’t mark this as done or failed/,
      );
      expect((await resolveOrder(rig.orders, order.id, settler, 'FAILED', undefined)).ok, settler).toBe(true);
      if (settler === 'U0BOB') continue;
      expect(await retryOrder(rig.orders, order.id, 'U0BOB')).toMatchObject({ kind: 'refused' });
      expect(await retryOrder(rig.orders, order.id, 'U0CAROL')).toMatchObject({ kind: 'accepted' });
    }
  });
});
