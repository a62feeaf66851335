import type { Bulk } from '../../src/orders/bulk/stored-bulk.ts';
import {
  buildCtid,
  type EvaluatedApproval,
  type Order,
  type OrderEvent,
  type OrderItem,
} from '../../src/orders/order.ts';
import type { ServiceEndpoints } from '../../src/orders/statement.ts';
import type { Requirements } from '../../src/policy/evaluate.ts';
import type { RequestDescription } from '../../src/service/task.ts';
import { summaryText } from '../../src/slack/orders/summary.view.ts';

/** When the sample orders were requested. */
export const START = new Date('2026-03-01T09:00:00Z');
const HOUR_MS = 3_600_000;

/** `hours` after {@link START}. */
export function hoursLater(hours: number): Date {
  return new Date(START.getTime() + hours * HOUR_MS);
}

export const ENDPOINTS: ServiceEndpoints = {
  jsonUrl: 'https://service.example/v1',
  xmlUrl: 'https://service.example/xml',
  replyTo: undefined,
};

/** The stored data of a bulk order, which is sent in waves of `waveSize` rows. */
export function newBulk(waveSize: number): Bulk {
  return { waveSize, unreviewedFrom: 1, findings: [], skipped: 0 };
}

/** Requirements from the settings, without rules. */
export function newRequirements(names: readonly string[], needed = 1): Requirements {
  return {
    outcome: 'approve',
    list: [
      { rule: { kind: 'approval_tasks' }, names, needed, approvers: ['U0BOB'], silent: [], signed: false },
    ],
    refusedBy: [],
    ttlMs: 72 * HOUR_MS,
    remindAfterMs: 4 * HOUR_MS,
    escalateAfterMs: 24 * HOUR_MS,
    escalateTo: [],
    escalateToAdmins: true,
    breakGlass: false,
  };
}

/** The text of an item's result, or an empty string. */
export function renderResult(item: OrderItem | undefined): string {
  return item?.result === undefined ? '' : summaryText(item.result.summary);
}

/** Alice's pending order. It needs one approval, has a reminder after 4 hours, and expires after 72. */
export function newOrder(names: readonly string[], overrides: Partial<Order> = {}): Order {
  const { id = '7k2m9qx4h1ab', approvalsRequired = 1 } = overrides;
  return {
    id,
    task: 'renew',
    state: 'PENDING',
    version: 1,
    requesterId: 'U0ALICE',
    account: { id: 'account', login: 'alice', method: 'password', context: 4 },
    items: names.map((name, index) => ({
      n: index + 1,
      name,
      ctid: buildCtid(id, index + 1, names.length),
      state: 'WAITING',
      attempts: 0,
      notBefore: undefined,
      sentAt: undefined,
      answeredAt: undefined,
      result: undefined,
      isWatchListUpdated: false,
    })),
    input: { names, period: 1 },
    statementHash: '0'.repeat(64),
    reason: undefined,
    channelId: 'C0DOMAINS',
    threadTs: undefined,
    approvals: [],
    approvalsRequired,
    policyVersion: 0,
    requirements: newRequirements(names, approvalsRequired),
    expiresAt: hoursLater(72),
    remindAt: hoursLater(4),
    claim: undefined,
    retryOf: undefined,
    earlierRequesters: [],
    approvalRound: 0,
    escalateAt: undefined,
    isPrivate: false,
    shownExcess: [],
    deliveryId: 'command:1',
    createdAt: START,
    closedAt: undefined,
    ...overrides,
  };
}

export function buildRenewalRequest(name: string, period: number): RequestDescription {
  return { interface: 'json', method: 'POST', path: `/domain/${name}/_renew`, body: { period } };
}

/** A sufficient approval of an order within budgets and without known costs. */
export const SUFFICIENT_APPROVAL = {
  signed: undefined,
  agreedExcess: [],
  progress: { isApproved: true, policyVersion: 0, isStricter: false, requirements: [] },
  unreadableGroups: [],
  price: undefined,
  budget: { exceeded: [], admins: [] },
} as const satisfies Omit<EvaluatedApproval, 'by' | 'validApprovers'>;

/** Bob resumes a paused order. It needs no other approval. */
export const RESUMED_EVENT = {
  type: 'resumed',
  by: 'U0BOB',
  validApprovers: ['U0BOB'],
  ...SUFFICIENT_APPROVAL,
} as const satisfies OrderEvent;
