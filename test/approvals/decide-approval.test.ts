import { describe, expect, test } from 'vitest';
import { dropStaleApproval } from '../../src/approvals/count-approvals.ts';
import {
  decideApproval,
  decideEmergencyApproval,
  decideResumption,
} from '../../src/approvals/decide-approval.ts';
import {
  computeMinimumApprovals,
  listCurrentDecidingRequirements,
  listDecidingRequirements,
} from '../../src/approvals/requirements.ts';
import type { LoggedSignature } from '../../src/approvals/signing/approval.ts';
import { type BudgetUse, findExcessConsent } from '../../src/orders/order-budget.ts';
import { hoursLater, newRequirements } from '../orders/sample.ts';
import { newTeamSettings } from '../support/settings.ts';
import {
  type ApprovalChanges,
  CLICKED_AT,
  changeEachRequirement,
  EXCESS,
  NOW,
  newApprovalBy,
  newApprovalContext,
  newRuleRequirements,
  PAUSED_BULK_ORDER,
} from './decision-sample.ts';

/* Approval decisions without a database: the context has everything they need. */

const refused = (code: string, more = {}) => ({ refusal: { code, ...more } });
const event = (type: string, more = {}) => ({ event: { type, ...more } });

const FINANCE = {
  requirements: newRuleRequirements('U0BOB'),
  decidedBy: newRuleRequirements('U0BOB').list.map(({ rule }) => rule),
};
const TWO = newRequirements(['cafe.rest'], 2);
const TWO_APPROVERS = changeEachRequirement(TWO, { approvers: ['U0BOB', 'U0CAROL'] });
const SIGNED = changeEachRequirement(newRequirements(['cafe.rest']), { signed: true });
const OVER_BUDGET = { budgets: { price: undefined, exceeded: EXCESS, reservation: undefined } };
const ADA = { userId: 'U0ADA' };
/** Not verified in these tests. */
const SIGNATURE: LoggedSignature = {
  signature: {
    challenge: { approver: 'U0BOB', decision: 'approve', nonce: '', policy: 0, statement: '' },
    key: 'SHA256:',
    publicKey: '',
    credential: '',
    authenticatorData: '',
    clientDataJSON: '',
    signature: '',
  },
  binding: {},
  chain: [],
};
const openIncident = (...informed: readonly (readonly [string, Date])[]) => ({
  incidents: { incidents: [{ id: 'i1', changeCount: 1 }], informedSince: new Map(informed) },
});
const RISKY = { order: { task: 'authcode', input: { name: 'cafe.rest' } } } as const;
const preconditions = (changes: object) => ({
  preconditions: { ...requireValue(newApprovalContext().preconditions), ...changes },
});
const withUnknownPerson = (userId: string) => {
  const { people } = newApprovalContext();
  const membership = new Map([...people.people.membership].filter(([id]) => id !== userId));
  return {
    people: { ...people, people: { ...people.people, membership }, unconfirmedIds: new Set([userId]) },
  };
};
const bobAway = (until = hoursLater(100)) => {
  const { people } = newApprovalContext();
  const standIns = new Map([['U0BOB', { userId: 'U0CAROL', until }]]);
  return { people: { ...people, people: { ...people.people, standIns } } };
};

function requireValue<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('missing in the sample');
  return value;
}

describe('an approval', () => {
  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    [
      'by an approver counts',
      {},
      event('approved', { by: 'U0BOB', validApprovers: ['U0BOB'], isReplacement: false }),
    ],
    ['of a paused order is refused', { order: PAUSED_BULK_ORDER }, refused('wrong_state')],
    ['by another person is refused', { click: { userId: 'U0NINA' } }, refused('not_an_approver')],
    ['needs another person', { click: { userId: 'U0ALICE' } }, refused('own_order', { isApprover: false })],
    [
      'by the requester counts if that is allowed',
      {
        click: { userId: 'U0ALICE' },
        order: {
          requirements: changeEachRequirement(newRequirements(['cafe.rest']), { approvers: ['U0ALICE'] }),
        },
        requirements: { settings: newTeamSettings({ allowSelfApproval: true }) },
      },
      event('approved', { by: 'U0ALICE' }),
    ],
    ['needs a person that Slack returns', withUnknownPerson('U0BOB'), refused('own_membership_unknown')],
    [
      'is refused if only the row names its rule',
      { order: { requirements: newRuleRequirements('U0BOB') } },
      refused('log_differs'),
    ],
    [
      'counts if a current rule names the approver',
      { order: { requirements: newRuleRequirements('U0BOB') }, requirements: FINANCE },
      event('approved'),
    ],
    [
      'is refused if a rule now refuses the order',
      {
        order: { requirements: newRequirements(['cafe.rest']) },
        requirements: {
          requirements: { ...newRequirements(['cafe.rest']), outcome: 'refuse', list: [], refusedBy: [] },
        },
      },
      refused('policy_refuses'),
    ],
    [
      'is refused if Slack doesn’t return the earlier approver',
      {
        order: { requirements: TWO_APPROVERS, approvals: [newApprovalBy('U0CAROL')] },
        ...withUnknownPerson('U0CAROL'),
      },
      refused('membership_unknown', { userId: 'U0CAROL' }),
    ],
    [
      'counts as the first of two',
      { order: { requirements: TWO_APPROVERS } },
      event('approved', { progress: { isApproved: false } }),
    ],
    [
      'counts as the second of two',
      { order: { requirements: TWO_APPROVERS, approvals: [newApprovalBy('U0CAROL')] } },
      event('approved', { progress: { isApproved: true } }),
    ],
  ])('%s', (_, given, decision) => {
    expect(decideApproval(newApprovalContext(withDemand(given)))).toMatchObject(decision);
  });

  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    ['counts while the approver is away', { ...bobAway(), click: { userId: 'U0CAROL' } }, event('approved')],
    [
      'doesn’t count afterwards',
      { ...bobAway(NOW), click: { userId: 'U0CAROL' } },
      refused('not_an_approver'),
    ],
    [
      'is refused once the approver has approved',
      { ...bobAway(), click: { userId: 'U0CAROL' }, order: { approvals: [newApprovalBy('U0BOB')] } },
      refused('stand_in_not_needed'),
    ],
  ])('by a stand-in %s', (_, given, decision) => {
    expect(decideApproval(newApprovalContext(given))).toMatchObject(decision);
  });

  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    ['counts, but also needs an admin', {}, event('approved', { budget: { exceeded: EXCESS, admins: [] } })],
    [
      'records an admin’s consent',
      { click: { ...ADA, agreedExcess: EXCESS }, admins: new Set(['U0ADA']) },
      event('approved', { budget: { exceeded: EXCESS, admins: ['U0ADA'] } }),
    ],
    [
      'is refused if the admin wasn’t shown the excess',
      { click: ADA, admins: new Set(['U0ADA']) },
      refused('excess_not_shown', { exceeded: EXCESS }),
    ],
    [
      'is refused if the admin requested the order',
      { click: { userId: 'U0ALICE', agreedExcess: EXCESS }, admins: new Set(['U0ALICE']) },
      refused('own_order'),
    ],
  ])('of an order that exceeds a budget %s', (_, given, decision) => {
    expect(decideApproval(newApprovalContext({ ...OVER_BUDGET, ...given }))).toMatchObject(decision);
  });

  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    ['is refused for a click', {}, refused('signature_needed')],
    [
      'counts with a valid signature',
      { click: { signed: SIGNATURE }, isSigned: true },
      event('approved', { validApprovers: ['U0BOB'] }),
    ],
    ['fails with an invalid signature', { click: { signed: SIGNATURE } }, refused('stand_in_not_needed')],
    [
      'counts again after the earlier signature became invalid',
      {
        click: { signed: SIGNATURE },
        isSigned: true,
        order: { requirements: SIGNED, approvals: [newApprovalBy('U0BOB', { signed: SIGNATURE })] },
      },
      event('approved', { isReplacement: true }),
    ],
  ])('that must be signed %s', (_, given, decision) => {
    expect(
      decideApproval(newApprovalContext(withDemand({ order: { requirements: SIGNED }, ...given }))),
    ).toMatchObject(decision);
  });

  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    [
      'a changed statement',
      { order: { statementHash: 'f'.repeat(64) } },
      event('stopped', { summary: { code: 'statement_changed' } }),
    ],
    [
      'an unlinked account',
      preconditions({ isAccountLinked: false }),
      event('stopped', { summary: { code: 'account_gone' } }),
    ],
    [
      'a requester who left',
      preconditions({ members: { kind: 'left', userId: 'U0ALICE', summary: { code: 'requester_left' } } }),
      event('stopped', { summary: { code: 'requester_left' } }),
    ],
    [
      'a requester that Slack doesn’t return',
      preconditions({ members: { kind: 'unknown', userId: 'U0ALICE', summary: { code: 'requester_left' } } }),
      refused('membership_unknown', { userId: 'U0ALICE' }),
    ],
    [
      'an earlier order that may still succeed',
      preconditions({ earlierFindings: [{ orderId: 'o1', name: 'cafe.rest', outcome: 'open' }] }),
      refused('earlier_order'),
    ],
    [
      'an earlier order that succeeded',
      preconditions({ earlierFindings: [{ orderId: 'o1', name: 'cafe.rest', outcome: 'done' }] }),
      event('stopped', { itemNumbers: [1], doneByOrderId: 'o1' }),
    ],
  ])('of an order with %s is refused or stops it', (_, given, decision) => {
    expect(decideApproval(newApprovalContext(given))).toMatchObject(decision);
    const stranger = newApprovalContext({ ...given, click: { userId: 'U0NINA' } });
    expect(decideApproval(stranger), 'result for a person who can’t approve').toMatchObject(
      refused('not_an_approver'),
    );
  });

  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    ['not looked up, needs a lookup', {}, { needs: 'impact' }],
    [
      'not looked up, is refused first if it can’t count',
      { click: { userId: 'U0NINA' } },
      refused('not_an_approver'),
    ],
    ['changed, is refused', { click: { impact: 'changed' } }, refused('impact_changed')],
    ['unknown, counts', { click: { impact: 'unknown' } }, event('approved', { isImpactUnknown: true })],
    ['as shown, counts', { click: { impact: 'known' } }, event('approved', { isImpactUnknown: false })],
    [
      'as shown, is refused while an incident is open',
      { click: { impact: 'known' }, ...openIncident() },
      refused('incident_open'),
    ],
    [
      'as shown, drops an earlier approval from before a warning',
      {
        click: { impact: 'known' },
        warnedAt: hoursLater(0.7),
        order: { ...RISKY.order, requirements: TWO_APPROVERS, approvals: [newApprovalBy('U0CAROL')] },
      },
      event('approved', { validApprovers: ['U0BOB'], progress: { isApproved: false } }),
    ],
    [
      'as shown, can be given again after a warning',
      {
        click: { impact: 'known' },
        warnedAt: hoursLater(0.7),
        order: { ...RISKY.order, approvals: [newApprovalBy('U0BOB')] },
      },
      event('approved', { isReplacement: true }),
    ],
  ])('of a risky task, with its impact %s', (_, given, decision) => {
    expect(decideApproval(newApprovalContext(withDemand({ ...RISKY, ...given })))).toMatchObject(decision);
  });

  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    [
      'is refused until the incident is shown',
      openIncident(),
      refused('incident_open', { incidents: [{ id: 'i1', changeCount: 1 }] }),
    ],
    ['counts once the incident was shown', openIncident(['U0BOB', CLICKED_AT]), event('approved')],
    ['is refused if clicked before it was shown', openIncident(['U0BOB', NOW]), refused('incident_open')],
    [
      'doesn’t show the incident to a person who can’t approve',
      { ...openIncident(), click: { userId: 'U0NINA' } },
      refused('not_an_approver'),
    ],
    [
      'drops approvals given before the incident was shown',
      {
        ...openIncident(['U0BOB', CLICKED_AT], ['U0CAROL', CLICKED_AT]),
        order: { requirements: TWO_APPROVERS, approvals: [newApprovalBy('U0CAROL')] },
      },
      event('approved', { validApprovers: ['U0BOB'] }),
    ],
  ])('while an incident is open %s', (_, given, decision) => {
    expect(decideApproval(newApprovalContext(withDemand(given)))).toMatchObject(decision);
  });
});

test.each<[what: string, given: ApprovalChanges, isKept: boolean]>([
  ['stays if it is unsigned and the click is too', { requirements: { requirements: SIGNED } }, true],
  [
    'is dropped if it is unsigned and now signed',
    { requirements: { requirements: SIGNED }, click: { signed: SIGNATURE } },
    false,
  ],
  ['stays if the order needs no signatures', { click: { signed: SIGNATURE } }, true],
  [
    'stays if its signature is valid',
    { requirements: { requirements: SIGNED }, click: { signed: SIGNATURE }, signers: new Set(['U0BOB']) },
    true,
  ],
])('an earlier approval by the same person %s', (_what, given, isKept) => {
  const approvals = [newApprovalBy('U0CAROL'), newApprovalBy('U0BOB')];
  expect(dropStaleApproval(newApprovalContext(given), approvals)).toEqual(
    isKept ? approvals : approvals.slice(0, 1),
  );
});

test('only admins who saw the whole excess and didn’t request the order agree to it', () => {
  const { order } = newApprovalContext();
  const agreedBy = (userId: string) => newApprovalBy(userId, { agreedExcess: EXCESS });
  const approvals = [agreedBy('U0ADA'), newApprovalBy('U0CAROL'), agreedBy('U0ALICE'), agreedBy('U0NINA')];
  const consent = (exceeded: BudgetUse['exceeded']) => {
    const budgets = { price: undefined, exceeded, reservation: undefined };
    return findExcessConsent(order, budgets, new Set(['U0ADA', 'U0CAROL', 'U0ALICE']), approvals);
  };
  expect(consent(EXCESS)).toMatchObject({ admins: ['U0ADA'], unawareAdmins: ['U0CAROL'] });
  expect(consent([])).toMatchObject({ admins: [], unawareAdmins: [] });
});

test('approvers come from the order’s requirements, or else from the settings', () => {
  const settings = newTeamSettings({ approvalsRequired: 2 });
  const { order } = newApprovalContext();
  const free = { ...TWO, outcome: 'free', list: [] } as const;
  const three = changeEachRequirement(newRequirements(['cafe.rest'], 3), {});
  const count = (...given: Parameters<typeof listDecidingRequirements>) =>
    listDecidingRequirements(...given).length;
  expect([count(TWO, settings, order), count(TWO, settings, order, 'general')]).toEqual([1, 2]);
  expect(count(free, settings, order)).toBe(1);
  const { evaluation } = newApprovalContext({
    requirements: { requirements: free, requestedRequirements: TWO },
  });
  expect(listCurrentDecidingRequirements(evaluation, order)).toEqual(TWO.list);
  expect(listCurrentDecidingRequirements({ ...evaluation, requirements: three }, order)).toEqual(three.list);
  expect([computeMinimumApprovals(three, settings), computeMinimumApprovals(free, settings)]).toEqual([3, 2]);
});

describe('a resumption', () => {
  const resume = (given: ApprovalChanges) =>
    decideResumption(
      newApprovalContext(
        withDemand({
          ...given,
          click: { kind: 'resume', ...given.click },
          order: { ...PAUSED_BULK_ORDER, ...given.order },
        }),
      ),
    );

  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    ['is refused if the order isn’t paused', { order: { state: 'PENDING' } }, refused('not_paused')],
    ['by an approver counts', {}, event('resumed', { by: 'U0BOB' })],
    ['needs an approver', { click: { userId: 'U0NINA' } }, refused('not_an_approver', { action: 'resume' })],
    [
      'by the requester counts after an approval',
      { click: { userId: 'U0ALICE' }, order: { approvals: [newApprovalBy('U0BOB')] } },
      event('resumed', { by: 'U0ALICE', validApprovers: ['U0BOB'] }),
    ],
    ['by the requester alone is refused', { click: { userId: 'U0ALICE' } }, refused('approvals_missing')],
    [
      'by the first of two approvers only approves',
      { order: { requirements: TWO_APPROVERS } },
      event('approved', { isReplacement: false }),
    ],
    [
      'over a budget is refused',
      { ...OVER_BUDGET, order: { approvals: [newApprovalBy('U0BOB')] } },
      refused('over_budget'),
    ],
    [
      'over a budget counts with an admin’s consent',
      {
        ...OVER_BUDGET,
        click: { ...ADA, agreedExcess: EXCESS },
        admins: new Set(['U0ADA']),
        order: { approvals: [newApprovalBy('U0BOB')] },
      },
      event('resumed', { by: 'U0ADA' }),
    ],
    ['is refused while an incident is open', openIncident(), refused('incident_open')],
    ['of a risky task doesn’t look up the impact', RISKY, event('resumed')],
    [
      'stops the order if the account is unlinked',
      preconditions({ isAccountLinked: false }),
      event('stopped', { summary: { code: 'account_gone' } }),
    ],
  ])('%s', (_, given, decision) => {
    expect(resume(given)).toMatchObject(decision);
  });
});

describe('an approval with break glass', () => {
  const EMERGENCY = {
    isAdmin: true,
    approvers: { people: ['U0BOB', 'U0ADA', 'U0ALICE'], unreadableGroups: [] },
  };
  const breakGlass = (given: ApprovalChanges) =>
    decideEmergencyApproval(
      newApprovalContext(
        withDemand({
          emergency: EMERGENCY,
          ...given,
          click: { kind: 'break_glass', userId: 'U0ADA', reason: 'It lapses tonight', ...given.click },
          order: { requirements: newRuleRequirements('U0BOB'), ...given.order },
        }),
      ),
    );

  test.each<[what: string, given: ApprovalChanges, decision: object]>([
    [
      'by an admin counts',
      {},
      event('emergency_approved', { by: 'U0ADA', approvers: ['U0BOB'], isImpactUnknown: false }),
    ],
    ['needs an admin', { emergency: { ...EMERGENCY, isAdmin: false } }, refused('not_an_admin')],
    ['is refused if the admin’s rights weren’t loaded', { emergency: undefined }, refused('not_an_admin')],
    ['of an order that isn’t pending is refused', { order: { state: 'DENIED' } }, refused('wrong_state')],
    ['by the requester is refused', { click: { userId: 'U0ALICE' } }, refused('emergency_on_own_order')],
    [
      'is refused if no rule allows it',
      { order: { requirements: newRequirements(['cafe.rest']) } },
      refused('break_glass_not_allowed'),
    ],
    ['without a reason is refused', { click: { reason: ' ' } }, refused('reason_missing')],
    [
      'over a budget that the card didn’t show is refused',
      { ...OVER_BUDGET, admins: new Set(['U0ADA']) },
      refused('excess_not_shown'),
    ],
    [
      'over a budget that the card showed counts',
      { ...OVER_BUDGET, admins: new Set(['U0ADA']), click: { agreedExcess: EXCESS } },
      event('emergency_approved', { exceeded: EXCESS }),
    ],
    [
      'stops the order if the account is unlinked',
      preconditions({ isAccountLinked: false }),
      event('stopped', { summary: { code: 'account_gone' } }),
    ],
    ['of a risky task looks up the impact', { order: RISKY.order }, { needs: 'impact' }],
    ['is refused while an incident is open', openIncident(), refused('incident_open')],
  ])('%s', (_, given, decision) => {
    expect(breakGlass(given)).toMatchObject(decision);
  });
});

/** The requirements at the request are also the current ones. */
function withDemand(given: ApprovalChanges): ApprovalChanges {
  const requirements = given.order?.requirements;
  return requirements === undefined
    ? given
    : {
        ...given,
        requirements: { requirements, requestedRequirements: requirements, ...given.requirements },
      };
}
