import { describe, expect, test } from 'vitest';
import { decideRecheck, type RecheckContext } from '../../src/approvals/decide-scheduled.ts';
import { computeMinimumApprovals } from '../../src/approvals/requirements.ts';
import type { OrderLogEntry } from '../../src/orders/order-events.ts';
import { hoursLater, newRequirements, START } from '../orders/sample.ts';
import {
  type ApprovalChanges,
  changeEachRequirement,
  EXCESS,
  newApprovalBy,
  newApprovalContext,
  newRuleRequirements,
} from './decision-sample.ts';

/* Whether a scheduled order is sent at its time. */

const TIME = hoursLater(10);

const newCost = (minor: number) => ({
  names: [
    {
      name: 'cafe.rest',
      quote: { amount: { currency: 'EUR', minor }, validFrom: '2026-01-01', source: '', times: 1 },
    },
  ],
  sums: [{ currency: 'EUR', minor }],
  ...{ unknown: 0, mayCostMore: false, days: ['2026-01-01'], sources: [] },
});

const approved = (price: ReturnType<typeof newCost> | undefined): OrderLogEntry => ({
  ...{ kind: 'approved', actor: 'U0BOB', at: START, state: 'APPROVED', version: 2 },
  ...{ validCount: 1, lapsed: [], required: 1, statement: '' },
  ...(price === undefined ? {} : { price }),
});

/** Alice's renewal at its time, approved by Bob, with the given changes. */
function recheck({
  impact = 'none',
  ...given
}: ApprovalChanges & Partial<Pick<RecheckContext, 'impact'>> = {}): RecheckContext {
  const { click: _, ...context } = newApprovalContext({
    now: TIME,
    history: [approved(newCost(1_800))],
    budgets: { price: newCost(1_800), exceeded: [], reservation: undefined },
    ...given,
    order: { state: 'APPROVED', sendAfter: TIME, approvals: [newApprovalBy('U0BOB')], ...given.order },
  });
  return { ...context, impact, firstExpiry: undefined };
}

const INCIDENT = { incidents: [], informedSince: new Map() };
const FREE = { ...newRequirements(['cafe.rest']), outcome: 'free', list: [] } as const;
const GONE = {
  people: {
    people: { groups: new Map(), membership: new Map([['U0BOB', 'left']] as const), standIns: new Map() },
    unreadableGroups: [],
    unconfirmedIds: new Set<string>(),
  },
};

describe('a scheduled order is sent', () => {
  test.each<[what: string, given: Parameters<typeof recheck>[0]]>([
    ['when nothing changed', {}],
    ['an hour late', { now: hoursLater(11) }],
    [
      'when its unknown price is still unknown',
      { history: [approved(undefined)], budgets: { price: undefined, exceeded: [], reservation: undefined } },
    ],
    [
      'at the price of its last approval, despite later log entries',
      { history: [approved(newCost(1_800)), { ...approved(undefined), kind: 'reminded' }] },
    ],
    ['when its impact is unknown', { impact: 'unknown' }],
    [
      'when an admin agreed to the same excess',
      {
        budgets: { price: newCost(1_800), exceeded: [...EXCESS], reservation: undefined },
        admins: new Set(['U0BOB']),
        order: { approvals: [newApprovalBy('U0BOB', { agreedExcess: [...EXCESS] })] },
      },
    ],
    [
      'without approvals if none is needed',
      {
        requirements: { requirements: FREE },
        order: { approvals: [] },
        budgets: { price: newCost(9), exceeded: [], reservation: undefined },
      },
    ],
    [
      'when approved with break glass, which the rule still allows',
      {
        requirements: { requirements: newRuleRequirements('U0NINA') },
        admins: new Set(['U0ADA']),
        order: { emergencyApprovedBy: 'U0ADA', approvals: [newApprovalBy('U0ADA')] },
      },
    ],
  ])('%s', (_what, given) => {
    expect(decideRecheck(recheck(given))).toEqual({ kind: 'unchanged' });
  });
});

describe('a scheduled order needs approval again', () => {
  test.each<[what: string, given: Parameters<typeof recheck>[0], reasons: readonly string[]]>([
    ['when more than an hour late', { now: new Date(hoursLater(11).getTime() + 1) }, ['late']],
    [
      'when its price changed',
      { budgets: { price: newCost(1_801), exceeded: [], reservation: undefined } },
      ['price'],
    ],
    [
      'when its price is no longer known',
      { budgets: { price: undefined, exceeded: [], reservation: undefined } },
      ['price'],
    ],
    [
      'when it exceeds a budget',
      { budgets: { price: newCost(1_800), exceeded: [...EXCESS], reservation: undefined } },
      ['budget'],
    ],
    ['when its impact changed', { impact: 'changed' }, ['impact']],
    ['after a finding since its approval', { warnedAt: hoursLater(2) }, ['impact']],
    ['while an incident is open', { incidents: INCIDENT }, ['incident']],
    ['when its approver left', GONE, ['approvals']],
    [
      'when it needs more approvals',
      {
        requirements: {
          requirements: changeEachRequirement(newRequirements(['cafe.rest']), { needed: 2 }),
          isStricter: true,
        },
      },
      ['requirements'],
    ],
    ['when it is no longer free', { order: { approvals: [] } }, ['requirements']],
    [
      'when late, although it is free',
      { now: hoursLater(12), requirements: { requirements: FREE }, order: { approvals: [] } },
      ['late'],
    ],
    [
      'when break glass is no longer allowed',
      {
        requirements: { requirements: newRequirements(['cafe.rest']) },
        admins: new Set(['U0ADA']),
        order: { emergencyApprovedBy: 'U0ADA', approvals: [newApprovalBy('U0ADA')] },
      },
      ['approvals'],
    ],
    [
      'when its break-glass admin is no longer one',
      {
        requirements: { requirements: newRuleRequirements('U0NINA') },
        order: { emergencyApprovedBy: 'U0ADA', approvals: [newApprovalBy('U0ADA')] },
      },
      ['approvals'],
    ],
    ['for several reasons', { now: hoursLater(12), impact: 'changed' }, ['late', 'impact']],
  ])('%s', (_what, given, reasons) => {
    const loaded = recheck(given);
    const { requirements, settings } = loaded.evaluation;
    const needed = computeMinimumApprovals(requirements, settings);
    expect(decideRecheck(loaded)).toMatchObject({
      kind: 'changed',
      event: {
        ...{ type: 'reopened', reasons, expiresAt: new Date(loaded.now.getTime() + 72 * 3_600_000) },
        decision: { approvalsRequired: reasons.includes('budget') ? 0 : needed },
      },
    });
  });
});

test('a scheduled order is stopped if the policy now refuses it', () => {
  const refusedBy = [{ kind: 'rule', version: 2, index: 0, name: 'no renewals' }] as const;
  const requirements = { ...FREE, outcome: 'refuse' as const, refusedBy };
  expect(decideRecheck(recheck({ requirements: { requirements } }))).toEqual({
    kind: 'changed',
    event: { type: 'stopped', summary: { code: 'policy_refuses', rules: refusedBy } },
  });
});

test.each([
  ['an approver', { unconfirmedIds: new Set(['U0BOB']) }],
  ['a group', { unreadableGroups: ['S0LEADS'] }],
])('a scheduled order waits while Slack doesn’t return %s, but no longer than an hour', (_what, unclear) => {
  const people = { ...GONE.people, people: { ...GONE.people.people, membership: new Map() }, ...unclear };
  expect(decideRecheck(recheck({ people }))).toEqual({
    kind: 'unclear',
    until: new Date(TIME.getTime() + 20_000),
  });
  expect(decideRecheck(recheck({ people, now: hoursLater(12) }))).toMatchObject({ kind: 'changed' });
});
