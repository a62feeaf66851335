import { randomBytes } from 'node:crypto';
import { type Account, accountName, isTeamAccount } from '../accounts/account.ts';
import type { Sealed, Vault } from '../accounts/vault.ts';
import {
  approvalsRequiredBy,
  decidedOrder,
  type EvaluatedOrder,
  evaluateOrder,
} from '../approvals/requirements.ts';
import { MINUTE_MS } from '../lib/duration.ts';
import type { Mandated } from '../mandates/codes.ts';
import type { OrderCost } from '../money/prices.ts';
import { InvalidInputError } from '../service/codec/codec-errors.ts';
import type { AvailableInterfaces } from '../service/interfaces.ts';
import type { RequestIssue } from '../service/request-issue.ts';
import type { Secret } from '../service/secret.ts';
import { type BulkRequest, checkRows, newBulk } from './bulk/request-bulk.ts';
import { changeOrder } from './change-order.ts';
import type { OrdersContext } from './context.ts';
import { type WaitingMoments, waitingMoments } from './deadlines.ts';
import type { InputIssue } from './input-issue.ts';
import {
  accountOwner,
  ctidOf,
  type DecisionByPolicy,
  isOpen,
  type Order,
  type OrderAccount,
  type OrderItem,
  type OrderTaskName,
} from './order.ts';
import { type BudgetUse, budgetedItems, checkBudgets } from './order-budget.ts';
import type { OrderLogEntry } from './order-events.ts';
import type { OrderTask } from './order-task.ts';
import type { Refusal } from './refusal.ts';
import { type SaltedSecret, saltSecret } from './salted-secret.ts';
import { hashOfStatement, type ServicePlaces, type StatableOrder, statementOf } from './statement.ts';
import type { Statement } from './statement-shape.ts';
import { taskNamed } from './tasks.ts';

/** A draft that is not confirmed is forgotten after this. */
const DRAFT_LIFE_MS = 15 * MINUTE_MS;

export interface OrderRequest {
  readonly task: OrderTaskName;
  readonly input: unknown;
  /** The rows of a file, each with an input of its own; `input` is empty then. */
  readonly bulk?: BulkRequest;
  /** Auth code or password typed into the form. */
  readonly secret: Secret | undefined;
  readonly reason: string | undefined;
  readonly requesterId: string;
  /**
   * The account to be used: the person's active account, or that of the order that is retried. Undefined when none is
   * linked.
   */
  readonly account: Account | undefined;
  readonly channelId: string;
  readonly threadTs: string | undefined;
  /** Asked for in a direct message: only who asked, approvers and admins see it. */
  readonly isPrivate?: boolean;
  /** A mandate does not let it go, so that it waits for somebody in any case. */
  readonly isHeld?: boolean;
  /** The mandate that makes it. */
  readonly mandated?: Mandated;
  /** The order that is asked for again. */
  readonly retries?: Order;
  /** Identifies the command, form or click. Delivered again, it is the same order. */
  readonly deliveryId: string;
}

export type RequestOutcome =
  | { readonly kind: 'accepted'; readonly order: Order }
  | { readonly kind: 'not_linked' }
  | { readonly kind: 'unsupported'; readonly issue: RequestIssue }
  | { readonly kind: 'invalid'; readonly issues: readonly InputIssue[] }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** An order for the same task and name is open. */
  | { readonly kind: 'open_already'; readonly order: Order };

/** An order's id, which is also its `ctid`: 60 random bits in letters and digits that are easily told apart. */
export function newOrderId(): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  return Array.from(randomBytes(12), (byte) => alphabet[byte & 31]).join('');
}

/** Turns what a person asked for into an order: a draft, a waiting one, or one that goes out at once. */
export async function requestOrder(deps: OrdersContext, request: OrderRequest): Promise<RequestOutcome> {
  const { account } = request;
  if (account === undefined) return { kind: 'not_linked' };
  const checked = checkRequest(deps.interfacesOf(account), request);
  if (checked.kind !== 'checked') return checked;

  const { task, names, input } = checked;
  const asked = { task: task.name, names, requesterId: request.requesterId, input };
  const [evaluated, price, firstExpiry] = await Promise.all([
    evaluateOrder(deps, {
      ...asked,
      usesTeamAccount: isTeamAccount(account),
      isHeld: request.isHeld ?? false,
    }),
    deps.priceOf(asked),
    deps.firstExpiry(names),
    // What is sealed of the account and cannot be opened is told now, and not after somebody has approved.
    deps.clientFor(account.id),
  ]);
  const { demand } = evaluated;
  if (demand.outcome === 'refuse')
    return { kind: 'refused', refusal: { code: 'policy_refuses', rules: demand.refusedBy } };
  const decision = decisionOf(evaluated);
  const wanted: WantedOrder = { request, account, checked, decision, price, firstExpiry };

  const start = await startOf(deps, wanted);
  const secrets = saltSecrets(request);
  const stated = statedOrder(deps, wanted, start, secrets);
  if ('issue' in stated) return { kind: 'unsupported', issue: stated.issue };
  const { order, entry } = stated;
  const conflict = await deps.store.create({
    order,
    log: [entry],
    sealedInput: secrets.own && deps.vault.seal(secrets.own.salted, inputOwner(order)),
    sealedItems: sealRows(deps.vault, order, secrets),
    reservation: start.state === 'APPROVED' ? start.reservation : undefined,
  });
  if (conflict !== undefined) return settleConflict(deps, request, conflict.conflictingOrderId);
  deps.advance(order);
  return { kind: 'accepted', order };
}

/** A new order with its statement, and its first line in the log; or why it cannot be sent. */
export function statedOrder(
  { servicePlaces }: OrdersContext,
  wanted: WantedOrder,
  start: Start,
  secrets: SaltedSecrets = NO_SECRETS,
): { readonly order: Order; readonly entry: OrderLogEntry } | { readonly issue: RequestIssue } {
  const unstated = newOrder(wanted, start, secrets);
  const statement = statementOrIssue(unstated, servicePlaces);
  if ('issue' in statement) return statement;
  const order = { ...unstated, statementHash: hashOfStatement(statement) };
  return { order, entry: requestedEntry(order, statement, wanted, start) };
}

/** What a person asked for, once the account and the zone's rules allow it. */
interface CheckedRequest {
  readonly kind: 'checked';
  readonly task: OrderTask;
  readonly input: unknown;
  readonly names: readonly string[];
}

export function checkRequest(
  interfaces: AvailableInterfaces,
  request: OrderRequest,
): CheckedRequest | Extract<RequestOutcome, { kind: 'unsupported' | 'invalid' }> {
  const task = taskNamed(request.task);
  const issue = task.unsupported(interfaces);
  if (issue !== undefined) return { kind: 'unsupported', issue };
  const { bulk } = request;
  const checked = bulk === undefined ? task.check(request.input) : checkRows(task, bulk.rows);
  if (!checked.ok) return { kind: 'invalid', issues: checked.issues };
  const { input, names } = checked;
  const unreachable = task.routeIssues(interfaces, input);
  return unreachable.length > 0
    ? { kind: 'invalid', issues: unreachable }
    : { kind: 'checked', task, input, names };
}

/** Everything that a new order is made of. */
export interface WantedOrder {
  readonly request: OrderRequest;
  readonly account: Account;
  readonly checked: CheckedRequest;
  readonly decision: DecisionByPolicy;
  /** What it costs, by the price list; undefined where that says nothing. */
  readonly price: OrderCost | undefined;
  /** When the first of its names expires; undefined where that is not known. */
  readonly firstExpiry: Date | undefined;
}

/** How a new order begins. */
export interface Start {
  readonly state: 'DRAFT' | 'PENDING' | 'APPROVED';
  readonly at: Date;
  /** When it is forgotten, reminded of and escalated; undefined for an order that goes out at once. */
  readonly moments: Partial<WaitingMoments> | undefined;
  /** Budgets that do not have what it takes. */
  readonly over: BudgetUse['over'];
  readonly reservation: BudgetUse['reservation'];
}

/** Only an order that nobody has to confirm or approve is held against the budgets now. */
async function startOf(
  deps: OrdersContext,
  { request, account, checked, decision, price, firstExpiry }: WantedOrder,
): Promise<Start> {
  const at = deps.now();
  const isFree = decision.demand.outcome === 'free';
  const isDraft = checked.task.confirmFirst || request.bulk !== undefined;
  const items = checked.names.map((name, index) => ({ n: index + 1, name }));
  const { over, reservation } = await checkBudgets(
    deps,
    account,
    { items, resumed: undefined },
    isFree && !isDraft ? price : undefined,
  );
  const start = { at, over, reservation };
  if (isDraft) {
    const expiresAt = new Date(at.getTime() + DRAFT_LIFE_MS);
    return { ...start, state: 'DRAFT', moments: { expiresAt } };
  }
  if (isFree && over.length === 0) return { ...start, state: 'APPROVED', moments: undefined };
  return { ...start, state: 'PENDING', moments: waitingMoments(decision.demand, at, firstExpiry) };
}

/** The secrets that came with a request: its own, and those of its rows. */
interface SaltedSecrets {
  readonly own: SaltedSecret | undefined;
  readonly rows: readonly (SaltedSecret | undefined)[];
}

const NO_SECRETS: SaltedSecrets = { own: undefined, rows: [] };

function saltSecrets({ secret, bulk }: OrderRequest): SaltedSecrets {
  return {
    own: secret && saltSecret(secret),
    rows: bulk?.rows.map((row) => row.secret && saltSecret(row.secret)) ?? [],
  };
}

/** What a new order would send, or why that cannot be sent. */
function statementOrIssue(
  order: StatableOrder,
  places: ServicePlaces,
): Statement | { readonly issue: RequestIssue } {
  try {
    return statementOf(order, places);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return { issue: error.issue };
  }
}

function newOrder(
  { request, account, checked, decision }: WantedOrder,
  start: Start,
  secrets: SaltedSecrets,
): Omit<Order, 'statementHash'> {
  const id = newOrderId();
  const { bulk } = request;
  const { task, names, input } = checked;
  return {
    id,
    task: task.name,
    state: start.state,
    version: 1,
    requesterId: request.requesterId,
    account: orderAccount(account),
    items: names.map((name, index) => ({
      n: index + 1,
      name,
      ctid: ctidOf(id, index + 1, names.length),
      input: bulk?.rows[index]?.input,
      secretHash: secrets.rows[index]?.hash,
      state: 'WAITING',
      attempts: 0,
      notBefore: undefined,
      sentAt: undefined,
      answeredAt: undefined,
      result: undefined,
      isFollowed: false,
    })),
    input,
    bulk: bulk && newBulk(bulk),
    secretHash: secrets.own?.hash,
    reason: request.reason,
    channelId: request.channelId,
    threadTs: request.threadTs,
    approvals: [],
    // An order that exceeds a budget and needs nobody else waits for an admin alone.
    approvalsRequired: start.over.length > 0 ? 0 : decision.approvalsRequired,
    policyVersion: decision.policyVersion,
    demand: decision.demand,
    expiresAt: start.moments?.expiresAt,
    remindAt: start.moments?.remindAt,
    escalateAt: start.moments?.escalateAt,
    isPrivate: request.isPrivate ?? false,
    shownExcess: [],
    claim: undefined,
    retryOf: request.retries?.id,
    earlierRequesters: earlierRequestersOf(request),
    mandated: request.mandated,
    deliveryId: request.deliveryId,
    createdAt: start.at,
    closedAt: undefined,
  };
}

/** Those who asked for what is retried. */
function earlierRequestersOf({ retries }: OrderRequest): readonly string[] {
  return retries === undefined ? [] : [...new Set([...retries.earlierRequesters, retries.requesterId])];
}

/** The first line of an order in the audit log. */
function requestedEntry(
  order: Order,
  { service, replyTo }: Statement,
  { request, account, decision, price }: WantedOrder,
  { over }: Start,
): OrderLogEntry {
  const { retries } = request;
  return {
    kind: 'requested',
    actor: order.requesterId,
    state: order.state,
    version: order.version,
    at: order.createdAt,
    task: order.task,
    ...(order.bulk === undefined
      ? { names: order.items.map(({ name }) => name), input: order.input }
      : { rows: order.items.length }),
    statement: order.statementHash,
    service,
    ...(replyTo === undefined ? {} : { replyTo }),
    account: accountName(account),
    ...(isTeamAccount(account) ? { usesTeamAccount: true as const } : {}),
    reason: order.reason ?? null,
    policyVersion: decision.policyVersion,
    decidedBy: decision.decidedBy,
    ...(price === undefined ? {} : { price }),
    ...(over.length === 0 ? {} : { overBudget: over }),
    ...(retries === undefined ? {} : { retryOf: retries.id, accountOwner: accountOwner(order) }),
    ...(order.mandated === undefined ? {} : { mandate: order.mandated.id }),
  };
}

/**
 * Says which order stands in the way of a new one, or asks again where nothing does any more.
 * @param conflictingOrderId undefined when other orders have reserved what was left of the budgets
 */
async function settleConflict(
  deps: OrdersContext,
  request: OrderRequest,
  conflictingOrderId: string | undefined,
): Promise<RequestOutcome> {
  if (conflictingOrderId === undefined) return requestOrder(deps, request);
  const open = await deps.store.load(conflictingOrderId, 'system');
  if (open?.deliveryId === request.deliveryId) return { kind: 'accepted', order: open };
  // It may have closed between the two reads. Then nothing stands in the way.
  return open === undefined || !isOpen(open.state)
    ? requestOrder(deps, request)
    : { kind: 'open_already', order: open };
}

/** What an order keeps of the account that it is bound to. */
function orderAccount(account: Account): OrderAccount {
  const { id, login, method, context } = account;
  return { id, login, method, context, ...(isTeamAccount(account) ? { isTeamAccount: true } : {}) };
}

/** What every sealed value of an order is bound to. */
type Sealable = { readonly id: string; readonly requesterId: string };

export function itemInputOwner(order: Sealable, item: OrderItem): readonly string[] {
  return ['order-item-input', order.id, String(item.n), item.name, order.requesterId];
}

function sealRows(vault: Vault, order: Order, { rows }: SaltedSecrets): ReadonlyMap<number, Sealed> {
  return new Map(
    order.items.flatMap((item, index) => {
      const secret = rows[index];
      if (secret === undefined) return [];
      return [[item.n, vault.seal(secret.salted, itemInputOwner(order, item))] as const];
    }),
  );
}

export function decisionOf({ policyVersion, demand, settings, decidedBy }: EvaluatedOrder): DecisionByPolicy {
  return { policyVersion, demand, decidedBy, approvalsRequired: approvalsRequiredBy(demand, settings) };
}

/** What the sealed input of an order is bound to. */
export function inputOwner(order: Sealable): readonly string[] {
  return ['order-input', order.id, order.requesterId];
}

/** What the sealed result of an order is bound to. */
export function resultOwner(order: Sealable, n: number): readonly string[] {
  return ['order-result', order.id, String(n), order.requesterId];
}

const FORGOTTEN: Refusal = { code: 'draft_forgotten' };

/**
 * The requester does not ask for a draft after all. It is forgotten: others have never seen it.
 * @returns why not; undefined when it is gone
 */
export async function dropDraft(
  { store }: OrdersContext,
  orderId: string,
  userId: string,
): Promise<Refusal | undefined> {
  const order = await store.load(orderId, 'system');
  if (order === undefined) return FORGOTTEN;
  if (order.requesterId !== userId) return { code: 'not_the_requester', wanted: 'cancel' };
  if (await store.forgetDraft(orderId)) return undefined;
  const { state } = (await store.load(orderId, 'system')) ?? {};
  return state === undefined ? FORGOTTEN : { code: 'wrong_state', wanted: 'cancelled', state };
}

export type ConfirmOutcome =
  | { readonly kind: 'confirmed'; readonly order: Order }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'open_already'; readonly order: Order };

/** The requester confirms a draft: it becomes an order that others see. */
export async function confirmOrder(
  deps: OrdersContext,
  orderId: string,
  userId: string,
): Promise<ConfirmOutcome> {
  const outcome = await changeOrder(deps, orderId, async (order) => {
    const now = deps.now();
    if (order.state === 'DRAFT' && order.expiresAt !== undefined && order.expiresAt <= now)
      return { refusal: FORGOTTEN };
    if (order.requesterId !== userId) return { refusal: { code: 'not_the_requester', wanted: 'confirm' } };
    if (order.state !== 'DRAFT')
      return { refusal: { code: 'wrong_state', wanted: 'confirmed', state: order.state } };
    const { task, input } = order;
    const names = order.items.map(({ name }) => name);
    const evaluated = await evaluateOrder(deps, decidedOrder(order));
    const { demand } = evaluated;
    if (demand.outcome === 'refuse') return { refusal: { code: 'policy_refuses', rules: demand.refusedBy } };
    const isFree = demand.outcome === 'free';
    const price = isFree ? await deps.priceOf({ task, names, input }) : undefined;
    const { over, reservation } = await checkBudgets(deps, order.account, budgetedItems(order), price);
    const decision = decisionOf(evaluated);
    return {
      extra: { reservation },
      event: {
        type: 'confirmed',
        needsApproval: !isFree || over.length > 0,
        ...waitingMoments(demand, now, await deps.firstExpiry(names)),
        decision: over.length > 0 ? { ...decision, approvalsRequired: 0 } : decision,
      },
    };
  });
  if (outcome.ok) return { kind: 'confirmed', order: outcome.order };
  const { refusal } = outcome;
  if (refusal.code === 'no_such_order') return { kind: 'refused', refusal: FORGOTTEN };
  if (refusal.code !== 'open_already') return { kind: 'refused', refusal };
  const open = await deps.store.load(refusal.orderId, 'system');
  return open === undefined ? confirmOrder(deps, orderId, userId) : { kind: 'open_already', order: open };
}
