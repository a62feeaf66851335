import { expect, test } from 'vitest';
import { decideDenial } from '../../src/approvals/deny.ts';
import { newDemand } from '../orders/sample.ts';
import { type Given, newApproval, requiring, ruled } from './decision-sample.ts';

const REFUSED = { ...newDemand(['cafe.rest']), outcome: 'refuse', list: [] } as const;

test.each<[what: string, userId: string, given: Given, decision: object]>([
  ['an approver', 'U0BOB', {}, { event: { type: 'denied', progress: { isApproved: true } } }],
  ['somebody else', 'U0NINA', {}, { refusal: { code: 'not_an_approver', action: 'deny' } }],
  [
    'an approver by a rule',
    'U0CAROL',
    { order: { requirements: ruled('U0CAROL') } },
    {
      event: { progress: { requirements: [{ rule: { name: 'finance' }, slots: [{ userId: 'U0CAROL' }] }] } },
    },
  ],
  [
    'the requester, who is an approver',
    'U0ALICE',
    { order: { requirements: requiring(newDemand(['cafe.rest']), { approvers: ['U0ALICE'] }) } },
    { event: { type: 'denied', progress: { isApproved: false } } },
  ],
  [
    'an approver whose signature would be needed to approve',
    'U0BOB',
    { order: { requirements: requiring(newDemand(['cafe.rest']), { signed: true }) } },
    { event: { type: 'denied', progress: { isApproved: false } } },
  ],
  [
    'an approver of an order that a rule refuses now',
    'U0BOB',
    { requirements: { requirements: REFUSED } },
    { event: { type: 'denied', progress: undefined } },
  ],
])('%s denies', (_, userId, given, decision) => {
  expect(decideDenial(newApproval(given), userId, 'no')).toMatchObject(decision);
});
