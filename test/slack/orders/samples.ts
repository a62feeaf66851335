import type { Order, OrderItem, OrderState, OrderTaskName } from '../../../src/orders/order.ts';
import { buildCtid } from '../../../src/orders/order.ts';
import { buildStatement } from '../../../src/orders/statement.ts';
import type { Statement } from '../../../src/orders/statement-shape.ts';
import type { Message } from '../../../src/slack/kit/blocks.ts';
import { type CardBriefing, orderCard } from '../../../src/slack/orders/card.view.ts';
import { ENDPOINTS, newRequirements } from '../../orders/sample.ts';
import { newBriefing } from '../../support/briefing.ts';
import { createApprovalEvent } from '../../support/log.ts';

export function buildSampleStatement(order: Order): Statement {
  return buildStatement(order, ENDPOINTS);
}

export function renderCard(
  order: Order,
  { statement = buildSampleStatement(order), ...briefing }: Partial<CardBriefing>,
): Message {
  const approvers = order.approvals.map(({ userId }) => userId);
  const history = approvers.map((userId) => createApprovalEvent(order, [userId]));
  return orderCard(order, { ...newBriefing({ history }), ...briefing, statement });
}

/** The hash of the secret in sample statements. */
export const SECRET_HASH = `sha256:${'5a'.repeat(32)}`;

export const REQUESTED_AT = new Date('2026-11-21T10:00:00Z');

const ITEM_STATES: Readonly<Record<OrderState, OrderItem['state']>> = {
  DRAFT: 'WAITING',
  PENDING: 'WAITING',
  APPROVED: 'WAITING',
  EXECUTING: 'SENT',
  SUCCEEDED: 'SUCCEEDED',
  FAILED: 'FAILED',
  UNKNOWN: 'UNKNOWN',
  DENIED: 'WAITING',
  EXPIRED: 'WAITING',
  CANCELLED: 'WAITING',
};

const RESULTS: Partial<Readonly<Record<OrderState, OrderItem['result']>>> = {
  SUCCEEDED: {
    summary: { code: 'done' },
    code: 'S0105',
    text: 'The domain was renewed.',
    stid: '20261121-app1-7',
  },
  FAILED: {
    summary: { code: 'refused' },
    errorKind: 'refused',
    code: 'EF01015',
    text: 'not in this account',
    stid: '20261121-app1-8',
  },
  UNKNOWN: {
    summary: { code: 'no_readable_answer' },
    errorKind: 'unknown_outcome',
  },
};

/** Alice's renewal of the names, in this state. */
export function sampleOrder(
  state: OrderState,
  changes: Partial<Order> = {},
  names: readonly string[] = ['cafe.rest'],
): Order {
  const id = '7k2m9qx4h1ab';
  const isPending = state === 'PENDING';
  const isApproved = ['APPROVED', 'EXECUTING', 'SUCCEEDED', 'FAILED', 'UNKNOWN'].includes(state);
  return {
    id,
    task: 'renew',
    state,
    version: 3,
    requesterId: 'U0ALICE',
    account: { id: 'a1', login: 'alice', method: 'password', context: 4 },
    items: names.map((name, index) => ({
      n: index + 1,
      name,
      ctid: buildCtid(id, index + 1, names.length),
      state: ITEM_STATES[state],
      attempts: 0,
      notBefore: undefined,
      sentAt: ITEM_STATES[state] === 'WAITING' ? undefined : new Date('2026-11-21T11:00:00Z'),
      answeredAt: undefined,
      result: RESULTS[state],
      isWatchListUpdated: false,
    })),
    input: { names, period: 2 },
    statementHash: '5'.repeat(64),
    reason: 'client paid',
    channelId: 'C0DOMAINS',
    threadTs: undefined,
    approvals: isApproved
      ? [{ userId: 'U0BOB', at: new Date('2026-11-21T10:30:00Z'), agreedExcess: [] }]
      : [],
    approvalsRequired: 1,
    policyVersion: 0,
    requirements: newRequirements(names),
    expiresAt: isPending ? new Date('2026-11-24T10:00:00Z') : undefined,
    remindAt: undefined,
    claim: undefined,
    retryOf: undefined,
    earlierRequesters: [],
    approvalRound: 0,
    escalateAt: undefined,
    isPrivate: false,
    shownExcess: [],
    deliveryId: 'command:1',
    createdAt: REQUESTED_AT,
    closedAt: undefined,
    ...changes,
  };
}

const DELEGATION_INPUT = {
  name: 'cafe.rest',
  ownerc: 11,
  adminc: 12,
  techc: 13,
  nameServers: ['ns1.example.net', 'ns2.example.net'],
};

/** Each task's input, as an order stores it. */
export const SAMPLE_INPUTS: Readonly<Record<OrderTaskName, unknown>> = {
  create: DELEGATION_INPUT,
  transfer: DELEGATION_INPUT,
  renew: { names: ['cafe.rest'], period: 1 },
  restore: { name: 'cafe.rest' },
  delete: { name: 'cafe.rest' },
  nameservers: { name: 'cafe.rest', nameServers: ['ns1.example.net', 'ns2.example.net'] },
  authcode: { name: 'cafe.rest' },
  'owner-change': { name: 'cafe.rest' },
  redirect: { source: 'www.cafe.rest', target: 'https://example.com/menu', type: 'DOMAIN', mode: 'HTTP' },
  'ssl-contact': { id: 42, organization: 'Cafe Ltd', address: ['1 High Street', 'Back door'], country: 'GB' },
  user: { user: 'carl', context: 4, defaultEmail: 'carl@example.com', parent: { user: 'alice', context: 4 } },
  mandate: {
    mandate_names: ['*.rest'],
    max_price: { currency: 'EUR', minor: 2_000 },
    max_total: { currency: 'EUR', minor: 60_000 },
    span: 'year',
    until: '2027-03-01',
    notice: 14,
  },
};
