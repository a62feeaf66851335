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
import { hoursLater, newDemand } from '../orders/sample.ts';
import { newTeamSettings } from '../support/settings.ts';
import {
  AT_CLICK,
  approvedBy,
  type Given,
  NOW,
  newApproval,
  OVER,
  PAUSED,
  requiring,
  ruled,
} from './decision-sample.ts';

/* The decision of a click. No database: everything it needs is in the context. */

const refused = (code: string, more = {}) => ({ refusal: { code, ...more } });
const event = (type: string, more = {}) => ({ event: { type, ...more } });

const FINANCE = { requirements: ruled('U0BOB'), decidedBy: ruled('U0BOB').list.map(({ rule }) => rule) };
const TWO = newDemand(['cafe.rest'], 2);
const TWO_APPROVERS = requiring(TWO, { approvers: ['U0BOB', 'U0CAROL'] });
const SIGNED = requiring(newDemand(['cafe.rest']), { signed: true });
const OVER_BUDGET = { budgets: { price: undefined, exceeded: OVER, reservation: undefined } };
const ADA = { userId: 'U0ADA' };
/** Not verified here. */
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
  preconditions: { ...needed(newApproval().preconditions), ...changes },
});
const unknownPerson = (userId: string) => {
  const { people } = newApproval();
  const membership = new Map([...people.people.membership].filter(([id]) => id !== userId));
  return { people: { ...people, people: { ...people.people, membership }, unconfirmed: new Set([userId]) } };
};
const awayBob = (until = hoursLater(100)) => {
  const { people } = newApproval();
  const standIns = new Map([['U0BOB', { userId: 'U0CAROL', until }]]);
  return { people: { ...people, people: { ...people.people, standIns } } };
};

function needed<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the sample has it');
  return value;
}

describe('an approval', () => {
  test.each<[what: string, given: Given, decision: object]>([
    [
      'of an approver counts',
      {},
      event('approved', { by: 'U0BOB', validApprovers: ['U0BOB'], isRenewed: false }),
    ],
    ['of a paused order has another button', { order: PAUSED }, refused('wrong_state')],
    ['of another person', { click: { userId: 'U0NINA' } }, refused('not_an_approver')],
    ['of the requester', { click: { userId: 'U0ALICE' } }, refused('own_order', { isApprover: false })],
    [
      'of the requester, if that is allowed',
      {
        click: { userId: 'U0ALICE' },
        order: { requirements: requiring(newDemand(['cafe.rest']), { approvers: ['U0ALICE'] }) },
        requirements: { settings: newTeamSettings({ allowSelfApproval: true }) },
      },
      event('approved', { by: 'U0ALICE' }),
    ],
    ['of a person that Slack doesn’t return', unknownPerson('U0BOB'), refused('own_membership_unknown')],
    [
      'by a rule that only the row names',
      { order: { requirements: ruled('U0BOB') } },
      refused('log_differs'),
    ],
    [
      'by a rule in force',
      { order: { requirements: ruled('U0BOB') }, requirements: FINANCE },
      event('approved'),
    ],
    [
      'that a rule refuses now',
      {
        order: { requirements: newDemand(['cafe.rest']) },
        requirements: {
          requirements: { ...newDemand(['cafe.rest']), outcome: 'refuse', list: [], refusedBy: [] },
        },
      },
      refused('policy_refuses'),
    ],
    [
      'beside one whose approver Slack doesn’t return',
      {
        order: { requirements: TWO_APPROVERS, approvals: [approvedBy('U0CAROL')] },
        ...unknownPerson('U0CAROL'),
      },
      refused('membership_unknown', { userId: 'U0CAROL' }),
    ],
    [
      'that is the first of two',
      { order: { requirements: TWO_APPROVERS } },
      event('approved', { progress: { isApproved: false } }),
    ],
    [
      'that is the second of two',
      { order: { requirements: TWO_APPROVERS, approvals: [approvedBy('U0CAROL')] } },
      event('approved', { progress: { isApproved: true } }),
    ],
  ])('%s', (_, given, decision) => {
    expect(decideApproval(newApproval(withDemand(given)))).toMatchObject(decision);
  });

  test.each<[what: string, given: Given, decision: object]>([
    ['counts while the approver is away', { ...awayBob(), click: { userId: 'U0CAROL' } }, event('approved')],
    [
      'counts no longer afterwards',
      { ...awayBob(NOW), click: { userId: 'U0CAROL' } },
      refused('not_an_approver'),
    ],
    [
      'is not needed once the approver has approved',
      { ...awayBob(), click: { userId: 'U0CAROL' }, order: { approvals: [approvedBy('U0BOB')] } },
      refused('stand_in_not_needed'),
    ],
  ])('of a stand-in %s', (_, given, decision) => {
    expect(decideApproval(newApproval(given))).toMatchObject(decision);
  });

  test.each<[what: string, given: Given, decision: object]>([
    ['waits for an admin', {}, event('approved', { budget: { exceeded: OVER, admins: [] } })],
    [
      'has an admin’s consent',
      { click: { ...ADA, agreedExcess: OVER }, admins: new Set(['U0ADA']) },
      event('approved', { budget: { exceeded: OVER, admins: ['U0ADA'] } }),
    ],
    [
      'was not shown to the admin',
      { click: ADA, admins: new Set(['U0ADA']) },
      refused('excess_not_shown', { exceeded: OVER }),
    ],
    [
      'is no admin’s own to agree to',
      { click: { userId: 'U0ALICE', agreedExcess: OVER }, admins: new Set(['U0ALICE']) },
      refused('own_order'),
    ],
  ])('of an order that exceeds a budget %s', (_, given, decision) => {
    expect(decideApproval(newApproval({ ...OVER_BUDGET, ...given }))).toMatchObject(decision);
  });

  test.each<[what: string, given: Given, decision: object]>([
    ['by a click', {}, refused('signature_needed')],
    [
      'by a signature that counts',
      { click: { signed: SIGNATURE }, isSigned: true },
      event('approved', { validApprovers: ['U0BOB'] }),
    ],
    ['by a signature that doesn’t', { click: { signed: SIGNATURE } }, refused('stand_in_not_needed')],
    [
      'again, after the earlier signature stopped counting',
      {
        click: { signed: SIGNATURE },
        isSigned: true,
        order: { requirements: SIGNED, approvals: [approvedBy('U0BOB', { signed: SIGNATURE })] },
      },
      event('approved', { isRenewed: true }),
    ],
  ])('that must be signed %s', (_, given, decision) => {
    expect(
      decideApproval(newApproval(withDemand({ order: { requirements: SIGNED }, ...given }))),
    ).toMatchObject(decision);
  });

  test.each<[what: string, given: Given, decision: object]>([
    [
      'another statement',
      { order: { statementHash: 'f'.repeat(64) } },
      event('stopped', { summary: { code: 'statement_changed' } }),
    ],
    [
      'no account',
      preconditions({ isLinked: false }),
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
      'an earlier order that may still do it',
      preconditions({ earlierFindings: [{ orderId: 'o1', name: 'cafe.rest', outcome: 'open' }] }),
      refused('earlier_order'),
    ],
    [
      'an earlier order that has done it',
      preconditions({ earlierFindings: [{ orderId: 'o1', name: 'cafe.rest', outcome: 'done' }] }),
      event('stopped', { itemNumbers: [1], doneByOrderId: 'o1' }),
    ],
  ])('of an order with %s', (_, given, decision) => {
    expect(decideApproval(newApproval(given))).toMatchObject(decision);
    const stranger = newApproval({ ...given, click: { userId: 'U0NINA' } });
    expect(decideApproval(stranger), 'said only to those who may approve').toMatchObject(
      refused('not_an_approver'),
    );
  });

  test.each<[what: string, given: Given, decision: object]>([
    ['is looked up', {}, { needs: 'impact' }],
    [
      'is not looked up for a click that doesn’t count',
      { click: { userId: 'U0NINA' } },
      refused('not_an_approver'),
    ],
    ['has changed', { click: { impact: 'changed' } }, refused('impact_changed')],
    ['is not known', { click: { impact: 'unknown' } }, event('approved', { isImpactUnknown: true })],
    ['is as shown', { click: { impact: 'known' } }, event('approved', { isImpactUnknown: false })],
    [
      'was shown before an incident',
      { click: { impact: 'known' }, ...openIncident() },
      refused('incident_open'),
    ],
    [
      'was unknown to an earlier approver',
      {
        click: { impact: 'known' },
        warnedAt: hoursLater(0.7),
        order: { ...RISKY.order, requirements: TWO_APPROVERS, approvals: [approvedBy('U0CAROL')] },
      },
      event('approved', { validApprovers: ['U0BOB'], progress: { isApproved: false } }),
    ],
    [
      'was unknown to the approver before, who approves again',
      {
        click: { impact: 'known' },
        warnedAt: hoursLater(0.7),
        order: { ...RISKY.order, approvals: [approvedBy('U0BOB')] },
      },
      event('approved', { isRenewed: true }),
    ],
  ])('of a risky task whose impact %s', (_, given, decision) => {
    expect(decideApproval(newApproval(withDemand({ ...RISKY, ...given })))).toMatchObject(decision);
  });

  test.each<[what: string, given: Given, decision: object]>([
    [
      'shows it first',
      openIncident(),
      refused('incident_open', { incidents: [{ id: 'i1', changeCount: 1 }] }),
    ],
    ['counts once it was shown', openIncident(['U0BOB', AT_CLICK]), event('approved')],
    ['was clicked before it was shown', openIncident(['U0BOB', NOW]), refused('incident_open')],
    [
      'shows it to nobody else',
      { ...openIncident(), click: { userId: 'U0NINA' } },
      refused('not_an_approver'),
    ],
    [
      'drops approvals given before it was shown',
      {
        ...openIncident(['U0BOB', AT_CLICK], ['U0CAROL', AT_CLICK]),
        order: { requirements: TWO_APPROVERS, approvals: [approvedBy('U0CAROL')] },
      },
      event('approved', { validApprovers: ['U0BOB'] }),
    ],
  ])('while an incident is open %s', (_, given, decision) => {
    expect(decideApproval(newApproval(withDemand(given)))).toMatchObject(decision);
  });
});

test.each<[what: string, given: Given, isKept: boolean]>([
  ['unsigned, and clicked again without a signature', { requirements: { requirements: SIGNED } }, true],
  [
    'unsigned, and signed now',
    { requirements: { requirements: SIGNED }, click: { signed: SIGNATURE } },
    false,
  ],
  ['of an order without signatures', { click: { signed: SIGNATURE } }, true],
  [
    'with a valid signature',
    { requirements: { requirements: SIGNED }, click: { signed: SIGNATURE }, signers: new Set(['U0BOB']) },
    true,
  ],
])('an earlier approval %s: %j', (_what, given, isKept) => {
  const approvals = [approvedBy('U0CAROL'), approvedBy('U0BOB')];
  expect(dropStaleApproval(newApproval(given), approvals)).toEqual(
    isKept ? approvals : approvals.slice(0, 1),
  );
});

test('an excess is agreed to by admins who saw all of it, and by no requester', () => {
  const { order } = newApproval();
  const saw = (userId: string) => approvedBy(userId, { agreedExcess: OVER });
  const approvals = [saw('U0ADA'), approvedBy('U0CAROL'), saw('U0ALICE'), saw('U0NINA')];
  const consent = (exceeded: BudgetUse['exceeded']) => {
    const budgets = { price: undefined, exceeded, reservation: undefined };
    return findExcessConsent(order, budgets, new Set(['U0ADA', 'U0CAROL', 'U0ALICE']), approvals);
  };
  expect(consent(OVER)).toMatchObject({ admins: ['U0ADA'], unawareAdmins: ['U0CAROL'] });
  expect(consent([])).toMatchObject({ admins: [], unawareAdmins: [] });
});

test('a person decides by the order’s requirements, or those of the settings', () => {
  const settings = newTeamSettings({ approvalsRequired: 2 });
  const { order } = newApproval();
  const free = { ...TWO, outcome: 'free', list: [] } as const;
  const three = requiring(newDemand(['cafe.rest'], 3), {});
  const count = (...given: Parameters<typeof listDecidingRequirements>) =>
    listDecidingRequirements(...given).length;
  expect([count(TWO, settings, order), count(TWO, settings, order, 'general')]).toEqual([1, 2]);
  expect(count(free, settings, order)).toBe(1);
  const { evaluation } = newApproval({ requirements: { requirements: free, requested: TWO } });
  expect(listCurrentDecidingRequirements(evaluation, order)).toEqual(TWO.list);
  expect(listCurrentDecidingRequirements({ ...evaluation, requirements: three }, order)).toEqual(three.list);
  expect([computeMinimumApprovals(three, settings), computeMinimumApprovals(free, settings)]).toEqual([3, 2]);
});

describe('a resumption', () => {
  const resume = (given: Given) =>
    decideResumption(
      newApproval(
        withDemand({
          ...given,
          click: { kind: 'resume', ...given.click },
          order: { ...PAUSED, ...given.order },
        }),
      ),
    );

  test.each<[what: string, given: Given, decision: object]>([
    ['of an order that isn’t paused', { order: { state: 'PENDING' } }, refused('not_paused')],
    ['by an approver', {}, event('resumed', { by: 'U0BOB' })],
    ['by another person', { click: { userId: 'U0NINA' } }, refused('not_an_approver', { action: 'resume' })],
    [
      'by the requester, after an approver',
      { click: { userId: 'U0ALICE' }, order: { approvals: [approvedBy('U0BOB')] } },
      event('resumed', { by: 'U0ALICE', validApprovers: ['U0BOB'] }),
    ],
    ['by the requester alone', { click: { userId: 'U0ALICE' } }, refused('approvals_missing')],
    [
      'by the first of two approvers',
      { order: { requirements: TWO_APPROVERS } },
      event('approved', { isRenewed: false }),
    ],
    [
      'over a budget',
      { ...OVER_BUDGET, order: { approvals: [approvedBy('U0BOB')] } },
      refused('over_budget'),
    ],
    [
      'over a budget with an admin’s consent',
      {
        ...OVER_BUDGET,
        click: { ...ADA, agreedExcess: OVER },
        admins: new Set(['U0ADA']),
        order: { approvals: [approvedBy('U0BOB')] },
      },
      event('resumed', { by: 'U0ADA' }),
    ],
    ['while an incident is open', openIncident(), refused('incident_open')],
    ['of a risky task runs no lookup', RISKY, event('resumed')],
    [
      'without the account',
      preconditions({ isLinked: false }),
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
  const alone = (given: Given) =>
    decideEmergencyApproval(
      newApproval(
        withDemand({
          emergency: EMERGENCY,
          ...given,
          click: { kind: 'break_glass', userId: 'U0ADA', reason: 'It lapses tonight', ...given.click },
          order: { requirements: ruled('U0BOB'), ...given.order },
        }),
      ),
    );

  test.each<[what: string, given: Given, decision: object]>([
    [
      'by an admin',
      {},
      event('emergency_approved', { by: 'U0ADA', approvers: ['U0BOB'], isImpactUnknown: false }),
    ],
    ['by nobody else', { emergency: { ...EMERGENCY, isAdmin: false } }, refused('not_an_admin')],
    ['without what was read of the admin', { emergency: undefined }, refused('not_an_admin')],
    ['of an order that waits for nobody', { order: { state: 'DENIED' } }, refused('wrong_state')],
    ['of what the admin asked for', { click: { userId: 'U0ALICE' } }, refused('emergency_on_own_order')],
    [
      'that no rule allows',
      { order: { requirements: newDemand(['cafe.rest']) } },
      refused('break_glass_not_allowed'),
    ],
    ['without a reason', { click: { reason: ' ' } }, refused('reason_missing')],
    [
      'over a budget that the card did not show',
      { ...OVER_BUDGET, admins: new Set(['U0ADA']) },
      refused('excess_not_shown'),
    ],
    [
      'over a budget that the card showed',
      { ...OVER_BUDGET, admins: new Set(['U0ADA']), click: { agreedExcess: OVER } },
      event('emergency_approved', { exceeded: OVER }),
    ],
    [
      'without the account',
      preconditions({ isLinked: false }),
      event('stopped', { summary: { code: 'account_gone' } }),
    ],
    ['looks up the impact', { order: RISKY.order }, { needs: 'impact' }],
    ['while an incident is open', openIncident(), refused('incident_open')],
  ])('%s', (_, given, decision) => {
    expect(alone(given)).toMatchObject(decision);
  });
});

/** The requirements at the request are also the current ones. */
function withDemand(given: Given): Given {
  const requirements = given.order?.requirements;
  return requirements === undefined
    ? given
    : { ...given, requirements: { requirements, requested: requirements, ...given.requirements } };
}
