import { expect, test } from 'vitest';
import { decideSettlement } from '../../src/orders/resolve.ts';
import { newOrder } from './sample.ts';

const UNKNOWN = newOrder(['cafe.rest'], { state: 'UNKNOWN' });
const RIGHTS = {
  approvers: new Set(['U0BOB']),
  unconfirmedIds: new Set(['U0CAROL']),
  unreadableGroups: [],
  allowSelfApproval: false,
};

test.each([
  ['an approver', 'U0BOB', UNKNOWN, RIGHTS, { event: { type: 'resolved', by: 'U0BOB', outcome: 'FAILED' } }],
  ['another person', 'U0NINA', UNKNOWN, RIGHTS, { refusal: { code: 'not_an_approver', action: 'resolve' } }],
  [
    'another person while a group is unreadable',
    'U0NINA',
    UNKNOWN,
    { ...RIGHTS, unreadableGroups: ['S0LEADS'] },
    { refusal: { code: 'groups_unreadable', groupIds: ['S0LEADS'] } },
  ],
  [
    'a person that Slack doesn’t return',
    'U0CAROL',
    UNKNOWN,
    RIGHTS,
    { refusal: { code: 'own_membership_unknown' } },
  ],
  [
    'an approver after the outcome is known',
    'U0BOB',
    newOrder(['cafe.rest'], { state: 'SUCCEEDED' }),
    RIGHTS,
    { refusal: { code: 'outcome_known' } },
  ],
])('decides who can settle an order: %s', (_, by, order, rights, decision) => {
  expect(decideSettlement(order, rights, { by, outcome: 'FAILED', reason: undefined })).toMatchObject(
    decision,
  );
});
