import { expect, test } from 'vitest';
import { createPacer, type Pacer, type Urgency } from '../../../src/slack/outbound/pacer.ts';

const MINUTE_MS = 60_000;
const UPDATE_METHOD = 'chat.update';

function createClock(startMs = 1_000_000) {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

/** Simulates Slack's limit of calls in any minute, and the wait after a refusal. */
function createStrictSlack(now: () => number, perMinute: number) {
  const taken: number[] = [];
  let refusals = 0;
  return {
    taken,
    refusals: () => refusals,
    tryAccept(): number {
      const oldest = taken.at(-perMinute);
      const waitMs = oldest === undefined ? 0 : oldest + MINUTE_MS - now();
      if (waitMs > 0) {
        refusals += 1;
        return Math.ceil(waitMs / 1_000) * 1_000;
      }
      taken.push(now());
      return 0;
    },
  };
}

/** Makes a call, if the pacer allows it and Slack accepts it. */
function tryCall(pacer: Pacer, slack: ReturnType<typeof createStrictSlack>, urgency: Urgency): boolean {
  if (pacer.tryStart(UPDATE_METHOD, undefined, urgency) > 0) return false;
  const retryAfterMs = slack.tryAccept();
  if (retryAfterMs > 0) pacer.recordRefusal(UPDATE_METHOD, undefined, retryAfterMs);
  return retryAfterMs === 0;
}

test('200 background updates at 50 a minute neither delay urgent ones nor cause refusals', () => {
  const clock = createClock();
  const pacer = createPacer(clock.now);
  const slack = createStrictSlack(clock.now, 50);
  let remaining = 200;
  const waits: number[] = [];
  let requestedAt: number | undefined;
  for (let ms = 0; remaining > 0 && ms < 20 * MINUTE_MS; ms += 250, clock.advance(250)) {
    if (ms % 5_000 === 0) requestedAt ??= clock.now();
    if (requestedAt !== undefined && tryCall(pacer, slack, 'urgent')) {
      waits.push(clock.now() - requestedAt);
      requestedAt = undefined;
    }
    while (remaining > 0 && tryCall(pacer, slack, 'background')) remaining -= 1;
  }
  expect(remaining).toBe(0);
  expect(waits.length).toBeGreaterThan(50);
  expect(Math.max(...waits)).toBe(0);
  expect(slack.refusals()).toBe(0);
});

test.each([1, 2, 4])('%d independent processes share a limit of 50 a minute', (processes) => {
  const clock = createClock();
  const slack = createStrictSlack(clock.now, 50);
  const pacers = Array.from({ length: processes }, () => createPacer(clock.now));
  const remainingCalls = new Map(pacers.map((pacer) => [pacer, 200]));
  for (let ms = 0; ms < 60 * MINUTE_MS; ms += 250, clock.advance(250))
    for (const [pacer, count] of remainingCalls)
      if (count > 0 && tryCall(pacer, slack, 'background')) remainingCalls.set(pacer, count - 1);
  expect([...remainingCalls.values()].every((count) => count === 0)).toBe(true);
  expect(slack.refusals() / slack.taken.length).toBeLessThan(0.2);
});

test('a refusal pauses the whole method until its end, then urgent calls go first', () => {
  const clock = createClock();
  const pacer = createPacer(clock.now);
  pacer.tryStart(UPDATE_METHOD, 'C1', 'urgent');
  pacer.recordRefusal(UPDATE_METHOD, 'C1', 30_000);
  expect(pacer.tryStart(UPDATE_METHOD, 'C2', 'urgent')).toBe(30_000);
  expect(pacer.hasCapacity(UPDATE_METHOD)).toBe(false);
  clock.advance(30_000);
  expect(pacer.tryStart(UPDATE_METHOD, 'C2', 'urgent')).toBe(0);
  expect(pacer.tryStart(UPDATE_METHOD, 'C3', 'urgent')).toBe(1_200);
  expect(pacer.tryStart(UPDATE_METHOD, 'C3', 'background')).toBe(2_400);
  clock.advance(1_200);
  expect(pacer.tryStart(UPDATE_METHOD, 'C3', 'urgent')).toBe(0);
  clock.advance(MINUTE_MS);
  expect(Array.from({ length: 60 }, () => pacer.tryStart(UPDATE_METHOD, 'C3', 'urgent'))).toEqual(
    Array(60).fill(0),
  );
});

test('posts are limited per channel, and other methods not at all', () => {
  const clock = createClock();
  const pacer = createPacer(clock.now);
  pacer.recordRefusal('chat.postMessage', 'C1', 2_000);
  pacer.recordRefusal('users.info', undefined, 5_000);
  expect(pacer.tryStart('users.info', undefined, 'urgent')).toBe(0);
  expect(pacer.tryStart('chat.postMessage', 'C1', 'urgent')).toBe(2_000);
  expect(pacer.tryStart('chat.postMessage', 'C2', 'urgent')).toBe(0);
  clock.advance(2_000);
  expect(pacer.tryStart('chat.postMessage', 'C1', 'urgent')).toBe(0);
  expect(pacer.tryStart('chat.postMessage', 'C1', 'urgent')).toBe(1_000);
});

test('a clock that is set back delays no calls', () => {
  const clock = createClock();
  const pacer = createPacer(clock.now);
  pacer.recordRefusal(UPDATE_METHOD, undefined, 30_000);
  clock.advance(-3_600_000);
  expect(pacer.tryStart(UPDATE_METHOD, undefined, 'urgent')).toBe(0);
});
