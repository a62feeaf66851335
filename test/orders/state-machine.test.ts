import { describe, expect, it } from 'vitest';
import type { PauseReason } from '../../src/orders/bulk/stored-bulk.ts';
import {
  buildCtid,
  computeOrderOutcome,
  getPeriodYears,
  type Hint,
  type ItemResult,
  type ItemState,
  isFinal,
  isOpen,
  isReviewOpen,
  ORDER_STATES,
  type Order,
  type OrderEvent,
  type OrderItem,
  type OrderState,
} from '../../src/orders/order.ts';
import { transition } from '../../src/orders/state-machine.ts';
import { STATES } from '../../src/slack/orders/order.view.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import {
  hoursLater,
  newBulk,
  newOrder,
  RESUMED_EVENT,
  renderResult,
  START,
  SUFFICIENT_APPROVAL,
} from './sample.ts';

function apply(order: Order, ...events: readonly OrderEvent[]): Order {
  return events.reduce((before, event) => {
    const result = transition(before, event, START);
    if (!result.ok) throw new Error(`${event.type} was refused: ${result.refusal.code}`);
    return result.order;
  }, order);
}

const claimed = { type: 'claimed', workerId: 'worker-1' } as const;
const sending = (n = 1, workerId = 'worker-1') => ({ type: 'sending', workerId, n }) as const;
const answered = (outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN', n = 1) =>
  ({ type: 'answered', n, outcome, result: { summary: { code: 'refused' } } }) as const;
const givenUp = (workerId: string, n = 1) => ({ ...answered('FAILED', n), abandonedBy: workerId }) as const;
const rescheduled = (workerId: string, n = 1) =>
  ({ type: 'retry_scheduled', workerId, n, notBefore: hoursLater(1), retryReason: 'busy' }) as const;
const approved = (by: string, ...validApprovers: string[]) =>
  ({ type: 'approved', by, ...SUFFICIENT_APPROVAL, validApprovers }) as const;
const emergencyApproved = (by: string) =>
  ({
    type: 'emergency_approved',
    agreedExcess: [],
    by,
    reason: 'the shop is down',
    approvers: ['U0BOB'],
    unreadableGroups: [],
    policyVersion: 1,
    exceeded: [],
  }) as const;
const settled = (outcome: 'SUCCEEDED' | 'FAILED') =>
  ({ type: 'resolved', by: 'U0BOB', outcome, reason: 'seen at the service' }) as const;
const released = { type: 'released' } as const;

/** An order in each state; `EXECUTING` before its request is sent, `SENT` after it. */
const ORDER_IN_STATE: Readonly<Record<OrderState | 'SENT', Order>> = (() => {
  const pending = newOrder(['cafe.rest'], { escalateAt: hoursLater(24) });
  const executing = apply(pending, approved('U0BOB', 'U0BOB'), claimed);
  const sent = apply(executing, sending());
  const expired = transition(pending, { type: 'expired' }, hoursLater(72));
  if (!expired.ok) throw new Error(refusalText(expired.refusal));
  return {
    DRAFT: newOrder(['cafe.rest'], { state: 'DRAFT', remindAt: undefined }),
    PENDING: pending,
    APPROVED: apply(pending, approved('U0BOB', 'U0BOB')),
    EXECUTING: executing,
    SENT: sent,
    SUCCEEDED: apply(sent, answered('SUCCEEDED')),
    FAILED: apply(sent, answered('FAILED')),
    UNKNOWN: apply(sent, answered('UNKNOWN')),
    DENIED: apply(pending, { type: 'denied', by: 'U0BOB', reason: undefined }),
    EXPIRED: expired.order,
    CANCELLED: apply(pending, { type: 'cancelled', by: 'U0ALICE' }),
  };
})();
const SITUATIONS = [...ORDER_STATES, 'SENT'] as const;

describe('the state machine', () => {
  /** The states that result from an event, which is refused in unlisted states. */
  const table: readonly (readonly [
    name: string,
    event: OrderEvent,
    actor: string,
    becomes: Readonly<Partial<Record<(typeof SITUATIONS)[number], OrderState>>>,
    at?: Date,
  ])[] = [
    [
      'confirmed with approval needed',
      { type: 'confirmed', needsApproval: true, expiresAt: hoursLater(72), remindAt: hoursLater(4) },
      'U0ALICE',
      { DRAFT: 'PENDING' },
    ],
    [
      'confirmed without approval',
      { type: 'confirmed', needsApproval: false, expiresAt: hoursLater(72), remindAt: hoursLater(4) },
      'U0ALICE',
      { DRAFT: 'APPROVED' },
    ],
    [
      'asked about',
      {
        type: 'asked',
        by: 'U0CAROL',
        question: 'Who pays?',
        expiresAt: hoursLater(80),
        remindAt: hoursLater(8),
        escalateAt: hoursLater(30),
      },
      'U0CAROL',
      { PENDING: 'PENDING' },
    ],
    [
      'asked about too late',
      {
        type: 'asked',
        by: 'U0CAROL',
        question: 'Who pays?',
        expiresAt: hoursLater(180),
        remindAt: hoursLater(80),
        escalateAt: hoursLater(90),
      },
      'U0CAROL',
      {},
      hoursLater(72),
    ],
    [
      'escalated',
      { type: 'escalated', to: [], toAdmins: true },
      'system',
      { PENDING: 'PENDING' },
      hoursLater(24),
    ],
    ['escalated too early', { type: 'escalated', to: [], toAdmins: true }, 'system', {}, hoursLater(23)],
    ['approved', approved('U0CAROL', 'U0CAROL'), 'U0CAROL', { PENDING: 'APPROVED' }],
    [
      'approved just in time',
      approved('U0CAROL', 'U0CAROL'),
      'U0CAROL',
      { PENDING: 'APPROVED' },
      new Date(hoursLater(72).getTime() - 1),
    ],
    ['approved at its expiry', approved('U0CAROL', 'U0CAROL'), 'U0CAROL', {}, hoursLater(72)],
    ['approved by a person who doesn’t count', approved('U0CAROL'), 'U0CAROL', { PENDING: 'PENDING' }],
    [
      'approved with break glass',
      emergencyApproved('U0ADA'),
      'U0ADA',
      { PENDING: 'APPROVED' },
      new Date(hoursLater(72).getTime() - 1),
    ],
    ['approved with break glass at its expiry', emergencyApproved('U0ADA'), 'U0ADA', {}, hoursLater(72)],
    ['approved with break glass by the requester', emergencyApproved('U0ALICE'), 'U0ALICE', {}],
    ['signed off without break glass', { type: 'signed_off', by: 'U0EVE' }, 'U0EVE', {}],
    ['denied', { type: 'denied', by: 'U0BOB', reason: 'too dear' }, 'U0BOB', { PENDING: 'DENIED' }],
    ['cancelled', { type: 'cancelled', by: 'U0ALICE' }, 'U0ALICE', { PENDING: 'CANCELLED' }],
    ['expired a moment early', { type: 'expired' }, 'system', {}, new Date(hoursLater(72).getTime() - 1)],
    ['expired on time', { type: 'expired' }, 'system', { PENDING: 'EXPIRED' }, hoursLater(72)],
    ['reminded a moment early', { type: 'reminded' }, 'system', {}, new Date(hoursLater(4).getTime() - 1)],
    ['reminded on time', { type: 'reminded' }, 'system', { PENDING: 'PENDING' }, hoursLater(4)],
    ['claimed', { ...claimed, workerId: 'worker-2' }, 'system', { APPROVED: 'EXECUTING' }],
    ['sent', sending(), 'system', { EXECUTING: 'EXECUTING' }],
    ['sent again', { ...sending(), retryReason: 'session_ended' }, 'system', { SENT: 'EXECUTING' }],
    [
      'sent again by another worker',
      { ...sending(1, 'worker-2'), retryReason: 'session_ended' },
      'system',
      {},
    ],
    ['sent by another worker', sending(1, 'worker-2'), 'system', {}],
    ['sent with a missing item', sending(2), 'system', {}],
    ['rescheduled', rescheduled('worker-1'), 'system', { EXECUTING: 'EXECUTING', SENT: 'EXECUTING' }],
    ['rescheduled by another worker', rescheduled('worker-2'), 'system', {}],
    ['answered as done', answered('SUCCEEDED'), 'system', { SENT: 'SUCCEEDED', UNKNOWN: 'SUCCEEDED' }],
    ['answered as refused', answered('FAILED'), 'system', { SENT: 'FAILED', UNKNOWN: 'FAILED' }],
    ['answered unreadably', answered('UNKNOWN'), 'system', { SENT: 'UNKNOWN' }],
    ['answered with a missing item', answered('SUCCEEDED', 2), 'system', {}],
    ['given up before sending', givenUp('worker-1'), 'system', { EXECUTING: 'FAILED', SENT: 'FAILED' }],
    ['given up by another worker', givenUp('worker-2'), 'system', {}],
    ['given up as done', { ...givenUp('worker-1'), outcome: 'SUCCEEDED' }, 'system', {}],
    [
      'stopped',
      { type: 'stopped', summary: { code: 'account_gone' } },
      'system',
      // Sent items aren't stopped.
      { PENDING: 'FAILED', APPROVED: 'FAILED', EXECUTING: 'FAILED' },
    ],
    [
      'invalidated',
      { type: 'invalidated', summary: { code: 'database_restored' } },
      'system',
      { APPROVED: 'UNKNOWN', EXECUTING: 'UNKNOWN', SENT: 'UNKNOWN' },
    ],
    [
      'invalidated with a lost request',
      {
        type: 'invalidated',
        summary: { code: 'database_restored' },
        lostRequest: {
          n: 1,
          sentAt: START,
          attempts: 1,
          outcome: 'SUCCEEDED',
          result: { summary: { code: 'done' } },
        },
      },
      'system',
      {
        DRAFT: 'UNKNOWN',
        PENDING: 'UNKNOWN',
        APPROVED: 'UNKNOWN',
        EXECUTING: 'UNKNOWN',
        SENT: 'UNKNOWN',
        UNKNOWN: 'UNKNOWN',
      },
    ],
    [
      'answered late',
      { ...answered('SUCCEEDED'), type: 'answered_late' },
      'system',
      {
        SUCCEEDED: 'SUCCEEDED',
        FAILED: 'FAILED',
        DENIED: 'DENIED',
        EXPIRED: 'EXPIRED',
        CANCELLED: 'CANCELLED',
      },
    ],
    ['released', released, 'system', { EXECUTING: 'APPROVED', SENT: 'UNKNOWN' }],
    ['settled as done', settled('SUCCEEDED'), 'U0BOB', { UNKNOWN: 'SUCCEEDED' }],
    ['settled as failed', settled('FAILED'), 'U0BOB', { UNKNOWN: 'FAILED' }],
    ['settled with another item', { ...settled('FAILED'), n: 2 }, 'U0BOB', {}],
  ];

  for (const [name, event, actor, becomes, at = START] of table) {
    it(`accepts “${name}” only in the right states`, () => {
      for (const situation of SITUATIONS) {
        const order = ORDER_IN_STATE[situation];
        const result = transition(order, event, at);
        expect(result.ok ? result.order.state : undefined, `${event.type} in ${situation}`).toBe(
          becomes[situation],
        );
        if (result.ok) expect(result.log[0]).toMatchObject({ kind: event.type, actor, at });
        else expect(refusalText(result.refusal), `${event.type} in ${situation}`).toMatch(/^[A-Z].*\.$/);
      }
    });
  }

  it('names the order’s state in a refusal', () => {
    for (const state of ['DENIED', 'EXPIRED', 'CANCELLED', 'SUCCEEDED', 'EXECUTING'] as const) {
      const result = transition(ORDER_IN_STATE[state], approved('U0BOB', 'U0BOB'), START);
      expect(result.ok ? undefined : refusalText(result.refusal)).toContain(STATES[state].shortText);
    }
  });

  it('accepts a reminder once', () => {
    const reminded = transition(ORDER_IN_STATE.PENDING, { type: 'reminded' }, hoursLater(4));
    if (!reminded.ok) throw new Error(refusalText(reminded.refusal));
    expect(transition(reminded.order, { type: 'reminded' }, hoursLater(5)).ok).toBe(false);
  });

  it('knows which states are open and which are final', () => {
    expect(ORDER_STATES.filter(isOpen)).toEqual(['PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN']);
    expect(ORDER_STATES.filter(isFinal)).toEqual(['SUCCEEDED', 'FAILED', 'DENIED', 'EXPIRED', 'CANCELLED']);
  });
});

describe('approvals', () => {
  const needsTwo = newOrder(['cafe.rest'], { approvalsRequired: 2 });

  it('send the order once enough of them are valid', () => {
    const one = apply(needsTwo, approved('U0BOB', 'U0BOB'));
    expect(one).toMatchObject({ state: 'PENDING', approvals: [{ userId: 'U0BOB', at: START }] });
    const two = apply(one, approved('U0CAROL', 'U0BOB', 'U0CAROL'));
    expect(two.state).toBe('APPROVED');
  });

  it('count once per person', () => {
    const one = apply(needsTwo, approved('U0BOB', 'U0BOB'));
    const repeated = transition(one, approved('U0BOB', 'U0BOB', 'U0CAROL'), START);
    expect(repeated.ok ? undefined : refusalText(repeated.refusal)).toMatch(/already/);
  });

  it('by people who are no longer approvers don’t count', () => {
    const two = apply(needsTwo, approved('U0BOB', 'U0BOB'), approved('U0CAROL', 'U0CAROL'));
    expect(two.state).toBe('PENDING');
    expect(apply(two, approved('U0ADA', 'U0ADA', 'U0CAROL')).state).toBe('APPROVED');
  });
});

function getFirstLogEntry(order: Order, event: OrderEvent) {
  const result = transition(order, event, START);
  if (!result.ok) throw new Error(`${event.type} was refused: ${result.refusal.code}`);
  return result.log[0];
}

/** Exceeds the monthly budget of all names. */
const excess = [{ tag: null, period: '2026-03', currency: 'EUR', leftMinor: 0, orderMinor: 5 }];

describe('the log of an approval', () => {
  const needsTwo = newOrder(['cafe.rest'], { approvalsRequired: 2 });
  const one = apply(needsTwo, approved('U0BOB', 'U0BOB'));

  it('counts the approvals, and has no unneeded fields', () => {
    const entry = getFirstLogEntry(one, {
      ...approved('U0CAROL', 'U0BOB', 'U0CAROL'),
      unreadableGroups: ['S0LEGAL'],
    });
    expect(entry).toMatchObject({ validCount: 2, lapsed: [], required: 2 });
    for (const field of ['unreadableGroups', 'overBudget', 'isImpactUnknown', 'waiting', 'price'])
      expect(entry).not.toHaveProperty(field);
  });

  it('names approvers who no longer count, groups that couldn’t be read, and exceeded budgets', () => {
    const budget = { exceeded: excess, admins: ['U0BOB'] };
    const event = { ...approved('U0CAROL', 'U0CAROL'), unreadableGroups: ['S0LEGAL'], isImpactUnknown: true };
    expect(getFirstLogEntry(one, event)).toMatchObject({
      ...{ validCount: 1, lapsed: ['U0BOB'], unreadableGroups: ['S0LEGAL'], isImpactUnknown: true },
    });
    expect(getFirstLogEntry(one, { ...event, budget })).toMatchObject({
      validCount: 1,
      lapsed: [],
      overBudget: excess,
    });
  });

  it('of an order over a budget needs an admin’s consent', () => {
    const approveWithAdmins = (admins: string[]) => ({
      ...approved('U0CAROL', 'U0BOB', 'U0CAROL'),
      budget: { exceeded: excess, admins },
    });
    expect(apply(one, approveWithAdmins([])).state).toBe('PENDING');
    expect(apply(one, approveWithAdmins(['U0CAROL'])).state).toBe('APPROVED');
  });
});

describe('an order’s record', () => {
  const sent = apply(newOrder(['a.rest', 'b.rest'], { state: 'APPROVED' }), claimed, sending(1));
  const summary = { code: 'stopped' } as const;

  it('of a stop names the person and the earlier order that was done', () => {
    const stop = { type: 'stopped', summary, by: 'U0BOB', doneByOrderId: 'o1' } as const;
    expect(getFirstLogEntry(sent, stop)).toMatchObject({
      actor: 'U0BOB',
      doneByOrderId: 'o1',
      names: ['b.rest'],
    });
    const [first, second] = apply(sent, stop).items;
    expect(first?.result).toMatchObject({ stoppedBy: 'U0BOB' });
    expect(second?.result).toEqual({ summary, stoppedBy: 'U0BOB', doneByOrderId: 'o1' });
    const systemStop = { type: 'stopped', summary } as const;
    expect(getFirstLogEntry(sent, systemStop)).toMatchObject({ actor: 'system' });
    expect(getFirstLogEntry(sent, systemStop)).not.toHaveProperty('doneByOrderId');
    expect(apply(sent, systemStop).items.map(({ result }) => result)).toEqual([undefined, { summary }]);
  });

  it('of a settlement has its evidence', () => {
    const proof = { code: 'registered' } as const;
    expect(getFirstLogEntry(ORDER_IN_STATE.UNKNOWN, { ...settled('SUCCEEDED'), proof })).toMatchObject({
      seen: proof,
    });
    expect(getFirstLogEntry(ORDER_IN_STATE.UNKNOWN, settled('SUCCEEDED'))).not.toHaveProperty('seen');
  });

  it('of a second response is added only if it differs from the first', () => {
    const answer = (outcome: 'FAILED' | 'UNKNOWN', result: Omit<ItemResult, 'summary'>) => ({
      ...answered(outcome),
      result: { summary: { code: 'refused' as const }, ...result },
    });
    const isAccepted = (first: Omit<ItemResult, 'summary'>, second: Omit<ItemResult, 'summary'>) =>
      transition(apply(ORDER_IN_STATE.SENT, answer('UNKNOWN', first)), answer('FAILED', second), START).ok;
    expect(isAccepted({ code: 'E1' }, { code: 'E1' })).toBe(false);
    expect(isAccepted({ code: 'E1' }, { code: 'E2' })).toBe(true);
    expect(isAccepted({}, {})).toBe(true);
  });

  it.each([
    ['provably wasn’t carried out', undefined, undefined, 'FAILED'],
    ['may have been carried out', undefined, { code: 'sent_again' } as const, 'UNKNOWN'],
    ['may have been carried out before', { code: 'sent_again' } as const, undefined, 'UNKNOWN'],
  ])('of a stopped request that %s has that outcome', (_, before, doubt, state) => {
    const rescheduledWith = (seen: typeof doubt) => ({
      ...rescheduled('worker-1'),
      notBefore: START,
      ...(seen && { doubt: seen }),
    });
    const stop = { type: 'stopped', summary, by: 'U0BOB' } as const;
    const order = apply(sent, rescheduledWith(before), sending(1), stop, rescheduledWith(doubt));
    expect(order.items[0]?.state).toBe(state);
  });

  it('of a renewed approval has its new time', () => {
    const three = newOrder(['cafe.rest'], { approvalsRequired: 3 });
    const approvedTwice = apply(three, approved('U0BOB', 'U0BOB'), approved('U0CAROL', 'U0BOB', 'U0CAROL'));
    const renewal = { ...approved('U0BOB', 'U0BOB', 'U0CAROL'), isReplacement: true };
    const renewed = transition(approvedTwice, renewal, hoursLater(1));
    expect(renewed.ok && renewed.order.approvals).toMatchObject([
      { userId: 'U0BOB', at: hoursLater(1) },
      { userId: 'U0CAROL', at: START },
    ]);
  });

  it('of new nameservers is added only if their delegation changes', () => {
    const delegationSeen = (delegation: 'answering' | 'not_answering') =>
      ({ type: 'delegation_seen', n: 1, delegation, hosts: [], hours: 1 }) as const;
    const answeringOrder = apply(ORDER_IN_STATE.SUCCEEDED, delegationSeen('answering'));
    expect(transition(answeringOrder, delegationSeen('answering'), START).ok).toBe(false);
    expect(transition(answeringOrder, delegationSeen('not_answering'), START).ok).toBe(true);
  });
});

describe('a second approval by the same person', () => {
  const needsTwo = newOrder(['cafe.rest'], { approvalsRequired: 2 });
  const one = apply(needsTwo, approved('U0BOB', 'U0BOB'));
  const approveLater = (order: Order, changes: Partial<OrderEvent & { type: 'approved' }>) =>
    transition(order, { ...approved('U0BOB', 'U0BOB'), ...changes }, hoursLater(1));

  it('counts, with the time of the first, if an admin agrees to a new excess', () => {
    const budget = { exceeded: excess, admins: ['U0BOB'] };
    const agreed = approveLater(one, { budget, agreedExcess: excess });
    if (!agreed.ok) throw new Error(agreed.refusal.code);
    expect(agreed.order).toMatchObject({
      state: 'PENDING',
      approvals: [{ at: START, agreedExcess: excess }],
    });
    expect(approveLater(agreed.order, { budget, agreedExcess: excess })).toMatchObject({
      refusal: { code: 'already_approved' },
    });
    expect(
      approveLater(one, { budget: { exceeded: excess, admins: ['U0ADA'] } }),
      'with another admin’s consent',
    ).toMatchObject({
      refusal: { code: 'already_approved' },
    });
  });
});

it('the log of a sent request has its mandate and the amount', () => {
  const amount = { currency: 'EUR', minor: 2_000 };
  const event = { ...sending(), amount } as const;
  const mandated: Order = { ...ORDER_IN_STATE.EXECUTING, mandate: { id: 'm1' } };
  expect(getFirstLogEntry(mandated, event)).toMatchObject({ mandate: 'm1', amount });
  expect(getFirstLogEntry(ORDER_IN_STATE.EXECUTING, event)).not.toHaveProperty('mandate');
  expect(getFirstLogEntry(ORDER_IN_STATE.EXECUTING, sending())).not.toHaveProperty('amount');
});

it('a request refused by a busy service isn’t sent again after a stop', () => {
  const order = newOrder(['a.rest', 'b.rest']);
  const stop = { type: 'stopped', summary: { code: 'stopped' }, by: 'U0ALICE' } as const;
  const stopped = apply(order, approved('U0BOB', 'U0BOB'), claimed, sending(), stop);
  expect(apply(stopped, rescheduled('worker-1')).items).toMatchObject([
    { state: 'FAILED' },
    { state: 'FAILED' },
  ]);
  const inDoubt = { ...rescheduled('worker-1'), doubt: { code: 'refused' } } as const;
  expect(apply(stopped, inDoubt).items).toMatchObject([{ state: 'UNKNOWN' }, { state: 'FAILED' }]);
});

it('the registry can confirm a success only once', () => {
  const registryConfirmation = { type: 'confirmed_by_registry', n: 1 } as const;
  const confirmed = apply(ORDER_IN_STATE.SUCCEEDED, registryConfirmation);
  expect(confirmed.items[0]?.result?.confirmedByRegistry).toBe(true);
  for (const order of [confirmed, ORDER_IN_STATE.FAILED])
    expect(transition(order, registryConfirmation, START).ok).toBe(false);
});

describe('a bulk order', () => {
  const reason: PauseReason = { code: 'refusals', names: ['a.rest'] };
  const pausing = { type: 'paused', reason, expiresAt: hoursLater(24) } as const;
  const bulk = newOrder(['a.rest', 'b.rest'], { state: 'APPROVED', bulk: newBulk(1) });
  const paused = apply(bulk, pausing);
  const resumed = { ...RESUMED_EVENT, by: 'U0ALICE' };

  it('can be paused only by its worker, or without one, while nothing is being sent', () => {
    const executing = apply(bulk, claimed);
    expect(paused).toMatchObject({ state: 'APPROVED', bulk: { pause: reason }, expiresAt: hoursLater(24) });
    expect(apply(executing, { ...pausing, workerId: 'worker-1' }).claim).toBeUndefined();
    const refused: [Order, OrderEvent][] = [
      [executing, pausing],
      [executing, { ...pausing, workerId: 'worker-2' }],
      [bulk, { ...pausing, workerId: 'worker-1' }],
      [apply(executing, sending(1)), { ...pausing, workerId: 'worker-1' }],
      [paused, pausing],
      [{ ...bulk, items: bulk.items.map((item) => ({ ...item, state: 'FAILED' as const })) }, pausing],
    ];
    for (const [order, event] of refused) expect(transition(order, event, START).ok).toBe(false);
  });

  it('can be resumed only within its budgets or with an admin’s consent', () => {
    const resumeWithBudget = (admins: string[], exceeded: readonly (typeof excess)[number][] = excess) => ({
      ...resumed,
      budget: { exceeded, admins },
    });
    expect(transition(paused, resumeWithBudget([]), START)).toMatchObject({
      refusal: { code: 'over_budget' },
    });
    expect(apply(paused, resumeWithBudget(['U0ADA'])).approvals).toEqual([]);
    expect(apply(paused, resumeWithBudget(['U0ALICE'])).approvals).toMatchObject([{ userId: 'U0ALICE' }]);
    expect(apply(paused, resumeWithBudget([], [])).bulk?.pause).toBeUndefined();
    expect(apply(paused, RESUMED_EVENT).approvals).toMatchObject([{ userId: 'U0BOB' }]);
  });
});

describe('a late response to an ended item', () => {
  const order = newOrder(['cafe.rest'], { state: 'FAILED', closedAt: START });
  const summary = { code: 'stopped' } as const;
  const settledByBob = { summary, resolvedBy: 'U0BOB' };
  it.each<[what: string, Partial<OrderItem>, 'SUCCEEDED' | 'FAILED' | 'UNKNOWN', ItemResult | undefined]>([
    ['is saved', { sentAt: START, result: { summary } }, 'SUCCEEDED', { summary, lateOutcome: 'SUCCEEDED' }],
    [
      'may be unknown',
      { sentAt: START, result: { summary } },
      'UNKNOWN',
      { summary, lateOutcome: 'UNKNOWN' },
    ],
    [
      'is saved after a settlement',
      { sentAt: START, result: settledByBob },
      'FAILED',
      { ...settledByBob, lateOutcome: 'FAILED' },
    ],
    ['is refused if both are unknown', { sentAt: START, result: settledByBob }, 'UNKNOWN', undefined],
    [
      'may belong to a lost request',
      { result: { summary } },
      'FAILED',
      { summary: { code: 'sending_lost' }, lateOutcome: 'FAILED' },
    ],
    [
      'may come without a summary',
      { sentAt: START },
      'FAILED',
      { summary: { code: 'sending_lost' }, lateOutcome: 'FAILED' },
    ],
    [
      'keeps the summary of a settlement',
      { result: settledByBob },
      'SUCCEEDED',
      { ...settledByBob, lateOutcome: 'SUCCEEDED' },
    ],
    [
      'doesn’t replace a success',
      { sentAt: START, result: { summary, lateOutcome: 'SUCCEEDED' } },
      'FAILED',
      undefined,
    ],
    [
      'is refused if it is unknown again',
      { sentAt: START, result: { summary, lateOutcome: 'UNKNOWN' } },
      'UNKNOWN',
      undefined,
    ],
    [
      'may resolve a doubt',
      { sentAt: START, result: { summary, lateOutcome: 'UNKNOWN' } },
      'FAILED',
      { summary, lateOutcome: 'FAILED' },
    ],
    [
      'may raise a doubt',
      { sentAt: START, result: { summary, lateOutcome: 'FAILED' } },
      'UNKNOWN',
      { summary, lateOutcome: 'UNKNOWN' },
    ],
  ])('%s', (_what, changes, outcome, expected) => {
    const items = order.items.map((item) => ({ ...item, state: 'FAILED' as const, ...changes }));
    const result = transition(
      { ...order, items },
      { ...answered(outcome), type: 'answered_late', result: { summary } },
      START,
    );
    expect(result.ok ? result.order.items[0]?.result : undefined).toEqual(expected);
  });
});

describe('a mandate in force', () => {
  const mandate = newOrder(['a.rest'], {
    task: 'mandate',
    state: 'SUCCEEDED',
    remindAt: hoursLater(0),
    expiresAt: hoursLater(9),
  });
  const isApplied = (order: Order, event: OrderEvent) => transition(order, event, START).ok;

  it('is reported as ending when its reminder is due, and only once', () => {
    const ending = { type: 'mandate_ending' } as const;
    expect(apply(mandate, ending).remindAt).toBeUndefined();
    expect(getFirstLogEntry(mandate, ending)).toMatchObject({ until: hoursLater(9) });
    for (const changes of [
      { remindAt: hoursLater(1) },
      { remindAt: undefined },
      { expiresAt: undefined },
      { task: 'renew' as const },
    ])
      expect(isApplied({ ...mandate, ...changes }, ending)).toBe(false);
  });

  it('ends once, by a person or at its expiry', () => {
    const endEvent = { type: 'mandate_ended', cause: 'person', by: 'U0BOB' } as const;
    const endedMandate = apply(mandate, endEvent);
    expect(endedMandate).toMatchObject({
      mandateEnd: { at: START, cause: 'person', by: 'U0BOB' },
      expiresAt: undefined,
    });
    expect(getFirstLogEntry(mandate, endEvent)).toMatchObject({ actor: 'U0BOB', by: 'U0BOB' });
    expect(getFirstLogEntry(mandate, { ...endEvent, cause: 'expired' })).toMatchObject({
      actor: 'system',
      by: 'U0BOB',
    });
    const expiredEntry = getFirstLogEntry(mandate, { type: 'mandate_ended', cause: 'expired' });
    expect(expiredEntry).toMatchObject({ actor: 'system', cause: 'expired' });
    expect(expiredEntry).not.toHaveProperty('by');
    expect(isApplied(endedMandate, endEvent)).toBe(false);
    expect(
      isApplied({ ...endedMandate, remindAt: START, expiresAt: START }, { type: 'mandate_ending' }),
    ).toBe(false);
    expect(isApplied({ ...mandate, task: 'renew' as const }, endEvent)).toBe(false);
  });

  it('ends when its rows differ from the log, unlike other ended orders', () => {
    const contradiction = {
      type: 'contradicted',
      difference: 'ended',
      version: 1,
      loggedOutcomes: new Map(),
    } as const;
    expect(apply(mandate, contradiction)).toMatchObject({
      mandateEnd: { cause: 'log_differs' },
      expiresAt: undefined,
    });
    for (const changes of [{ task: 'renew' as const }, { state: 'FAILED' as const }])
      expect(apply({ ...mandate, ...changes }, contradiction).mandateEnd).toBeUndefined();
  });
});

describe('a hint from public records', () => {
  const unknown = ORDER_IN_STATE.UNKNOWN;
  const hint: Hint = { source: 'rdap', seen: { code: 'not_registered' }, seenAt: START.toISOString() };
  const otherHint = { ...hint, source: 'dns' };
  const hinted = (given: Hint) => ({ type: 'hinted', n: 1, hint: given }) as const;
  const isNew = (order: Order, event: OrderEvent) => transition(order, event, START).ok;

  it('about an unknown outcome is recorded once', () => {
    const hintedOrder = apply(unknown, hinted(hint));
    expect([isNew(hintedOrder, hinted(hint)), isNew(hintedOrder, hinted(otherHint))]).toEqual([false, true]);
    expect(isNew(hintedOrder, hinted({ ...hint, seen: { code: 'statuses_seen', statuses: [] } }))).toBe(true);
    expect(isNew(ORDER_IN_STATE.SUCCEEDED, hinted(hint))).toBe(false);
  });
});

describe('an emergency approval', () => {
  const needsTwo = newOrder(['cafe.rest'], { approvalsRequired: 2, earlierRequesters: ['U0FIRST'] });
  const findRefusalCode = (order: Order, event: OrderEvent) => {
    const result = transition(order, event, START);
    return result.ok ? undefined : result.refusal.code;
  };
  const signedOff = (by: string) => ({ type: 'signed_off', by }) as const;

  it('sends the order at once, counts as an approval once, and needs a sign-off', () => {
    const order = apply(needsTwo, approved('U0ADA', 'U0ADA'), emergencyApproved('U0ADA'));
    expect(order).toMatchObject({
      state: 'APPROVED',
      approvals: [{ userId: 'U0ADA' }],
      emergencyApprovedBy: 'U0ADA',
      expiresAt: undefined,
      remindAt: undefined,
    });
    expect(isReviewOpen(order)).toBe(true);
    expect(isReviewOpen(needsTwo)).toBe(false);
  });

  it('can’t be given by the requester or an earlier one', () => {
    expect(findRefusalCode(needsTwo, emergencyApproved('U0ALICE'))).toBe('emergency_on_own_order');
    expect(findRefusalCode(needsTwo, emergencyApproved('U0FIRST'))).toBe('emergency_on_own_order');
  });

  it('is signed off once, in any state, by a person who neither gave it nor requested the order', () => {
    const approvedOrder = apply(needsTwo, emergencyApproved('U0ADA'));
    const sent = apply(approvedOrder, claimed, sending());
    for (const order of [
      approvedOrder,
      apply(approvedOrder, claimed),
      sent,
      ...(['SUCCEEDED', 'FAILED', 'UNKNOWN'] as const).map((outcome) => apply(sent, answered(outcome))),
      apply(approvedOrder, { type: 'stopped', summary: { code: 'stopped' }, by: 'U0ALICE' }),
    ]) {
      expect(isReviewOpen(order), order.state).toBe(true);
      expect(findRefusalCode(order, signedOff('U0ADA'))).toBe('own_emergency_approval');
      expect(findRefusalCode(order, signedOff('U0ALICE'))).toBe('own_order_to_sign_off');
      expect(findRefusalCode(order, signedOff('U0FIRST'))).toBe('own_order_to_sign_off');
      const signedOffOrder = apply(order, signedOff('U0EVE'));
      expect(signedOffOrder).toEqual({ ...order, signedOffBy: 'U0EVE', version: order.version + 1 });
      expect(isReviewOpen(signedOffOrder)).toBe(false);
      expect(findRefusalCode(signedOffOrder, signedOff('U0DORA'))).toBe('already_signed_off');
    }
    expect(findRefusalCode(needsTwo, signedOff('U0EVE'))).toBe('nothing_to_sign_off');
  });
});

describe('the items of an order', () => {
  it.each<[items: readonly ItemState[], order: OrderState | undefined]>([
    [['WAITING'], undefined],
    [['SENT'], undefined],
    [['SUCCEEDED'], 'SUCCEEDED'],
    [['FAILED'], 'FAILED'],
    [['UNKNOWN'], 'UNKNOWN'],
    [['SUCCEEDED', 'SUCCEEDED'], 'SUCCEEDED'],
    [['SUCCEEDED', 'FAILED'], 'FAILED'],
    [['FAILED', 'UNKNOWN', 'SUCCEEDED'], 'UNKNOWN'],
    [['UNKNOWN', 'WAITING'], undefined],
    [['FAILED', 'SENT'], undefined],
  ])('(%j) give it the outcome %s', (states, expected) => {
    const order = newOrder(states.map((_, index) => `name${index}.rest`));
    const items = order.items.map((item, index) => ({ ...item, state: states[index] ?? 'WAITING' }));
    expect(computeOrderOutcome(items)).toBe(expected);
  });

  it('have the order’s id as ctid when alone, and their number otherwise', () => {
    expect(buildCtid('7k2m', 1, 1)).toBe('7k2m');
    expect([1, 2, 12].map((n) => buildCtid('7k2m', n, 12))).toEqual(['7k2m.1', '7k2m.2', '7k2m.12']);
  });

  const threeNames = newOrder(['a.rest', 'b.rest', 'c.rest'], { state: 'APPROVED' });

  it('that were sent are unknown when the claim is released, and the others can continue', () => {
    const order = apply(threeNames, claimed, sending(1), sending(2), answered('SUCCEEDED', 2), released);
    expect(order.items.map(({ state }) => state)).toEqual(['UNKNOWN', 'SUCCEEDED', 'WAITING']);
    expect(renderResult(order.items[0])).toMatch(/may have reached the service/);
    expect(order).toMatchObject({ state: 'APPROVED', claim: undefined, closedAt: undefined });
  });

  it('that are waiting fail when the order is stopped, but sent ones still get their response', () => {
    const stopped = apply(threeNames, claimed, sending(1), {
      type: 'stopped',
      summary: { code: 'account_gone' },
    });
    expect(stopped.state).toBe('EXECUTING');
    expect(stopped.items.map(({ state }) => state)).toEqual(['SENT', 'FAILED', 'FAILED']);
    expect(apply(stopped, answered('SUCCEEDED', 1)).state, 'state with two of three failed').toBe('FAILED');
  });

  it('that haven’t ended are all unknown when the database can’t be trusted', () => {
    const invalidated = apply(threeNames, claimed, sending(1), sending(2), answered('FAILED', 2), {
      type: 'invalidated',
      summary: { code: 'database_restored' },
    });
    expect(invalidated.items.map(({ state }) => state)).toEqual(['UNKNOWN', 'FAILED', 'UNKNOWN']);
    expect(invalidated).toMatchObject({ state: 'UNKNOWN', claim: undefined, closedAt: undefined });
    expect(transition(invalidated, sending(3), START).ok, 'a later send').toBe(false);
    expect(apply(invalidated, answered('SUCCEEDED', 1)).items[0]?.state, 'late response').toBe('SUCCEEDED');
  });

  it('are settled together or one by one, and the order is settled once none is unknown', () => {
    const unknown = apply(threeNames, claimed, sending(1), sending(2), sending(3), released);
    expect(unknown.state).toBe('UNKNOWN');
    const oneSettled = apply(unknown, { ...settled('SUCCEEDED'), n: 2 });
    expect(oneSettled).toMatchObject({ state: 'UNKNOWN', closedAt: undefined });
    expect(oneSettled.items.map(({ state }) => state)).toEqual(['UNKNOWN', 'SUCCEEDED', 'UNKNOWN']);
    const allSettled = apply(oneSettled, settled('FAILED'));
    expect(allSettled).toMatchObject({ state: 'FAILED', closedAt: START });
    expect(allSettled.items.map(({ state }) => state)).toEqual(['FAILED', 'SUCCEEDED', 'FAILED']);
    expect(allSettled.items[0]?.result).toMatchObject({
      resolvedBy: 'U0BOB',
      summary: { code: 'settled', outcome: 'FAILED' },
    });
  });

  it('that are unknown accept a late response, even while others continue', () => {
    const reclaimed = apply(threeNames, claimed, sending(1), released, { ...claimed, workerId: 'worker-2' });
    const answeredLate = apply(reclaimed, answered('SUCCEEDED', 1));
    expect(answeredLate.items.map(({ state }) => state)).toEqual(['SUCCEEDED', 'WAITING', 'WAITING']);
    expect(answeredLate.state).toBe('EXECUTING');
  });

  it('aren’t sent again if they were stopped while the session ended', () => {
    const two = apply(newOrder(['cafe.rest', 'tea.rest']), approved('U0BOB', 'U0BOB'), claimed, sending(1));
    const stopped = apply(two, { type: 'stopped', by: 'U0ALICE', summary: { code: 'account_gone' } });
    expect(stopped.items[0]?.state, 'while its request is running').toBe('SENT');
    const resend = transition(stopped, { ...sending(1), retryReason: 'session_ended' }, START);
    expect(resend.ok).toBe(false);
  });

  it('are sent again only with proof, and each attempt is counted', () => {
    const sent = apply(threeNames, claimed, sending(1));
    expect(transition(sent, sending(1), START).ok, 'a second send').toBe(false);
    const resent = apply(sent, { ...sending(1), retryReason: 'session_ended' });
    expect(resent.items[0]).toMatchObject({ state: 'SENT', attempts: 2 });
    const stopped = apply(sent, { type: 'stopped', summary: { code: 'account_gone' } });
    const second = { ...sending(1), retryReason: 'session_ended' } as const;
    expect(transition(stopped, second, START).ok, 'a second send after the stop').toBe(false);
    const rescheduledOrder = apply(sent, rescheduled('worker-1', 1));
    expect(rescheduledOrder.items[0]).toMatchObject({
      state: 'WAITING',
      sentAt: undefined,
      notBefore: hoursLater(1),
      attempts: 1,
    });
    expect(apply(rescheduledOrder, sending(1)).items[0]).toMatchObject({ state: 'SENT', attempts: 2 });
    expect(apply(threeNames, claimed, rescheduled('worker-1', 2)).items[1]?.attempts, 'failed unsent').toBe(
      1,
    );
  });
});

it.each([
  [{ period: 2 }, 2],
  [{ name: 'cafe.rest' }, undefined],
  [{ period: '2' }, undefined],
  [{ period: 0 }, undefined],
  [{ period: 1.5 }, undefined],
  [null, undefined],
])('the period of %j is %j', (input, years) => {
  expect(getPeriodYears(input)).toBe(years);
});
