import { expect, test } from 'vitest';
import { createPacer, type Pacer, type Urgency } from '../../../src/slack/outbound/pacer.ts';

const MINUTE_MS = 60_000;
const UPDATE = 'chat.update';

function clockAt(startMs = 1_000_000) {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

/** Slack's side: a limit of calls in any minute, and the wait after exceeding it. */
function strictSlack(now: () => number, perMinute: number) {
  const taken: number[] = [];
  let refusals = 0;
  return {
    taken,
    refusals: () => refusals,
    take(): number {
      const first = taken.at(-perMinute);
      const waitMs = first === undefined ? 0 : first + MINUTE_MS - now();
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
function tryCall(pacer: Pacer, slack: ReturnType<typeof strictSlack>, urgency: Urgency): boolean {
  if (pacer.tryStart(UPDATE, undefined, urgency) > 0) return false;
  const retryAfterMs = slack.take();
  if (retryAfterMs > 0) pacer.recordRefusal(UPDATE, undefined, retryAfterMs);
  return retryAfterMs === 0;
}

test('200 background updates at 50 a minute neither delay urgent ones nor cause refusals', () => {
  const clock = clockAt();
  const pacer = createPacer(clock.now);
  const slack = strictSlack(clock.now, 50);
  let left = 200;
  const waits: number[] = [];
  let askedAt: number | undefined;
  for (let ms = 0; left > 0 && ms < 20 * MINUTE_MS; ms += 250, clock.pass(250)) {
    if (ms % 5_000 === 0) askedAt ??= clock.now();
    if (askedAt !== undefined && tryCall(pacer, slack, 'urgent')) {
      waits.push(clock.now() - askedAt);
      askedAt = undefined;
    }
    while (left > 0 && tryCall(pacer, slack, 'background')) left -= 1;
  }
  expect(left).toBe(0);
  expect(waits.length).toBeGreaterThan(50);
  expect(Math.max(...waits)).toBe(0);
  expect(slack.refusals()).toBe(0);
});

test.each([1, 2, 4])('%d independent processes share a limit of 50 a minute', (processes) => {
  const clock = clockAt();
  const slack = strictSlack(clock.now, 50);
  const pacers = Array.from({ length: processes }, () => createPacer(clock.now));
  const left = new Map(pacers.map((pacer) => [pacer, 200]));
  for (let ms = 0; ms < 60 * MINUTE_MS; ms += 250, clock.pass(250))
    for (const [pacer, rest] of left)
      if (rest > 0 && tryCall(pacer, slack, 'background')) left.set(pacer, rest - 1);
  expect([...left.values()].every((rest) => rest === 0)).toBe(true);
  expect(slack.refusals() / slack.taken.length).toBeLessThan(0.2);
});

test('a refusal pauses the whole method until its end, then urgent calls go first', () => {
  const clock = clockAt();
  const pacer = createPacer(clock.now);
  pacer.tryStart(UPDATE, 'C1', 'urgent');
  pacer.recordRefusal(UPDATE, 'C1', 30_000);
  expect(pacer.tryStart(UPDATE, 'C2', 'urgent')).toBe(30_000);
  expect(pacer.hasCapacity(UPDATE)).toBe(false);
  clock.pass(30_000);
  expect(pacer.tryStart(UPDATE, 'C2', 'urgent')).toBe(0);
  expect(pacer.tryStart(UPDATE, 'C3', 'urgent')).toBe(1_200);
  expect(pacer.tryStart(UPDATE, 'C3', 'background')).toBe(2_400);
  clock.pass(1_200);
  expect(pacer.tryStart(UPDATE, 'C3', 'urgent')).toBe(0);
  clock.pass(MINUTE_MS);
  expect(Array.from({ length: 60 }, () => pacer.tryStart(UPDATE, 'C3', 'urgent'))).toEqual(Array(60).fill(0));
});

test('posts are limited per channel, and other methods not at all', () => {
  const clock = clockAt();
  const pacer = createPacer(clock.now);
  pacer.recordRefusal('chat.postMessage', 'C1', 2_000);
  pacer.recordRefusal('users.info', undefined, 5_000);
  expect(pacer.tryStart('users.info', undefined, 'urgent')).toBe(0);
  expect(pacer.tryStart('chat.postMessage', 'C1', 'urgent')).toBe(2_000);
  expect(pacer.tryStart('chat.postMessage', 'C2', 'urgent')).toBe(0);
  clock.pass(2_000);
  expect(pacer.tryStart('chat.postMessage', 'C1', 'urgent')).toBe(0);
  expect(pacer.tryStart('chat.postMessage', 'C1', 'urgent')).toBe(1_000);
});

test('a clock that is set back delays nothing', () => {
  const clock = clockAt();
  const pacer = createPacer(clock.now);
  pacer.recordRefusal(UPDATE, undefined, 30_000);
  clock.pass(-3_600_000);
  expect(pacer.tryStart(UPDATE, undefined, 'urgent')).toBe(0);
});
