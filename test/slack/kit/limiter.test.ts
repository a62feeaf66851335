import { expect, test } from 'vitest';
import { createRateLimiter } from '../../../src/slack/kit/limiter.ts';

test('calls count for one minute, and refused calls don’t count', () => {
  let now = 0;
  const limiter = createRateLimiter(3, 60_000, () => now);
  const at = (seconds: number, person = 'U0ALICE') => {
    now = seconds * 1_000;
    return limiter.recordUse(person);
  };
  expect([at(0), at(10), at(50)]).toEqual([undefined, undefined, undefined]);
  expect(at(55), 'seconds until the first is a minute old').toBe(5);
  expect(at(59.9)).toBe(1);
  expect(at(59.9, 'U0BOB'), 'another person').toBeUndefined();
  expect([at(60), at(61)]).toEqual([undefined, 9]);
  expect(at(70)).toBeUndefined();
});

test('inactive people are forgotten', () => {
  let now = 0;
  const limiter = createRateLimiter(1, 60_000, () => now);
  for (let n = 0; n < 5_000; n += 1) {
    now = n * 1_000;
    expect(limiter.recordUse(`U${n}`)).toBeUndefined();
  }
  expect(limiter.recordUse('U4999')).toBe(60);
});

test('a call that was undone doesn’t count', () => {
  const limiter = createRateLimiter(1, 60_000, () => 0);
  for (let n = 0; n < 3; n += 1) {
    expect(limiter.recordUse('U0ALICE')).toBeUndefined();
    limiter.undoUse('U0ALICE');
  }
  expect(limiter.recordUse('U0ALICE')).toBeUndefined();
  expect(limiter.recordUse('U0ALICE')).toBe(60);
});
