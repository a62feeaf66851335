import { expect, test } from 'vitest';
import { decideDenial } from '../../src/approvals/deny.ts';
import { newRequirements } from '../orders/sample.ts';
import {
  type ApprovalChanges,
  changeEachRequirement,
  newApprovalContext,
  newRuleRequirements,
} from './decision-sample.ts';

const REFUSED = { ...newRequirements(['cafe.rest']), outcome: 'refuse', list: [] } as const;

test.each<[what: string, userId: string, given: ApprovalChanges, decision: object]>([
  ['an approver can deny', 'U0BOB', {}, { event: { type: 'denied', progress: { isApproved: true } } }],
  ['another person can’t deny', 'U0NINA', {}, { refusal: { code: 'not_an_approver', action: 'deny' } }],
  [
    'a rule’s approver can deny',
    'U0CAROL',
    { order: { requirements: newRuleRequirements('U0CAROL') } },
    {
      event: { progress: { requirements: [{ rule: { name: 'finance' }, slots: [{ userId: 'U0CAROL' }] }] } },
    },
  ],
  [
    'a requester who is an approver can deny',
    'U0ALICE',
    {
      order: {
        requirements: changeEachRequirement(newRequirements(['cafe.rest']), { approvers: ['U0ALICE'] }),
      },
    },
    { event: { type: 'denied', progress: { isApproved: false } } },
  ],
  [
    'an approver can deny without the signature needed to approve',
    'U0BOB',
    { order: { requirements: changeEachRequirement(newRequirements(['cafe.rest']), { signed: true }) } },
    { event: { type: 'denied', progress: { isApproved: false } } },
  ],
  [
    'an approver can deny an order that a rule now refuses',
    'U0BOB',
    { requirements: { requirements: REFUSED } },
    { event: { type: 'denied', progress: undefined } },
  ],
])('%s', (_, userId, given, decision) => {
  expect(decideDenial(newApprovalContext(given), userId, 'no')).toMatchObject(decision);
});
