import { beforeEach, describe, expect, it } from 'vitest';
import { createCache } from '../../../src/slack/outbound/cache.ts';
import { SlackApiError } from '../../../src/slack/outbound/web.ts';

let nowMs: number;
let calls: string[];
let waits: number[];
let respond: (key: string) => Promise<string>;
beforeEach(() => {
  nowMs = 0;
  calls = [];
  waits = [];
  respond = async (key) => `${key} ${calls.length}`;
});

const createTestCache = (maxAgeMs: number) =>
  createCache({
    maxAgeMs,
    now: () => nowMs,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
      nowMs += milliseconds;
    },
    load: (key: string) => {
      calls.push(key);
      return respond(key);
    },
  });

/** Leaves the next call pending until the test answers it. */
function deferAnswer() {
  let resolve: (text: string) => void = () => undefined;
  respond = () =>
    new Promise((done) => {
      resolve = done;
    });
  return { answer: (text: string) => resolve(text) };
}

describe('a cached answer', () => {
  it('is served until its maximum age, counted from the call', async () => {
    const cache = createTestCache(10_000);
    expect(await cache.get('a')).toBe('a 1');
    nowMs = 9_999;
    expect(await cache.get('a')).toBe('a 1');
    nowMs = 10_000;
    expect(await cache.get('a')).toBe('a 2');
    expect(await cache.get('b')).toBe('b 3');
  });

  it('that takes longer than its maximum age is returned only to its waiting callers', async () => {
    const cache = createTestCache(10_000);
    const slow = deferAnswer();
    const first = cache.get('a');
    nowMs = 15_000;
    const second = cache.get('a');
    slow.answer('late');
    expect(await Promise.all([first, second])).toEqual(['late', 'late']);
    respond = async () => 'new';
    expect(await cache.get('a')).toBe('new');
    expect(calls).toHaveLength(2);
  });

  it('isn’t kept if it was cleared during its call', async () => {
    const cache = createTestCache(10_000);
    const slow = deferAnswer();
    const first = cache.get('a');
    cache.forget('a');
    respond = async () => 'after the change';
    const second = cache.get('a');
    slow.answer('before the change');
    expect(await first).toBe('before the change');
    expect(await second).toBe('after the change');
    expect(await cache.get('a')).toBe('after the change');
  });
});

describe('concurrent callers', () => {
  it('cause one call', async () => {
    const cache = createTestCache(10_000);
    const slow = deferAnswer();
    const all = Array.from({ length: 200 }, () => cache.get('a'));
    slow.answer('once');
    expect(new Set(await Promise.all(all))).toEqual(new Set(['once']));
    expect(calls).toEqual(['a']);
  });
});

describe('a failure', () => {
  it('reaches all waiting callers, and isn’t cached', async () => {
    const cache = createTestCache(10_000);
    respond = async () => {
      throw new SlackApiError('unreachable', 'users.info', {});
    };
    const all = await Promise.allSettled([cache.get('a'), cache.get('a')]);
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(calls).toHaveLength(1);
    respond = async () => 'back';
    expect(await cache.get('a')).toBe('back');
  });

  it('due to a rate limit stops calls for all keys until the limit ends', async () => {
    const cache = createTestCache(60_000);
    await cache.get('known');
    respond = async () => {
      throw new SlackApiError('rate_limited', 'users.info', { retryAfterMs: 30_000 });
    };
    await expect(cache.get('a')).rejects.toThrow('rate_limited');
    respond = async () => 'back';
    // In the last two seconds of a limit, calls wait.
    nowMs = 27_999;
    await expect(cache.get('b')).rejects.toThrow('rate_limited');
    expect(await cache.get('known')).toBe('known 1');
    expect(calls).toEqual(['known', 'a']);
    nowMs = 30_000;
    expect(await cache.get('b')).toBe('back');
  });

  /** Rate-limits one call for each of these durations. */
  const limitNextCalls = (...retryAfterMs: number[]) => {
    respond = async () => {
      const retryAfter = retryAfterMs.shift();
      if (retryAfter === undefined) return 'back';
      throw new SlackApiError('rate_limited', 'users.info', { retryAfterMs: retryAfter });
    };
  };

  it('due to a rate limit of at most 2 seconds is retried after it', async () => {
    const cache = createTestCache(60_000);
    limitNextCalls(1_000);
    expect(await Promise.all([cache.get('a'), cache.get('a')])).toEqual(['back', 'back']);
    expect(calls, 'one wait for all callers').toEqual(['a', 'a']);
    expect(waits).toEqual([1_001]);
  });

  it('due to another call’s rate limit is retried after it, too', async () => {
    const cache = createTestCache(60_000);
    limitNextCalls(3_000);
    await expect(cache.get('a')).rejects.toThrow('rate_limited');
    nowMs = 1_500;
    expect(await cache.get('b')).toBe('back');
    expect(waits).toEqual([1_501]);
  });

  it('due to a rate limit is retried once, and only if the limit is short', async () => {
    const cache = createTestCache(60_000);
    limitNextCalls(2_000, 1_000);
    await expect(cache.get('a')).rejects.toThrow('rate_limited');
    expect(waits).toEqual([2_001]);
    nowMs += 1_001;
    limitNextCalls(2_001);
    await expect(cache.get('a')).rejects.toThrow('rate_limited');
    expect(waits).toHaveLength(1);
  });

  it('due to a rate limit without Retry-After is retried at most once', async () => {
    const cache = createTestCache(60_000);
    limitNextCalls(0, 0, 0);
    await expect(cache.get('a')).rejects.toThrow('rate_limited');
    expect(calls).toHaveLength(2);
  });
});
