import { describe, expect, test } from 'vitest';
import { HostBusyError, HostRateLimiter } from '../../src/http/host-rate-limiter.ts';

let now = new Date('2026-06-01T00:00:00Z');

/** Creates a request that the test ends. */
function createHeldRequest() {
  let end = () => {};
  let started = false;
  const answer = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    run: () => {
      started = true;
      return answer;
    },
    end: () => end(),
    get started() {
      return started;
    },
  };
}

function createLimiter(maxConcurrent: number): HostRateLimiter {
  return new HostRateLimiter({ maxConcurrent, spacingMs: 0, now: () => now });
}

const settlePromises = () => new Promise((resolve) => setImmediate(resolve));

describe('a slot', () => {
  test('is granted in the order of requests', async () => {
    const host = createLimiter(1);
    const requests = [createHeldRequest(), createHeldRequest(), createHeldRequest()];
    const runs = requests.map(({ run }) => host.run(run, undefined));
    for (const [index, request] of requests.entries()) {
      await settlePromises();
      expect(requests.map(({ started }) => started)).toEqual(requests.map((_, other) => other <= index));
      request.end();
    }
    await Promise.all(runs);
  });

  test('isn’t taken by a caller that stopped waiting', async () => {
    const host = createLimiter(1);
    const [first, never, last] = [createHeldRequest(), createHeldRequest(), createHeldRequest()];
    const controller = new AbortController();
    const firstRun = host.run(first.run, undefined);
    const abandoned = host.run(never.run, controller.signal);
    const lastRun = host.run(last.run, undefined);
    controller.abort(new Error('enough'));
    await expect(abandoned).rejects.toThrow('enough');
    first.end();
    last.end();
    await Promise.all([firstRun, lastRun]);
    expect([never.started, last.started]).toEqual([false, true]);
  });

  test('is free again after a failed request', async () => {
    const host = createLimiter(1);
    await expect(host.run(() => Promise.reject(new Error('cut')), undefined)).rejects.toThrow('cut');
    await expect(host.run(() => Promise.resolve('next'), undefined)).resolves.toBe('next');
  });
});

test('a paused host refuses new and waiting callers until the pause ends', async () => {
  const host = createLimiter(1);
  const first = createHeldRequest();
  const waiting = createHeldRequest();
  const firstRun = host.run(first.run, undefined);
  const waitingRun = host.run(waiting.run, undefined);
  await settlePromises();
  host.pause(5_000);
  host.pause(1_000);
  first.end();
  await Promise.all([firstRun, expect(waitingRun).rejects.toThrow(HostBusyError)]);
  await expect(host.run(() => Promise.resolve(), undefined)).rejects.toMatchObject({ retryAfterMs: 5_000 });
  expect(waiting.started).toBe(false);
  now = new Date(now.getTime() + 5_000);
  await expect(host.run(() => Promise.resolve('open'), undefined)).resolves.toBe('open');
});

test('a request isn’t started if its signal is already aborted', async () => {
  const request = createHeldRequest();
  const signal = AbortSignal.abort(new Error('gone'));
  await expect(createLimiter(1).run(request.run, signal)).rejects.toThrow('gone');
  expect(request.started).toBe(false);
});
