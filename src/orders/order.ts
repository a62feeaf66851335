/**
 * The life of an order, as a pure function.
 *
 * Words used here and everywhere else:
 * - **order**: one request of one person for one task, for one or several names.
 * - **item**: one name of an order; it becomes exactly one request to the domain service.
 * - **ctid**: the client transaction id that the item's request carries.
 * - **claim**: a worker takes an approved order; its **lease** says until when its silence is taken for life.
 * - **sentAt**: committed before the first byte of an item's request may leave. From then on the item is
 *   `SENT`, and nothing but proof that the service did not carry it out brings it back to `WAITING`.
 * - **requester**: who asked. **Approver**: who may let a waiting order go.
 */

/** The tasks that become orders, by the name of their subcommand. */
export const ORDER_TASK_NAMES = [
  'create',
  'transfer',
  'renew',
  'restore',
  'delete',
  'nameservers',
  'authcode',
  'owner-change',
  'redirect',
  'ssl-contact',
  'user',
] as const;
export type OrderTaskName = (typeof ORDER_TASK_NAMES)[number];

/** The tasks whose success changes what the watch list knows of a name. */
export const FOLLOWED_TASKS: readonly OrderTaskName[] = ['create', 'transfer', 'renew', 'restore', 'delete'];

export const ORDER_STATES = [
  'DRAFT',
  'PENDING',
  'APPROVED',
  'EXECUTING',
  'SUCCEEDED',
  'FAILED',
  'UNKNOWN',
  'DENIED',
  'EXPIRED',
  'CANCELLED',
] as const;
export type OrderState = (typeof ORDER_STATES)[number];

export type ItemState = 'WAITING' | 'SENT' | 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';

/** What is known of an item's outcome. Holds no secret: the codecs mask what the service echoes. */
export interface ItemResult {
  /** One sentence for people. */
  readonly summary: string;
  /** The service's status code and text, as it gave them. */
  readonly code?: string;
  readonly text?: string;
  /** The service's transaction id. */
  readonly stid?: string;
  readonly httpStatus?: number;
  readonly messages?: readonly { readonly code?: string; readonly text?: string }[];
  /** Kind of error, see `ServiceError`. */
  readonly errorKind?: string;
  /** There is a secret to be shown once to the requester. */
  readonly hasSecret?: boolean;
  /** Set when a person or evidence settled an unknown outcome. */
  readonly settledBy?: string;
}

export interface OrderItem {
  /** From 1. */
  readonly n: number;
  /** A domain in ASCII form, a redirect's source, an SSL contact's id or a user's name. */
  readonly name: string;
  readonly ctid: string;
  readonly state: ItemState;
  /** How often a request for it has left or tried to. */
  readonly attempts: number;
  /** Not to be sent before this moment. */
  readonly notBefore: Date | undefined;
  readonly sentAt: Date | undefined;
  readonly answeredAt: Date | undefined;
  readonly result: ItemResult | undefined;
}

export interface Approval {
  readonly userId: string;
  readonly at: Date;
}

export interface Order {
  readonly id: string;
  readonly task: OrderTaskName;
  readonly state: OrderState;
  /** Grows by one with every change: the compare-and-swap is on it. */
  readonly version: number;
  /** Slack user id. */
  readonly requesterId: string;
  readonly account: OrderAccount;
  readonly items: readonly OrderItem[];
  /** What the task asks of the service, without secrets; its shape is the task's own. */
  readonly input: unknown;
  /** The input has secret parts (an auth code, a password), kept sealed beside it until the order closes. */
  readonly hasSecretInput: boolean;
  readonly reason: string | undefined;
  /** Where the card goes. */
  readonly channelId: string;
  readonly threadTs: string | undefined;
  readonly approvals: readonly Approval[];
  readonly approvalsRequired: number;
  /** When a DRAFT is forgotten or a PENDING order expires. */
  readonly expiresAt: Date | undefined;
  /** When approvers are nudged; undefined when they were, or need not be. */
  readonly nudgeAt: Date | undefined;
  readonly claim: { readonly workerId: string; readonly leaseUntil: Date } | undefined;
  readonly retryOf: string | undefined;
  /** Names the command, form or click it was asked with. */
  readonly deliveryId: string;
  readonly createdAt: Date;
  readonly closedAt: Date | undefined;
}

/** The linked account that an order is bound to. */
export interface OrderAccount {
  readonly id: string;
  /** User name, or the application's UUID. */
  readonly login: string;
  readonly method: string;
  /** Undefined for a trusted application. */
  readonly context: number | undefined;
}

/** Stands in the place of a person where public records settle an unknown outcome. */
export const EVIDENCE = 'evidence';

export type OrderEvent =
  | {
      readonly type: 'confirmed';
      readonly needsApproval: boolean;
      readonly expiresAt: Date;
      readonly nudgeAt: Date;
    }
  | {
      readonly type: 'approved';
      readonly by: string;
      /** Those of all who approved (with `by`) who may approve at this moment. */
      readonly standing: readonly string[];
    }
  | { readonly type: 'denied'; readonly by: string; readonly reason: string | undefined }
  | { readonly type: 'cancelled'; readonly by: string }
  | { readonly type: 'ran_out' }
  | { readonly type: 'nudged' }
  | { readonly type: 'claimed'; readonly workerId: string; readonly leaseUntil: Date }
  /** The request of item `n` is about to leave. */
  | { readonly type: 'sending'; readonly workerId: string; readonly n: number }
  /** Proof that the service did not carry item `n` out: it may go again. */
  | {
      readonly type: 'held_back';
      readonly workerId: string;
      readonly n: number;
      readonly notBefore: Date;
      readonly why: string;
    }
  | {
      readonly type: 'answered';
      readonly n: number;
      readonly outcome: 'SUCCEEDED' | 'FAILED' | 'UNKNOWN';
      readonly result: ItemResult;
      /** The worker that gave the item up before its request left; absent when it left. */
      readonly givenUpBy?: string;
    }
  /** What the order needs has gone: whatever has not been sent fails. */
  | { readonly type: 'stopped'; readonly summary: string }
  /** The database was put back or slept: what it calls unsent may have been carried out since. */
  | { readonly type: 'doubted'; readonly summary: string }
  /** The worker has fallen silent, or has nothing to do until an item's `notBefore`. */
  | { readonly type: 'released' }
  | {
      readonly type: 'settled';
      /** Slack user id, or {@link EVIDENCE}. */
      readonly by: string;
      readonly outcome: 'SUCCEEDED' | 'FAILED';
      readonly reason: string | undefined;
      /** Only this item; all unknown ones when undefined. */
      readonly n?: number;
    };

/** One line of the audit log. */
export interface LogEntry {
  readonly kind: OrderEvent['type'] | 'requested' | 'finished';
  /** Slack user id, `system`, or {@link EVIDENCE}. */
  readonly actor: string;
  readonly state: OrderState;
  readonly version: number;
  readonly at: Date;
  readonly detail: Readonly<Record<string, unknown>>;
}

export type Transition =
  | { readonly ok: true; readonly order: Order; readonly log: readonly LogEntry[] }
  /** The event does not apply in this state: nothing changes. */
  | { readonly ok: false; readonly refusal: string };

const FINAL_STATES: ReadonlySet<OrderState> = new Set([
  'SUCCEEDED',
  'FAILED',
  'DENIED',
  'EXPIRED',
  'CANCELLED',
]);

/** Nothing more happens to it by itself. `UNKNOWN` is not final: a person settles it. */
export function isFinal(state: OrderState): boolean {
  return FINAL_STATES.has(state);
}

/** A second order for the same task and name is refused while one is open. */
export function isOpen(state: OrderState): boolean {
  return state !== 'DRAFT' && !isFinal(state);
}

/** `ctid` of an item: the order's id, with the item's number when there are several. */
export function ctidOf(orderId: string, n: number, count: number): string {
  return count === 1 ? orderId : `${orderId}.${n}`;
}

/** The order's state from its items' once all are settled; undefined while one is not. */
export function outcomeOf(items: readonly OrderItem[]): 'SUCCEEDED' | 'FAILED' | 'UNKNOWN' | undefined {
  if (items.some((item) => item.state === 'WAITING' || item.state === 'SENT')) return undefined;
  if (items.some((item) => item.state === 'UNKNOWN')) return 'UNKNOWN';
  return items.some((item) => item.state === 'FAILED') ? 'FAILED' : 'SUCCEEDED';
}

/**
 * What an event makes of an order. Pure; the store commits the result by compare-and-swap on `version`.
 * @param now the moment of the event
 */
export function transition(order: Order, event: OrderEvent, now: Date): Transition {
  switch (event.type) {
    case 'confirmed':
      if (order.state !== 'DRAFT') return refuse(order, 'confirmed');
      return change(
        order,
        now,
        event.type,
        order.requesterId,
        {},
        {
          state: event.needsApproval ? 'PENDING' : 'APPROVED',
          expiresAt: event.needsApproval ? event.expiresAt : undefined,
          nudgeAt: event.needsApproval ? event.nudgeAt : undefined,
        },
      );
    case 'approved':
      return approve(order, event, now);
    case 'denied':
      if (order.state !== 'PENDING') return refuse(order, 'denied');
      return change(
        order,
        now,
        event.type,
        event.by,
        { reason: event.reason ?? null },
        closed('DENIED', now),
      );
    case 'cancelled':
      if (order.state !== 'PENDING' && order.state !== 'DRAFT') return refuse(order, 'cancelled');
      return change(order, now, event.type, event.by, {}, closed('CANCELLED', now));
    case 'ran_out':
      if (order.state !== 'PENDING' || order.expiresAt === undefined || order.expiresAt > now) {
        return refuse(order, 'expired');
      }
      return change(order, now, event.type, SYSTEM, {}, closed('EXPIRED', now));
    case 'nudged':
      if (order.state !== 'PENDING' || order.nudgeAt === undefined || order.nudgeAt > now) {
        return refuse(order, 'nudged');
      }
      return change(order, now, event.type, SYSTEM, {}, { nudgeAt: undefined });
    case 'claimed':
      if (order.state !== 'APPROVED') return refuse(order, 'carried out');
      return change(
        order,
        now,
        event.type,
        SYSTEM,
        { worker: event.workerId },
        {
          state: 'EXECUTING',
          claim: { workerId: event.workerId, leaseUntil: event.leaseUntil },
        },
      );
    case 'sending':
      return sending(order, event, now);
    case 'held_back':
      return heldBack(order, event, now);
    case 'answered':
      return answered(order, event, now);
    case 'stopped':
      return stopped(order, event, now);
    case 'doubted':
      return doubted(order, event, now);
    case 'released':
      return released(order, now);
    case 'settled':
      return settled(order, event, now);
  }
}

const SYSTEM = 'system';

function closed(state: OrderState, now: Date): Partial<Order> {
  return { state, closedAt: now, expiresAt: undefined, nudgeAt: undefined, claim: undefined };
}

const STATE_IN_WORDS: Readonly<Record<OrderState, string>> = {
  DRAFT: 'not confirmed yet',
  PENDING: 'waiting for approval',
  APPROVED: 'approved already',
  EXECUTING: 'being carried out',
  SUCCEEDED: 'done',
  FAILED: 'failed',
  UNKNOWN: 'sent, with an unknown outcome',
  DENIED: 'denied',
  EXPIRED: 'expired',
  CANCELLED: 'cancelled',
};

/** The state as people read it, to follow "the order is". */
export function stateInWords(state: OrderState): string {
  return STATE_IN_WORDS[state];
}

/** What a person who was refused does next, by the state that the order is in. */
const NEXT: Readonly<Record<OrderState, string>> = {
  DRAFT: 'The person who asked has to confirm it first.',
  PENDING: 'An approver decides about it.',
  APPROVED: 'Its thread will say how it ends.',
  EXECUTING: 'Its thread will say how it ends.',
  SUCCEEDED: 'Its thread says how it went.',
  FAILED: 'Its thread says why; Retry asks again.',
  UNKNOWN: 'An approver has to settle it first.',
  DENIED: 'Ask again if it is still wanted.',
  EXPIRED: 'Ask again if it is still wanted.',
  CANCELLED: 'Ask again if it is still wanted.',
};

function refuse(order: Order, wanted: string): Transition {
  return {
    ok: false,
    refusal: `It cannot be ${wanted}: the order is ${stateInWords(order.state)}. ${NEXT[order.state]}`,
  };
}

function change(
  order: Order,
  now: Date,
  kind: LogEntry['kind'],
  actor: string,
  detail: LogEntry['detail'],
  changes: Partial<Order>,
): Transition & { ok: true } {
  const next: Order = { ...order, ...changes, version: order.version + 1 };
  return {
    ok: true,
    order: next,
    log: [{ kind, actor, detail, at: now, state: next.state, version: next.version }],
  };
}

function isClaimedBy(order: Order, workerId: string): boolean {
  return order.state === 'EXECUTING' && order.claim?.workerId === workerId;
}

function approve(order: Order, event: OrderEvent & { type: 'approved' }, now: Date): Transition {
  if (order.state !== 'PENDING') return refuse(order, 'approved');
  if (order.expiresAt !== undefined && order.expiresAt <= now) {
    return {
      ok: false,
      refusal: 'Its time is over, so it cannot be approved. Ask again if it is still wanted.',
    };
  }
  if (order.approvals.some((approval) => approval.userId === event.by)) {
    return { ok: false, refusal: 'You have approved this already. It needs somebody else’s approval too.' };
  }
  const approvals = [...order.approvals, { userId: event.by, at: now }];
  const lapsed = approvals.map(({ userId }) => userId).filter((userId) => !event.standing.includes(userId));
  const standing = approvals.length - lapsed.length;
  const enough = standing >= order.approvalsRequired;
  return change(
    order,
    now,
    event.type,
    event.by,
    { standing, lapsed, required: order.approvalsRequired },
    enough ? { approvals, state: 'APPROVED', expiresAt: undefined, nudgeAt: undefined } : { approvals },
  );
}

function replaceItem(order: Order, n: number, changes: Partial<OrderItem>): readonly OrderItem[] {
  return order.items.map((item) => (item.n === n ? { ...item, ...changes } : item));
}

/** Appends the line that says how the whole order ended, once no item is left to send. */
function finishIfSettled(result: Transition & { ok: true }, now: Date): Transition & { ok: true } {
  const outcome = outcomeOf(result.order.items);
  if (outcome === undefined || outcome === result.order.state) return result;
  const order: Order = {
    ...result.order,
    ...closed(outcome, now),
    closedAt: outcome === 'UNKNOWN' ? undefined : now,
  };
  const log = result.log.map((entry) => ({ ...entry, state: outcome }));
  return {
    ok: true,
    order,
    log: [
      ...log,
      { kind: 'finished', actor: SYSTEM, detail: {}, at: now, state: outcome, version: order.version },
    ],
  };
}

function sending(order: Order, event: OrderEvent & { type: 'sending' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  if (!isClaimedBy(order, event.workerId) || item?.state !== 'WAITING' || item.sentAt !== undefined) {
    return refuse(order, 'sent');
  }
  return change(
    order,
    now,
    event.type,
    SYSTEM,
    { n: item.n, name: item.name, ctid: item.ctid },
    {
      items: replaceItem(order, event.n, { state: 'SENT', sentAt: now, attempts: item.attempts + 1 }),
    },
  );
}

/** A try that failed before `sentAt` counts all the same, or it could go on for ever. */
function triesWith(item: OrderItem): number {
  return item.state === 'WAITING' ? item.attempts + 1 : item.attempts;
}

function heldBack(order: Order, event: OrderEvent & { type: 'held_back' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  if (
    !isClaimedBy(order, event.workerId) ||
    item === undefined ||
    (item.state !== 'SENT' && item.state !== 'WAITING')
  ) {
    return refuse(order, 'held back');
  }
  return change(
    order,
    now,
    event.type,
    SYSTEM,
    { n: item.n, name: item.name, why: event.why, until: event.notBefore.toISOString() },
    {
      items: replaceItem(order, event.n, {
        state: 'WAITING',
        sentAt: undefined,
        notBefore: event.notBefore,
        attempts: triesWith(item),
      }),
    },
  );
}

/**
 * An answer may also come late, after the item was given up as unknown: it is the best evidence there is. A worker
 * that sent nothing speaks for its own claim alone: by now another one's request may be on its way.
 */
function answered(order: Order, event: OrderEvent & { type: 'answered' }, now: Date): Transition {
  const item = order.items.find((candidate) => candidate.n === event.n);
  const applies =
    event.givenUpBy === undefined
      ? item?.state === 'SENT' || (item?.state === 'UNKNOWN' && event.outcome !== 'UNKNOWN')
      : event.outcome === 'FAILED' &&
        isClaimedBy(order, event.givenUpBy) &&
        (item?.state === 'WAITING' || item?.state === 'SENT');
  if (isFinal(order.state) || item === undefined || !applies) return refuse(order, 'answered');
  const detail = {
    n: item.n,
    name: item.name,
    ctid: item.ctid,
    outcome: event.outcome,
    result: event.result,
  };
  return finishIfSettled(
    change(order, now, event.type, SYSTEM, detail, {
      items: replaceItem(order, event.n, {
        state: event.outcome,
        answeredAt: now,
        result: event.result,
        attempts: triesWith(item),
      }),
    }),
    now,
  );
}

function stopped(order: Order, event: OrderEvent & { type: 'stopped' }, now: Date): Transition {
  if (order.state !== 'PENDING' && order.state !== 'APPROVED' && order.state !== 'EXECUTING') {
    return refuse(order, 'stopped');
  }
  return finishIfSettled(
    change(
      order,
      now,
      event.type,
      SYSTEM,
      { summary: event.summary },
      {
        items: order.items.map((item) =>
          item.state === 'WAITING' ? { ...item, state: 'FAILED', result: { summary: event.summary } } : item,
        ),
      },
    ),
    now,
  );
}

function doubted(order: Order, event: OrderEvent & { type: 'doubted' }, now: Date): Transition {
  if (order.state !== 'APPROVED' && order.state !== 'EXECUTING') return refuse(order, 'doubted');
  const { summary } = event;
  return finishIfSettled(
    change(
      order,
      now,
      event.type,
      SYSTEM,
      { summary },
      {
        items: order.items.map((item) =>
          item.state === 'WAITING' || item.state === 'SENT'
            ? { ...item, state: 'UNKNOWN', result: { ...item.result, summary } }
            : item,
        ),
      },
    ),
    now,
  );
}

/** What was sent and has no answer is unknown; what was not sent goes on in another claim. */
function released(order: Order, now: Date): Transition {
  if (order.state !== 'EXECUTING') return refuse(order, 'released');
  const lost = order.items.filter((item) => item.state === 'SENT');
  return finishIfSettled(
    change(
      order,
      now,
      'released',
      SYSTEM,
      { lost: lost.map((item) => item.ctid) },
      {
        state: 'APPROVED',
        claim: undefined,
        items: order.items.map((item) =>
          item.state === 'SENT' ? { ...item, state: 'UNKNOWN', result: { summary: NO_ANSWER_KNOWN } } : item,
        ),
      },
    ),
    now,
  );
}

const NO_ANSWER_KNOWN =
  'The request may have reached the service, but the bot stopped before it could read an answer.';

function settled(order: Order, event: OrderEvent & { type: 'settled' }, now: Date): Transition {
  const unknown = order.items.filter(
    (item) => item.state === 'UNKNOWN' && (event.n === undefined || item.n === event.n),
  );
  if (unknown.length === 0 || isFinal(order.state)) return refuse(order, 'settled');
  const summary = event.outcome === 'SUCCEEDED' ? 'Settled as done.' : 'Settled as not done.';
  const detail = {
    outcome: event.outcome,
    reason: event.reason ?? null,
    ctids: unknown.map((item) => item.ctid),
  };
  return finishIfSettled(
    change(order, now, event.type, event.by, detail, {
      items: order.items.map((item) =>
        unknown.includes(item)
          ? { ...item, state: event.outcome, result: { ...item.result, summary, settledBy: event.by } }
          : item,
      ),
    }),
    now,
  );
}
