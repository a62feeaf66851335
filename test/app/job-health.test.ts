import { expect, test } from 'vitest';
import { createJobHealth } from '../../src/app/work.ts';

test('a job is reported after failing for ten minutes, until it succeeds; each failure is counted', () => {
  let now = new Date('2026-11-26T09:00:00Z');
  const counted: string[] = [];
  const health = createJobHealth(
    () => now,
    (job) => void counted.push(job),
  );
  const failAfter = (minutes: number) => {
    now = new Date(now.getTime() + minutes * 60_000);
    health.recordOutcome('mandates', 'failed');
  };
  failAfter(0);
  health.recordOutcome('digest', 'succeeded');
  failAfter(9);
  expect(health.describeLastingFailures()).toBeUndefined();
  failAfter(1);
  expect(health.describeLastingFailures()).toBe('mandates failed 3 times since 2026-11-26T09:00:00.000Z');
  expect(counted).toEqual(['mandates', 'mandates', 'mandates']);
  health.recordOutcome('mandates', 'succeeded');
  failAfter(30);
  expect(health.describeLastingFailures()).toBeUndefined();
});
