import type { Account } from '../accounts/account.ts';
import type { Vault } from '../accounts/vault.ts';
import type { TeamSettings } from '../config.ts';
import type { ServiceClient } from '../service/client.ts';
import type { ChangeOutcome } from './change.ts';
import * as decide from './decide.ts';
import type { Order, OrderTaskName } from './order.ts';
import type { AvailableInterfaces } from './order-task.ts';
import type { FindAccount } from './parties.ts';
import type { ApprovalPolicy } from './policy.ts';
import type { Directory, HistoryEntry, OrderFilter, OrderStore, PriceOf, StoredResponse } from './ports.ts';
import {
  availableInterfacesOf,
  type ConfirmOutcome,
  confirmOrder,
  type OrderRequest,
  type RequestOutcome,
  refusalOfAccount,
  requestOrder,
} from './request.ts';
import * as settle from './resolve.ts';
import { type RetryOutcome, retryOrder, type TypedAgain } from './retry.ts';
import { type RevealOutcome, revealSecret } from './reveal.ts';
import { stopOrder } from './stop.ts';
import { taskNamed } from './tasks.ts';

export interface OrdersDeps {
  readonly store: OrderStore;
  readonly vault: Vault;
  readonly settings: () => Promise<TeamSettings>;
  readonly directory: Directory;
  readonly now: () => Date;
  readonly priceOf?: PriceOf;
  readonly clientFor: (accountId: string) => Promise<ServiceClient | undefined>;
  readonly findAccount: FindAccount;
}

/** What people can do with orders: the use cases, with their parts joined. */
export interface Orders {
  request(request: OrderRequest): Promise<RequestOutcome>;
  /** Why an account cannot do a task, asked before a form opens; undefined when it can. */
  refusalOfAccount(task: OrderTaskName, account: Account): Promise<string | undefined>;
  /** The interfaces of the service that an account reaches for a task. */
  reach(task: OrderTaskName, account: Account): Promise<AvailableInterfaces>;
  confirm(orderId: string, userId: string): Promise<ConfirmOutcome>;
  approve(orderId: string, userId: string): Promise<ChangeOutcome>;
  deny(orderId: string, userId: string, reason: string | undefined): Promise<ChangeOutcome>;
  cancel(orderId: string, userId: string): Promise<ChangeOutcome>;
  resolve(
    orderId: string,
    userId: string,
    outcome: 'SUCCEEDED' | 'FAILED',
    reason: string | undefined,
  ): Promise<ChangeOutcome>;
  /** Keeps what waits to be sent from being sent. */
  stop(orderId: string, userId: string): Promise<ChangeOutcome>;
  /** @param typed what was typed again, where the order had a secret */
  retry(orderId: string, userId: string, typed?: TypedAgain): Promise<RetryOutcome>;
  reveal(orderId: string, userId: string): Promise<RevealOutcome>;
  /** Why a person may not deny or settle, asked before a form opens. */
  refusalToDeny(order: Order, userId: string): Promise<string | undefined>;
  refusalToResolve(order: Order, userId: string): Promise<string | undefined>;
  /** Which of some people may approve at this moment; see {@link decide.currentPolicy}. */
  policy(userIds: readonly string[], options?: { readonly allGroups?: boolean }): Promise<ApprovalPolicy>;
  load(orderId: string): Promise<Order | undefined>;
  list(filter: OrderFilter): Promise<readonly Order[]>;
  history(orderId: string): Promise<readonly HistoryEntry[]>;
  /** Everything that the service answered to an order's requests. */
  answers(orderId: string): Promise<readonly StoredResponse[]>;
  latest(task: OrderTaskName, requesterId: string, context: number | undefined): Promise<Order | undefined>;
}

export function createOrders(deps: OrdersDeps): Orders {
  const { store } = deps;
  return {
    request: (request) => requestOrder(deps, request),
    refusalOfAccount: (task, account) => refusalOfAccount(deps, taskNamed(task), account),
    reach: (task, account) => availableInterfacesOf(deps, taskNamed(task), account),
    confirm: (orderId, userId) => confirmOrder(deps, orderId, userId),
    approve: (orderId, userId) => decide.approveOrder(deps, orderId, userId),
    deny: (orderId, userId, reason) => decide.denyOrder(deps, orderId, userId, reason),
    cancel: (orderId, userId) => decide.cancelOrder(deps, orderId, userId),
    resolve: (orderId, userId, outcome, reason) =>
      settle.resolveOrder(deps, orderId, userId, outcome, reason),
    stop: (orderId, userId) => stopOrder(deps, orderId, userId),
    retry: (orderId, userId, typed) => retryOrder(deps, orderId, userId, typed),
    reveal: (orderId, userId) => revealSecret(deps, orderId, userId),
    refusalToDeny: (order, userId) => decide.refusalToDeny(deps, order, userId),
    refusalToResolve: (order, userId) => settle.refusalToResolve(deps, order, userId),
    policy: (userIds, options) => decide.currentPolicy(deps, userIds, options),
    load: (orderId) => store.load(orderId),
    list: (filter) => store.list(filter),
    history: (orderId) => store.history(orderId),
    answers: (orderId) => store.answers(orderId),
    latest: (task, requesterId, context) => store.latest(task, requesterId, context),
  };
}
