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
const REQUESTER_LEFT: OrderEvent = { type: 'stopped', summary: { code: 'requester_left' } };
const STOPPED_BY_PERSON: OrderEvent = { type: 'stopped', summary: { code: 'stopped' }, by: 'U0BOB' };

const ANSWERED_FAILED: OrderEvent = { ...ANSWERED, outcome: 'FAILED' };
const ANSWERED_UNKNOWN: OrderEvent = { ...ANSWERED, outcome: 'UNKNOWN' };
const SETTLED: OrderEvent = { type: 'resolved', by: 'U0BOB', outcome: 'FAILED', reason: undefined };
const ABANDONED_BY_X: OrderEvent = { ...ANSWERED_FAILED, abandonedBy: 'x' };
const SENDING_BY_X: OrderEvent = { ...SENDING, workerId: 'x' };
const BUSY_BY_X: OrderEvent = { ...BUSY, workerId: 'x' };
const isSignedByBot = createBotSignatureCheck(BOT_SIGNER);

/** Applies the events. @returns the order, its first item and its log */
function applyEvents(...events: readonly OrderEvent[]): {
  readonly order: Order;
  readonly item: OrderItem;
  readonly log: OrderLogEntry[];
} {
  return applyEventsTo({}, ...events);
}

function applyEventsTo(overrides: Partial<Order>, ...events: readonly OrderEvent[]) {
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

const [requested] = applyEvents(SENDING).log;
const newEntry = (fields: object) => ({ ...requested, kind: 'mandate_ended', ...fields }) as OrderLogEntry;

describe('an item in the log', () => {
  test.each<[what: string, state: string, outcome: string | undefined, ...events: OrderEvent[]]>([
    ['nothing was sent', 'unsent', undefined],
    ['its request was sent', 'sent', 'UNKNOWN', SENDING],
    ['the service was busy', 'unsent', undefined, SENDING, BUSY],
    ['it was sent again', 'sent', 'UNKNOWN', SENDING, BUSY, SENDING],
    ['its session ended', 'sent', 'UNKNOWN', SENDING, { ...SENDING, retryReason: 'session_ended' }],
    ['it got a response', 'ended', 'SUCCEEDED', SENDING, ANSWERED],
    ['the requester left', 'ended', undefined, REQUESTER_LEFT],
    ['the requester left after it was sent', 'sent', 'UNKNOWN', SENDING, REQUESTER_LEFT],
    ['a person stopped it', 'ended', undefined, STOPPED_BY_PERSON],
    ['a person stopped it after it was sent', 'stopping', 'UNKNOWN', SENDING, STOPPED_BY_PERSON],
    ['the service was busy after a person stopped it', 'ended', undefined, SENDING, STOPPED_BY_PERSON, BUSY],
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
    const { order, item, log } = applyEvents(...events);
    expect(deriveLoggedItem(log, item, isSignedByBot(order.id))).toEqual({ state, outcome });
  });

  test.each<[kind: OrderLogEntry['kind'], state: Order['state'], item: string]>([
    ['approved', 'EXECUTING', 'unsent'],
    ['approved', 'UNKNOWN', 'ended'],
    ['approved', 'CANCELLED', 'ended'],
    ['invalidated', 'EXECUTING', 'ended'],
  ])('after an order event %s with the state %s is %s', (kind, state, expected) => {
    const { order, item } = applyEvents();
    expect(deriveLoggedItem([newEntry({ kind, state })], item, isSignedByBot(order.id)).state).toBe(expected);
  });

  test('blocks sending if its row contradicts it', () => {
    const waiting = applyEvents().item;
    const findBlocker = (log: OrderLogEntry[], item: OrderItem) =>
      findSendBlocker({ ...applyEvents().order, version: 9 }, item, log, isSignedByBot);
    expect(findBlocker(applyEvents(SENDING, BUSY).log, waiting)).toBeUndefined();
    expect(findBlocker(applyEvents(SENDING).log, waiting)).toBe('sent');
    expect(findBlocker(applyEvents(SENDING, ANSWERED).log, waiting)).toBe('ended');
    expect(findBlocker([], applyEvents(SENDING).item)).toBe('missing');
    expect(findBlocker(applyEvents(SENDING, STOPPED_BY_PERSON).log, applyEvents(SENDING).item)).toBe('ended');
    // Otherwise, an older request's retry would allow a request with that version.
    const { order, log } = applyEvents(SENDING, BUSY);
    expect(findSendBlocker({ ...order, version: order.version - 1 }, waiting, log, isSignedByBot)).toBe(
      'older',
    );
  });
});

/*
 * An attacker with write access can add events. The bot signs those that allow a retry: retries, failures (responses,
 * late responses, settlements, invalidations) and mandates that come into force. Approvals, vouches and charters have
 * their own signatures. Revocations, `released`, `finished` and `contradicted` only restrict.
 */
describe('an added event doesn’t allow a retry', () => {
  const sentLog = applyEvents(SENDING).log;
  const resentLog = applyEvents(SENDING, BUSY, SENDING).log;
  const unansweredLog = applyEvents(SENDING, ANSWERED_UNKNOWN).log;
  const settledLog = applyEvents(SENDING, ANSWERED_UNKNOWN, SETTLED).log;
  const filterSigned = (log: readonly OrderLogEntry[], wantedKind: OrderLogEntry['kind']) =>
    log.filter(({ kind, botSignature }) => kind === wantedKind && botSignature !== undefined);
  const signedRetry = filterSigned(resentLog, 'retry_scheduled');
  const signedFailure = filterSigned(applyEvents(SENDING, ANSWERED_FAILED).log, 'answered');
  const forge = (entries: readonly OrderLogEntry[], changes: Partial<OrderLogEntry>) =>
    entries.map((entry) => ({ ...entry, ...changes }) as OrderLogEntry);
  const claimedByX = { claim: { workerId: 'x' } };

  test.each<[what: string, log: readonly OrderLogEntry[], added: readonly OrderLogEntry[]]>([
    ['a retry without the bot’s signature', sentLog, forge(signedRetry, { botSignature: 'AAAA' })],
    ['a copy of an earlier retry', resentLog, signedRetry],
    ['a copied retry with a newer version', resentLog, forge(signedRetry, { version: 99 })],
    [
      'a copied retry of another item',
      applyEvents({ ...SENDING, n: 2 }).log,
      forge(signedRetry, { n: 2 } as object),
    ],
    [
      'a retry of another claim',
      sentLog,
      filterSigned(applyEventsTo(claimedByX, SENDING_BY_X, BUSY_BY_X).log, 'retry_scheduled'),
    ],
    [
      'a retry of another order',
      sentLog,
      filterSigned(applyEventsTo({ id: 'other' }, SENDING, BUSY).log, 'retry_scheduled'),
    ],
    ['a failure without the bot’s signature', sentLog, forge(signedFailure, { botSignature: 'AAAA' })],
    ['a copy of an earlier failure', unansweredLog, signedFailure],
    [
      'a failure of a claim that sent nothing',
      sentLog,
      filterSigned(applyEventsTo(claimedByX, ABANDONED_BY_X).log, 'answered'),
    ],
    [
      'a settlement without the bot’s signature',
      unansweredLog,
      forge(filterSigned(settledLog, 'resolved'), { botSignature: 'AAAA' }),
    ],
  ])('if it is %s', (_what, log, added) => {
    const { order } = applyEvents();
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
    const { order, log } = applyEvents(SENDING, STOPPED_BY_PERSON);
    expect(order.items[0]?.state).toBe('SENT');
    expect(findLogDifference(order, log, isSignedByBot)).toBeUndefined();
    const items = order.items.map((item) => ({ ...item, state: 'WAITING' as const }));
    expect(findLogDifference({ ...order, items }, log, isSignedByBot)).toBe('ended');
  });

  test.each<[what: string, changes: Partial<Order>, sent: number, expected: string | undefined]>([
    ['a row hides a response', {}, 2, 'ended'],
    ['a row has a request that the log lacks', {}, 1, 'missing'],
    ['a row of a bulk order hides a response', { bulk: newBulk(2) }, 2, 'ended'],
    ['only events of a bulk order’s row are missing', { bulk: newBulk(2) }, 1, undefined],
  ])('has the expected difference when %s', (_what, changes, sentItemNumber, expected) => {
    const { order, log } = applyEventsTo(changes, { ...SENDING, n: 2 }, { ...ANSWERED, n: 2 });
    const items = order.items.map((item) =>
      item.n === sentItemNumber ? { ...item, state: 'SENT' as const } : item,
    );
    expect(findLogDifference({ ...order, items }, log, isSignedByBot)).toBe(expected);
  });

  const newMandate = (more: object = {}) =>
    newOrder(['a.rest'], { task: 'mandate', state: 'SUCCEEDED', version: 3, ...more });
  const newEntryOf = (kind: OrderLogEntry['kind']) => newEntry({ kind, version: 3, state: 'SUCCEEDED' });
  const [inForce, ended] = [newEntryOf('in_force'), newEntryOf('mandate_ended')];
  test.each<[string, Order, readonly OrderLogEntry[], string | undefined]>([
    ['it has no log', newMandate(), [], 'missing'],
    ['its log is newer', newMandate(), [inForce, newEntry({ version: 4, state: 'SUCCEEDED' })], 'older'],
    ['its log has another state', newMandate(), [newEntry({ version: 3, state: 'PENDING' })], 'older'],
    ['its mandate is in force', newMandate(), [inForce], undefined],
    ['its mandate has ended', newMandate(), [inForce, ended], 'ended'],
    ['its mandate was stopped', newMandate(), [inForce, newEntryOf('cancelled')], 'ended'],
    ['its mandate’s order has finished', newMandate(), [inForce, newEntryOf('finished')], undefined],
    [
      'its mandate never came into force',
      newMandate(),
      [newEntry({ kind: 'approved', version: 3, state: 'SUCCEEDED' })],
      'missing',
    ],
  ])('has the expected difference when %s', (_what, order, history, expected) => {
    expect(findLogDifference(order, history, isSignedByBot)).toBe(expected);
    expect(findLogDifference(order, history.toReversed(), isSignedByBot)).toBe(expected);
  });
});
