import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Order } from '../../src/orders/order.ts';
import {
  decideInvalidation,
  findRestoreSign,
  findRewindSign,
  type HeartbeatReading,
  type HeartbeatRow,
  markUnsentAsUnknown,
  startHeartbeat,
} from '../../src/orders/restore-guard.ts';
import { contextWith } from '../support/context.ts';
import { hoursLater, newOrder, START } from './sample.ts';

const MINUTE_MS = 60_000;
const NOW = hoursLater(24);
const subtractFromNow = (ms: number) => new Date(NOW.getTime() - ms);
const LAST_HEARTBEAT: HeartbeatRow = {
  ...{ database: 'd', server: 's', count: 3, isOriginal: true, activeProcesses: [], version: '1' },
  seenAt: subtractFromNow(MINUTE_MS),
};
const newReading = (
  last: Partial<HeartbeatRow>,
  fields: Partial<HeartbeatReading> = {},
): HeartbeatReading => ({
  ...{ database: 'd', server: 's', position: 0, isBehind: false, last: { ...LAST_HEARTBEAT, ...last } },
  ...fields,
});

test.each<[string, HeartbeatReading, why: RegExp | undefined]>([
  ['a clean restart', newReading({ server: 'old' }), undefined],
  ['a killed bot on the same server', newReading({ activeProcesses: ['old'] }), undefined],
  ['a killed bot on another server', newReading({ activeProcesses: ['old'], server: 'old' }), /was killed/],
  ['15 minutes without a bot', newReading({ seenAt: subtractFromNow(15 * MINUTE_MS) }), undefined],
  ['more than 15 minutes', newReading({ seenAt: subtractFromNow(15 * MINUTE_MS + 1) }), /long time/],
  ['another database', newReading({}, { database: 'copy' }), /another database/],
  ['a dump', newReading({ isOriginal: false }), /from a dump/],
  ['a new database', { ...newReading({}), last: undefined }, undefined],
])('a starting bot checks for signs of a restore: %s', (_, reading, why) => {
  const sign = findRestoreSign(reading, NOW)?.why;
  if (why === undefined) expect(sign).toBeUndefined();
  else expect(sign).toMatch(why);
});

test.each<[string, HeartbeatReading, why: RegExp | undefined]>([
  ['the same count', newReading({}), undefined],
  ['a higher count', newReading({ count: 4 }), undefined],
  ['a lower count', newReading({ count: 2 }), /went back/],
  ['no heartbeat', { ...newReading({}), last: undefined }, /went back/],
  ['another server', newReading({}, { server: 'new' }), undefined],
  ['another database', newReading({}, { database: 'copy' }), /another database/],
  ['lost commits', newReading({}, { isBehind: true }), /lost commits/],
  ['a dump', newReading({ isOriginal: false }), /from a dump/],
])('a running bot checks for signs of a restore: %s', (_, reading, why) => {
  const sign = findRewindSign({ database: 'd', server: 's', count: 3 }, reading);
  if (why === undefined) expect(sign).toBeUndefined();
  else expect(sign).toMatch(why);
});

test.each<[string, Partial<Order>, decision: string]>([
  ['approved', {}, 'invalidated'],
  ['executing', { state: 'EXECUTING' }, 'invalidated'],
  ['scheduled for later', { sendAfter: hoursLater(25) }, 'not_due'],
  ['scheduled for now', { sendAfter: NOW }, 'reopened'],
  ['scheduled after the last heartbeat', { sendAfter: hoursLater(23) }, 'reopened'],
  ['scheduled for the last heartbeat', { sendAfter: hoursLater(22) }, 'invalidated'],
  ['executing before its time', { state: 'EXECUTING', sendAfter: hoursLater(25) }, 'invalidated'],
])('after a restore, the expected decision is made for an unsent order: %s', (_, order, expected) => {
  const decision = decideInvalidation(
    newOrder(['cafe.rest'], { state: 'APPROVED', ...order }),
    NOW,
    hoursLater(22),
  );
  expect('refusal' in decision ? decision.refusal.code : decision.event.type).toBe(expected);
});

const INTERVALS = { beatMs: 15_000, otherProcessesCheckMs: 10_000 };

/** Creates a guard that gets these readings from the database and records its actions. */
function newGuard(...readings: readonly HeartbeatReading[]) {
  const remainingReadings = [...readings];
  const actions: string[] = [];
  const recordAction = (action: string) => void actions.push(action);
  const writeErrors: Error[] = [];
  const context = contextWith({
    ...{ now: () => NOW, processId: 'me', advance: () => undefined, ...INTERVALS },
    store: {
      listInProgressIds: async () => [],
      list: async () => {
        recordAction('end mandates');
        return [];
      },
    },
    log: { warn: () => undefined, error: ({ why }: { readonly why: string }) => recordAction(why) },
    heartbeat: {
      read: async () =>
        (remainingReadings.length > 1 ? remainingReadings.shift() : remainingReadings[0]) ?? newReading({}),
      write: async () => {
        const fault = writeErrors.shift();
        if (fault !== undefined) throw fault;
        return 4;
      },
      verify: async ({ server }: HeartbeatReading) => recordAction(`verify ${server}`),
      suspend: () => recordAction('suspend'),
      onUnverifiedServer: () => undefined,
    },
  });
  return { context, done: actions, faults: writeErrors };
}

const DAY_MS = 24 * 60 * MINUTE_MS;
test.each([
  ['a day', START, true],
  ['less than a day', new Date(START.getTime() + 1), false],
])('mandates end only if at least a day was lost: %s', async (_, seenAt, areEnded) => {
  const { context, done } = newGuard(newReading({ seenAt }));
  expect(NOW.getTime() - START.getTime()).toBe(DAY_MS);
  await markUnsentAsUnknown(context);
  expect(done).toEqual([...(areEnded ? ['end mandates'] : []), 'verify s']);
});

describe('a heartbeat', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());
  const KNOWN = { database: 'd', server: 's', count: 3 };

  test.each([
    ['alone', ['me'], ['verify new']],
    ['with another process', ['me', 'other'], []],
  ])('verifies a restarted server at once only if it is alone: %s', async (_, activeProcesses, expected) => {
    const { context, done } = newGuard(newReading({ activeProcesses }, { server: 'new' }));
    const heartbeat = startHeartbeat(context, KNOWN);
    await vi.advanceTimersByTimeAsync(INTERVALS.beatMs + 9_000);
    expect(done).toEqual(expected);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(done).toEqual(['verify new']);
    heartbeat.stop();
  });

  test('verifies the same server at once, even with another process', async () => {
    const { context, done } = newGuard(newReading({ activeProcesses: ['me', 'other'] }));
    const heartbeat = startHeartbeat(context, KNOWN);
    await vi.advanceTimersByTimeAsync(INTERVALS.beatMs);
    expect(done).toEqual(['verify s']);
    heartbeat.stop();
  });

  test.each([
    [4, true],
    [5, false],
  ])('is recorded at a clean stop after up to 4 failures (%s: %s)', async (count, isRecorded) => {
    const { context, done, faults } = newGuard(newReading({}));
    const heartbeat = startHeartbeat(context, KNOWN);
    for (let n = 0; n < count; n += 1) faults.push(new Error('another heartbeat was written'));
    const stopped = heartbeat.stopCleanly();
    if (isRecorded) await stopped;
    else await expect(stopped).rejects.toThrow('another heartbeat');
    expect(done).toEqual(isRecorded ? ['verify s'] : []);
  });
});
