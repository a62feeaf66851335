import { setTimeout as sleep } from 'node:timers/promises';
import type { Vault } from '../accounts/vault.ts';
import type { ServiceClient } from '../client/client.ts';
import { ServiceError } from '../client/errors.ts';
import type { Log } from '../log.ts';
import { changeOrder, type Decision } from './change.ts';
import { groundGone } from './decide.ts';
import { FOLLOWED_TASKS, type ItemResult, type Order, type OrderEvent, type OrderItem } from './order.ts';
import type { OrderJob, OrderStore } from './ports.ts';
import { inputOwner, resultOwner } from './request.ts';
import { resultOfAnswer, resultOfError, whatToDo } from './result.ts';
import { type OrderTask, type Sent, taskNamed } from './tasks.ts';

export interface ExecuteDeps {
  readonly store: OrderStore;
  readonly vault: Vault;
  readonly now: () => Date;
  readonly log: Log;
  /** The client that carries an account's credential, or undefined when the account is gone. */
  readonly clientFor: (accountId: string) => Promise<ServiceClient | undefined>;
  readonly accountExists: (accountId: string) => Promise<boolean>;
  /** Told that the service has accepted an account's credential. */
  readonly accepted: (accountId: string) => Promise<void>;
  /** Names this process among all that share the database; new at every start. */
  readonly workerId: string;
  /** How long this worker may be silent before its order is taken for abandoned; {@link LEASE_MS} when left out. */
  readonly leaseMs?: number;
  /** Told of every request to the service: task, outcome, seconds. */
  readonly observe: (task: string, outcome: string, seconds: number) => void;
}

/** How long a worker may be silent before its order is taken for abandoned. */
export const LEASE_MS = 20_000;
/** Signs of life within one lease. */
const HEARTBEATS = 4;
/** Requests of one order under way at once. */
const PARALLEL_ITEMS = 4;
/** A secret result can be looked at for this long. */
const REVEAL_MS = 60 * 60_000;

/** Another worker has the order, or its state has moved on: nothing may be sent. */
class ClaimLost extends Error {
  override readonly name = 'ClaimLost';
}

/**
 * Carries an approved order out: claims it, sends one request an item, and commits what became of each.
 * Returns without doing anything when the order is not approved (any more).
 * @param signal aborts requests under way at shutdown; what was sent becomes `UNKNOWN`
 */
export async function executeOrder(deps: ExecuteDeps, orderId: string, signal: AbortSignal): Promise<void> {
  const { leaseMs = LEASE_MS } = deps;
  const claimed = await changeOrder(deps, orderId, async (order): Promise<Decision> => {
    if (order.state !== 'APPROVED') return { refusal: 'not approved' };
    const gone = await groundGone(deps, order);
    if (gone !== undefined) return { event: { type: 'stopped', summary: gone } };
    const leaseUntil = new Date(deps.now().getTime() + leaseMs);
    return { event: { type: 'claimed', workerId: deps.workerId, leaseUntil } };
  });
  if (!claimed.ok || claimed.order.state !== 'EXECUTING') return;

  const heartbeat = setInterval(() => {
    deps.store
      .extendLease(orderId, deps.workerId, new Date(deps.now().getTime() + leaseMs))
      .catch((err: unknown) => deps.log.warn({ err, orderId }, 'extending the lease of an order'));
  }, leaseMs / HEARTBEATS);
  try {
    await sendItems(deps, claimed.order, signal);
    await handOn(deps, orderId);
  } finally {
    clearInterval(heartbeat);
  }
}

async function sendItems(deps: ExecuteDeps, order: Order, signal: AbortSignal): Promise<void> {
  const client = await deps.clientFor(order.account.id);
  if (client === undefined) {
    await keepTrying(deps, signal, () =>
      changeOrder(deps, order.id, () => ({
        event: { type: 'stopped', summary: 'The account is no longer linked, so nothing was sent.' },
      })),
    );
    return;
  }
  const sealed = order.hasSecretInput ? await deps.store.sealedInput(order.id) : undefined;
  const secret = sealed === undefined ? undefined : deps.vault.open(sealed, inputOwner(order));
  const task = taskNamed(order.task);
  const due = order.items.filter(
    (item) => item.state === 'WAITING' && (item.notBefore === undefined || item.notBefore <= deps.now()),
  );
  const next = due.values();
  const sendInTurn = async () => {
    for (const item of next) {
      if (signal.aborted) return;
      await sendItem(deps, task, order, item, client, secret, signal);
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_ITEMS, due.length) }, sendInTurn));
}

async function sendItem(
  deps: ExecuteDeps,
  task: OrderTask,
  order: Order,
  item: OrderItem,
  client: ServiceClient,
  secret: Parameters<OrderTask['send']>[1]['secret'],
  signal: AbortSignal,
): Promise<void> {
  const startedAt = performance.now();
  let sent = false;
  const beforeSend = async () => {
    const marked = await changeOrder(deps, order.id, () => ({
      event: { type: 'sending', workerId: deps.workerId, n: item.n },
    }));
    if (!marked.ok) throw new ClaimLost(marked.refusal);
    sent = true;
  };
  let outcome: { readonly event: OrderEvent; readonly answer?: Sent };
  try {
    const answer = await task.send(client, {
      input: order.input,
      name: item.name,
      secret,
      ctid: item.ctid,
      signal,
      beforeSend,
    });
    outcome = {
      event: { type: 'answered', n: item.n, outcome: 'SUCCEEDED', result: resultOfAnswer(answer, task) },
      answer,
    };
  } catch (error) {
    if (error instanceof ClaimLost) return;
    if (!(error instanceof ServiceError)) {
      if (!sent) throw error;
      // Whatever this is, the request may have left: only "unknown" is honest.
      deps.log.error({ err: error, orderId: order.id, ctid: item.ctid }, 'carrying out an order');
    }
    const attempts = item.attempts + 1;
    outcome = { event: eventOfError(deps, task, order, item, error, attempts) };
  }
  const { event } = outcome;
  const ended = event.type === 'answered' ? event.outcome : event.type;
  deps.observe(task.name, ended, (performance.now() - startedAt) / 1_000);
  const result = event.type === 'answered' ? event.result : undefined;
  deps.log.info(
    { orderId: order.id, ctid: item.ctid, task: task.name, ended, result },
    'request to the service ended',
  );
  await commitOutcome(deps, order, item, outcome, signal);
  if (outcome.answer !== undefined) await deps.accepted(order.account.id);
}

function eventOfError(
  deps: ExecuteDeps,
  task: OrderTask,
  order: Order,
  item: OrderItem,
  error: unknown,
  attempts: number,
): OrderEvent {
  const { n } = item;
  const todo = whatToDo(error, task, attempts);
  if (todo.kind === 'again') {
    return {
      type: 'held_back',
      workerId: deps.workerId,
      n,
      notBefore: new Date(deps.now().getTime() + todo.afterMs),
      why: todo.why,
    };
  }
  const result: ItemResult = resultOfError(error, todo.outcome, order.account);
  return { type: 'answered', n, outcome: todo.outcome, result };
}

async function commitOutcome(
  deps: ExecuteDeps,
  order: Order,
  item: OrderItem,
  outcome: { readonly event: OrderEvent; readonly answer?: Sent },
  signal: AbortSignal,
): Promise<void> {
  const secret = outcome.answer?.secret;
  const extra =
    secret === undefined
      ? {}
      : {
          revealable: {
            n: item.n,
            sealed: deps.vault.seal(secret, resultOwner(order, item.n)),
            expiresAt: new Date(deps.now().getTime() + REVEAL_MS),
          },
        };
  const followed: OrderJob[] =
    outcome.answer !== undefined && FOLLOWED_TASKS.includes(order.task)
      ? [{ queue: 'expiry.follow', data: { orderId: order.id, n: item.n } }]
      : [];
  await keepTrying(deps, signal, () =>
    changeOrder(deps, order.id, () => ({
      event: outcome.event,
      extra,
      jobs: [{ queue: 'order.show', data: { orderId: order.id } }, ...followed],
    })),
  );
}

/** Items that wait for their `notBefore` go on in another claim; the order is given back until then. */
async function handOn(deps: ExecuteDeps, orderId: string): Promise<void> {
  await changeOrder(deps, orderId, (order) => {
    const waiting = order.items.filter((item) => item.state === 'WAITING');
    if (order.claim?.workerId !== deps.workerId || waiting.length === 0)
      return { refusal: 'nothing to hand on' };
    const first = Math.min(...waiting.map((item) => item.notBefore?.getTime() ?? deps.now().getTime()));
    return {
      event: { type: 'released' },
      jobs: [{ queue: 'order.execute', data: { orderId }, startAfter: new Date(first) }],
    };
  });
}

/**
 * An outcome in hand must not be lost because the database is away: tried again until it is kept or the
 * process ends (then recovery makes the order `UNKNOWN`).
 */
async function keepTrying<T>(deps: ExecuteDeps, signal: AbortSignal, commit: () => Promise<T>): Promise<T> {
  for (let wait = 100; ; wait = Math.min(wait * 2, 2_000)) {
    try {
      return await commit();
    } catch (err) {
      deps.log.error({ err }, 'keeping the outcome of a request; will try again');
      if (signal.aborted) throw err;
      await sleep(wait);
    }
  }
}
