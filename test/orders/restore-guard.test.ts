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
const before = (ms: number) => new Date(NOW.getTime() - ms);
const LAST: HeartbeatRow = {
  ...{ database: 'd', server: 's', count: 3, isOriginal: true, activeProcesses: [], version: '1' },
  seenAt: before(MINUTE_MS),
};
const readingOf = (last: Partial<HeartbeatRow>, more: Partial<HeartbeatReading> = {}): HeartbeatReading => ({
  ...{ database: 'd', server: 's', position: 0, isBehind: false, last: { ...LAST, ...last } },
  ...more,
});

test.each<[string, HeartbeatReading, why: RegExp | undefined]>([
  ['a clean restart', readingOf({ server: 'old' }), undefined],
  ['a killed bot on the same server', readingOf({ activeProcesses: ['old'] }), undefined],
  ['a killed bot on another server', readingOf({ activeProcesses: ['old'], server: 'old' }), /was killed/],
  ['15 minutes without a bot', readingOf({ seenAt: before(15 * MINUTE_MS) }), undefined],
  ['more than 15 minutes', readingOf({ seenAt: before(15 * MINUTE_MS + 1) }), /long time/],
  ['another database', readingOf({}, { database: 'copy' }), /another database/],
  ['a dump', readingOf({ isOriginal: false }), /from a dump/],
  ['a new database', { ...readingOf({}), last: undefined }, undefined],
])('a sign of a restore at the start, or none: %s', (_, reading, why) => {
  const sign = findRestoreSign(reading, NOW)?.why;
  if (why === undefined) expect(sign).toBeUndefined();
  else expect(sign).toMatch(why);
});

test.each<[string, HeartbeatReading, why: RegExp | undefined]>([
  ['the same count', readingOf({}), undefined],
  ['a higher count', readingOf({ count: 4 }), undefined],
  ['a lower count', readingOf({ count: 2 }), /went back/],
  ['no heartbeat', { ...readingOf({}), last: undefined }, /went back/],
  ['another server', readingOf({}, { server: 'new' }), undefined],
  ['another database', readingOf({}, { database: 'copy' }), /another database/],
  ['lost commits', readingOf({}, { isBehind: true }), /lost commits/],
  ['a dump', readingOf({ isOriginal: false }), /from a dump/],
])('a sign of a restore while a bot runs, or none: %s', (_, reading, why) => {
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
])('an unsent order is decided after a restore: %s', (_, order, expected) => {
  const decision = decideInvalidation(
    newOrder(['cafe.rest'], { state: 'APPROVED', ...order }),
    NOW,
    hoursLater(22),
  );
  expect('refusal' in decision ? decision.refusal.code : decision.event.type).toBe(expected);
});

const PACE = { beatMs: 15_000, otherProcessesMs: 10_000 };

/** A guard with these readings from the database, which records its actions. */
function arrange(...readings: readonly HeartbeatReading[]) {
  const left = [...readings];
  const done: string[] = [];
  const act = (what: string) => void done.push(what);
  const faults: Error[] = [];
  const context = contextWith({
    ...{ now: () => NOW, processId: 'me', advance: () => undefined, ...PACE },
    store: {
      listInProgressIds: async () => [],
      list: async () => {
        act('end mandates');
        return [];
      },
    },
    log: { warn: () => undefined, error: ({ why }: { readonly why: string }) => act(why) },
    heartbeat: {
      read: async () => (left.length > 1 ? left.shift() : left[0]) ?? readingOf({}),
      write: async () => {
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        return 4;
      },
      verify: async ({ server }: HeartbeatReading) => act(`verify ${server}`),
      suspend: () => act('suspend'),
      onOtherServer: () => undefined,
    },
  });
  return { context, done, faults };
}

const DAY_MS = 24 * 60 * MINUTE_MS;
test.each([
  ['if a day', START, true],
  ['not if less than a day', new Date(START.getTime() + 1), false],
])('mandates end, %s was lost', async (_, seenAt, areEnded) => {
  const { context, done } = arrange(readingOf({ seenAt }));
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
    ['with others', ['me', 'other'], []],
  ])('verifies a restarted server at once only if it is alone: %s', async (_, activeProcesses, expected) => {
    const { context, done } = arrange(readingOf({ activeProcesses }, { server: 'new' }));
    const heartbeat = startHeartbeat(context, KNOWN);
    await vi.advanceTimersByTimeAsync(PACE.beatMs + 9_000);
    expect(done).toEqual(expected);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(done).toEqual(['verify new']);
    heartbeat.stop();
  });

  test('verifies the same server at once, even with others', async () => {
    const { context, done } = arrange(readingOf({ activeProcesses: ['me', 'other'] }));
    const heartbeat = startHeartbeat(context, KNOWN);
    await vi.advanceTimersByTimeAsync(PACE.beatMs);
    expect(done).toEqual(['verify s']);
    heartbeat.stop();
  });

  test.each([
    [4, true],
    [5, false],
  ])('is recorded at a clean stop after %s failures: %s', async (count, isRecorded) => {
    const { context, done, faults } = arrange(readingOf({}));
    const heartbeat = startHeartbeat(context, KNOWN);
    for (let n = 0; n < count; n += 1) faults.push(new Error('another heartbeat was written'));
    const stopped = heartbeat.stopCleanly();
    if (isRecorded) await stopped;
    else await expect(stopped).rejects.toThrow('another heartbeat');
    expect(done).toEqual(isRecorded ? ['verify s'] : []);
  });
});
