import { randomBytes } from 'node:crypto';
import { type Account, isTeamAccount } from '../accounts/account.ts';
import { type EvaluatedOrder, evaluateOrder } from '../approvals/requirements.ts';
import type { MandateReference } from '../mandates/codes.ts';
import type { OrderCost } from '../money/prices.ts';
import type { AvailableInterfaces } from '../service/interfaces.ts';
import type { RequestIssue } from '../service/request-issue.ts';
import type { Secret } from '../service/secret.ts';
import { type BulkRequest, checkRows } from './bulk/request-bulk.ts';
import type { OrdersContext } from './context.ts';
import type { InputIssue } from './input-issue.ts';
import type { Order, OrderTaskName, Ownership } from './order.ts';
import { type BudgetUse, computeBudgetUse } from './order-budget.ts';
import type { OrderTask } from './order-task.ts';
import { type OrderSecrets, sealSecrets } from './salted-secret.ts';
import { type EnteredTime, parseSchedule, type Schedule, type ScheduleIssue } from './schedule.ts';
import type { ServiceEndpoints } from './statement.ts';
import { getOrderTask } from './tasks.ts';

/* Loads everything needed to decide on a request. */

export interface OrderRequest {
  readonly task: OrderTaskName;
  readonly input: unknown;
  /** Set for a bulk order: the rows of the file, each with its own input. `input` is then unused. */
  readonly bulk?: BulkRequest;
  /** Auth code or password entered in the form. */
  readonly secret: Secret | undefined;
  readonly reason: string | undefined;
  readonly ownership?: Ownership | undefined;
  readonly requesterId: string;
  /** The person's active account, or the account of the retried order. */
  readonly account: Account | undefined;
  readonly channelId: string;
  readonly threadTs: string | undefined;
  /** Requested in a direct message: only the requester, approvers and admins see it. */
  readonly isPrivate?: boolean;
  /** The name's mandate holds the renewal, so this order always needs approval. */
  readonly isHeldByMandate?: boolean;
  readonly mandateOrder?: MandateReference;
  /** For a mandate's order: the earliest time to send it. */
  readonly sendAfter?: Date;
  /** For a person's order: the send time that the person chose. */
  readonly sendAt?: EnteredTime | undefined;
  readonly retriedOrder?: Order;
  /** Identifies the command, form or click, so that a redelivery doesn't create a second order. */
  readonly deliveryId: string;
}

/** A request that the account and the zone's rules allow. */
export interface CheckedRequest {
  readonly kind: 'checked';
  readonly task: OrderTask;
  readonly input: unknown;
  readonly names: readonly string[];
}

export type RejectedRequest =
  | { readonly kind: 'unsupported'; readonly issue: RequestIssue }
  | { readonly kind: 'invalid'; readonly issues: readonly InputIssue[] };

export interface RequestContext {
  readonly now: Date;
  readonly id: string;
  readonly request: OrderRequest;
  readonly account: Account;
  readonly checked: CheckedRequest;
  /** The chosen send time, or why the order can't be sent at that time. */
  readonly schedule: Schedule | ScheduleIssue | undefined;
  readonly evaluated: EvaluatedOrder;
  readonly price: OrderCost | undefined;
  readonly firstExpiry: Date | undefined;
  /** Loaded only for an order that is sent immediately. */
  readonly budgets: BudgetUse;
  readonly secrets: OrderSecrets;
  readonly serviceEndpoints: ServiceEndpoints;
}

export async function loadRequestContext(
  context: OrdersContext,
  request: OrderRequest,
): Promise<RequestContext | RejectedRequest | { readonly kind: 'not_linked' }> {
  const { account, requesterId, isHeldByMandate = false } = request;
  if (account === undefined) return { kind: 'not_linked' };
  const checked = checkRequest(context.listInterfaces(account), request);
  if (checked.kind !== 'checked') return checked;
  const { names, input } = checked;
  const evaluationInput = { task: request.task, names, requesterId, input };
  const now = context.now();
  const schedule = request.sendAt && parseSchedule(request.sendAt, request.task, now);
  const sendAfter = typeof schedule === 'object' ? schedule.sendAt : undefined;
  const [evaluated, price, firstExpiry] = await Promise.all([
    evaluateOrder(context, {
      ...evaluationInput,
      usesTeamAccount: isTeamAccount(account),
      isHeld: isHeldByMandate,
    }),
    context.priceOrder({ ...evaluationInput, sendAfter }),
    context.findFirstExpiry(names),
    // Loaded so that an undecryptable credential fails the request now, not after the approval.
    context.loadClient(account.id),
  ]);
  const isSentImmediately = evaluated.requirements.outcome === 'free' && !startsAsDraft(checked, request);
  const items = names.map((name, index) => ({ n: index + 1, name }));
  const budgetedItems = { items, replacedOrderId: undefined };
  const cost = isSentImmediately ? price : undefined;
  const budgets = await computeBudgetUse(context, { account, sendAfter }, budgetedItems, cost);
  const id = generateOrderId();
  return {
    ...{ now, id, request, account, checked, schedule },
    ...{ evaluated, price, firstExpiry, budgets },
    secrets: sealSecrets(context.vault, { id, requesterId, items }, request),
    serviceEndpoints: context.serviceEndpoints,
  };
}

export function checkRequest(
  interfaces: AvailableInterfaces,
  request: Pick<OrderRequest, 'task' | 'input' | 'bulk'>,
): CheckedRequest | RejectedRequest {
  const task = getOrderTask(request.task);
  const issue = task.findUnsupportedReason(interfaces);
  if (issue !== undefined) return { kind: 'unsupported', issue };
  const { bulk } = request;
  const checked = bulk === undefined ? task.check(request.input) : checkRows(task, bulk.rows);
  if (!checked.ok) return { kind: 'invalid', issues: checked.issues };
  const { input, names } = checked;
  const interfaceIssues = task.findInterfaceIssues(interfaces, input);
  return interfaceIssues.length > 0
    ? { kind: 'invalid', issues: interfaceIssues }
    : { kind: 'checked', task, input, names };
}

/** A draft must be confirmed by its requester before anyone else sees it. */
export function startsAsDraft({ task }: CheckedRequest, { bulk }: OrderRequest): boolean {
  return task.needsConfirmation || bulk !== undefined;
}

/** Generates 60 random bits as letters and digits that aren't easily confused. An item's `ctid` starts with this id. */
export function generateOrderId(): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  return Array.from(randomBytes(12), (byte) => alphabet[byte & 31]).join('');
}
