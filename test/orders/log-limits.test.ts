import { describe, expect, test } from 'vitest';
import {
  createBotSignatureCheck,
  deriveLoggedItem,
  findLogDifference,
  findSendBlocker,
  signRetryEvents,
} from '../../src/orders/log-limits.ts';
import type { Order, OrderEvent, OrderItem } from '../../src/orders/order.ts';
import type { OrderLogEntry } from '../../src/orders/order-events.ts';
import { transition } from '../../src/orders/state-machine.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { newBulk, newOrder } from './sample.ts';

const NOW = new Date('2026-03-01T09:00:00Z');
const DONE = { summary: { code: 'done' } } as const;
const SENDING: OrderEvent = { type: 'sending', workerId: 'w', n: 1 };
const BUSY: OrderEvent = {
  type: 'retry_scheduled',
  workerId: 'w',
  n: 1,
  notBefore: NOW,
  retryReason: 'busy',
};
const ANSWERED: OrderEvent = { type: 'answered', n: 1, outcome: 'SUCCEEDED', result: DONE };
const LEFT: OrderEvent = { type: 'stopped', summary: { code: 'requester_left' } };
const STOPPED: OrderEvent = { type: 'stopped', summary: { code: 'stopped' }, by: 'U0BOB' };

const FAILED: OrderEvent = { ...ANSWERED, outcome: 'FAILED' };
const UNANSWERED: OrderEvent = { ...ANSWERED, outcome: 'UNKNOWN' };
const SETTLED: OrderEvent = { type: 'resolved', by: 'U0BOB', outcome: 'FAILED', reason: undefined };
const GIVEN_UP: OrderEvent = { ...FAILED, abandonedBy: 'x' };
const X_SENDING: OrderEvent = { ...SENDING, workerId: 'x' };
const X_BUSY: OrderEvent = { ...BUSY, workerId: 'x' };
const isSignedByBot = createBotSignatureCheck(BOT_SIGNER);

/** The order, its first item and its log after the events. */
function logEvents(...events: readonly OrderEvent[]): {
  readonly order: Order;
  readonly item: OrderItem;
  readonly log: OrderLogEntry[];
} {
  return logOf({}, ...events);
}

function logOf(overrides: Partial<Order>, ...events: readonly OrderEvent[]) {
  let order = newOrder(['a.rest', 'b.rest'], { state: 'EXECUTING', claim: { workerId: 'w' }, ...overrides });
  const log: OrderLogEntry[] = [];
  for (const event of events) {
    const result = transition(order, event, NOW);
    if (!result.ok) throw new Error(`${event.type}: ${result.refusal.code}`);
    order = result.order;
    log.push(...signRetryEvents(BOT_SIGNER, order.id, result.log));
  }
  const [item] = order.items;
  if (item === undefined) throw new Error('no item');
  return { order, item, log };
}

const [requested] = logEvents(SENDING).log;
const entry = (more: object) => ({ ...requested, kind: 'mandate_ended', ...more }) as OrderLogEntry;

describe('an item in the log', () => {
  test.each<[what: string, state: string, outcome: string | undefined, ...events: OrderEvent[]]>([
    ['nothing was sent', 'unsent', undefined],
    ['its request was sent', 'sent', 'UNKNOWN', SENDING],
    ['the service was busy', 'unsent', undefined, SENDING, BUSY],
    ['it was sent again', 'sent', 'UNKNOWN', SENDING, BUSY, SENDING],
    ['its session ended', 'sent', 'UNKNOWN', SENDING, { ...SENDING, retryReason: 'session_ended' }],
    ['it got a response', 'ended', 'SUCCEEDED', SENDING, ANSWERED],
    ['the requester left', 'ended', undefined, LEFT],
    ['the requester left after it was sent', 'sent', 'UNKNOWN', SENDING, LEFT],
    ['a person stopped it', 'ended', undefined, STOPPED],
    ['a person stopped it after it was sent', 'stopping', 'UNKNOWN', SENDING, STOPPED],
    ['the service was busy after a person stopped it', 'ended', undefined, SENDING, STOPPED, BUSY],
    ['its worker died', 'ended', 'UNKNOWN', SENDING, { type: 'released' }],
    [
      'the database had lost commits',
      'ended',
      undefined,
      { type: 'invalidated', summary: { code: 'database_restored' } },
    ],
    [
      'a person settled it as done',
      'ended',
      'SUCCEEDED',
      SENDING,
      { type: 'answered', n: 1, outcome: 'UNKNOWN', result: DONE },
      { type: 'resolved', by: 'U0BOB', outcome: 'SUCCEEDED', reason: undefined },
    ],
  ])('has the expected state when %s', (_what, state, outcome, ...events) => {
    const { order, item, log } = logEvents(...events);
    expect(deriveLoggedItem(log, item, isSignedByBot(order.id))).toEqual({ state, outcome });
  });

  test.each<[kind: OrderLogEntry['kind'], state: Order['state'], item: string]>([
    ['approved', 'EXECUTING', 'unsent'],
    ['approved', 'UNKNOWN', 'ended'],
    ['approved', 'CANCELLED', 'ended'],
    ['invalidated', 'EXECUTING', 'ended'],
  ])('after the order’s event %s in the state %s is %s', (kind, state, expected) => {
    const { order, item } = logEvents();
    expect(deriveLoggedItem([entry({ kind, state })], item, isSignedByBot(order.id)).state).toBe(expected);
  });

  test('blocks rows that contradict it, and accepts matching rows', () => {
    const waiting = logEvents().item;
    const limit = (log: OrderLogEntry[], item: OrderItem) =>
      findSendBlocker({ ...logEvents().order, version: 9 }, item, log, isSignedByBot);
    expect(limit(logEvents(SENDING, BUSY).log, waiting)).toBeUndefined();
    expect(limit(logEvents(SENDING).log, waiting)).toBe('sent');
    expect(limit(logEvents(SENDING, ANSWERED).log, waiting)).toBe('ended');
    expect(limit([], logEvents(SENDING).item)).toBe('missing');
    expect(limit(logEvents(SENDING, STOPPED).log, logEvents(SENDING).item)).toBe('ended');
    // Otherwise, an older request's retry would allow a request with that version.
    const { order, log } = logEvents(SENDING, BUSY);
    expect(findSendBlocker({ ...order, version: order.version - 1 }, waiting, log, isSignedByBot)).toBe(
      'older',
    );
  });
});

/*
 * An attacker with write access can add events. The bot signs those that allow a retry: retries, failures (responses,
 * late responses, settlements, invalidations) and a mandate's coming into force. Approvals, vouches and charters have
 * signatures of their own; revocations, `released`, `finished` and `contradicted` only limit.
 */
describe('a retry isn’t allowed by an added event', () => {
  const sent = logEvents(SENDING).log;
  const again = logEvents(SENDING, BUSY, SENDING).log;
  const unanswered = logEvents(SENDING, UNANSWERED).log;
  const settled = logEvents(SENDING, UNANSWERED, SETTLED).log;
  const signed = (log: readonly OrderLogEntry[], wanted: OrderLogEntry['kind']) =>
    log.filter(({ kind, botSignature }) => kind === wanted && botSignature !== undefined);
  const retry = signed(again, 'retry_scheduled');
  const failed = signed(logEvents(SENDING, FAILED).log, 'answered');
  const forge = (entries: readonly OrderLogEntry[], changes: Partial<OrderLogEntry>) =>
    entries.map((entry) => ({ ...entry, ...changes }) as OrderLogEntry);
  const byOther = { claim: { workerId: 'x' } };

  test.each<[what: string, log: readonly OrderLogEntry[], added: readonly OrderLogEntry[]]>([
    ['a retry without the bot’s signature', sent, forge(retry, { botSignature: 'AAAA' })],
    ['a copy of an earlier retry', again, retry],
    ['a copied retry with a newer version', again, forge(retry, { version: 99 })],
    ['a copy for another name', logEvents({ ...SENDING, n: 2 }).log, forge(retry, { n: 2 } as object)],
    ['a retry of another claim', sent, signed(logOf(byOther, X_SENDING, X_BUSY).log, 'retry_scheduled')],
    ['a retry of another order', sent, signed(logOf({ id: 'other' }, SENDING, BUSY).log, 'retry_scheduled')],
    ['a failure without the bot’s signature', sent, forge(failed, { botSignature: 'AAAA' })],
    ['a copy of an earlier failure', unanswered, failed],
    ['a failure of a claim that sent nothing', sent, signed(logOf(byOther, GIVEN_UP).log, 'answered')],
    [
      'a settlement without the bot’s signature',
      unanswered,
      forge(signed(settled, 'resolved'), { botSignature: 'AAAA' }),
    ],
  ])('such as %s', (_what, log, added) => {
    const { order } = logEvents();
    expect(added).not.toEqual([]);
    const n = log.some((entry) => 'n' in entry && entry.n === 2) ? 1 : 0;
    const item = order.items[n];
    if (item === undefined) throw new Error('no item');
    expect(deriveLoggedItem([...log, ...added], item, isSignedByBot(order.id))).toMatchObject({
      outcome: 'UNKNOWN',
    });
  });
});

describe('an order compared with its log', () => {
  test('may have an item that is being sent when a person stops it', () => {
    const { order, log } = logEvents(SENDING, STOPPED);
    expect(order.items[0]?.state).toBe('SENT');
    expect(findLogDifference(order, log, isSignedByBot)).toBeUndefined();
    const items = order.items.map((item) => ({ ...item, state: 'WAITING' as const }));
    expect(findLogDifference({ ...order, items }, log, isSignedByBot)).toBe('ended');
  });

  test.each<[what: string, changes: Partial<Order>, sent: number, expected: string | undefined]>([
    ['a row hides a response', {}, 2, 'ended'],
    ['a row has a request that the log doesn’t', {}, 1, 'missing'],
    ['a row of a bulk order hides a response', { bulk: newBulk(2) }, 2, 'ended'],
    ['only events of a bulk order’s row are missing', { bulk: newBulk(2) }, 1, undefined],
  ])('has the expected difference when %s', (_what, changes, sent, expected) => {
    const { order, log } = logOf(changes, { ...SENDING, n: 2 }, { ...ANSWERED, n: 2 });
    const items = order.items.map((item) => (item.n === sent ? { ...item, state: 'SENT' as const } : item));
    expect(findLogDifference({ ...order, items }, log, isSignedByBot)).toBe(expected);
  });

  const mandate = (more: object = {}) =>
    newOrder(['a.rest'], { task: 'mandate', state: 'SUCCEEDED', version: 3, ...more });
  const inState = (kind: OrderLogEntry['kind']) => entry({ kind, version: 3, state: 'SUCCEEDED' });
  const [inForce, ended] = [inState('in_force'), inState('mandate_ended')];
  test.each<[string, Order, readonly OrderLogEntry[], string | undefined]>([
    ['it has no log', mandate(), [], 'missing'],
    ['its log is newer', mandate(), [inForce, entry({ version: 4, state: 'SUCCEEDED' })], 'older'],
    ['its log has another state', mandate(), [entry({ version: 3, state: 'PENDING' })], 'older'],
    ['its mandate is in force', mandate(), [inForce], undefined],
    ['its mandate has ended', mandate(), [inForce, ended], 'ended'],
    ['its mandate was stopped', mandate(), [inForce, inState('cancelled')], 'ended'],
    ['its mandate’s order has finished', mandate(), [inForce, inState('finished')], undefined],
    [
      'its mandate never came into force',
      mandate(),
      [entry({ kind: 'approved', version: 3, state: 'SUCCEEDED' })],
      'missing',
    ],
  ])('has the expected difference when %s', (_what, order, history, expected) => {
    expect(findLogDifference(order, history, isSignedByBot)).toBe(expected);
    expect(findLogDifference(order, history.toReversed(), isSignedByBot)).toBe(expected);
  });
});
