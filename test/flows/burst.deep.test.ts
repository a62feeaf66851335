import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bursts } from '../support/bursts.ts';

/* Many concurrent clicks: each changes its order or gets a reply. Long version: test/torture/bursts.torture.ts. */

const CLICKS = 200;
const RATE_LIMITED_CALLS = 20;

let bursts: Bursts;
beforeAll(async () => {
  bursts = await Bursts.start();
});
afterAll(() => bursts.close());

test(`${CLICKS} concurrent clicks on Approve are all applied when Slack is slow`, async () => {
  const { faults } = bursts.environment.workspace;
  const orders = await bursts.createPendingOrders(CLICKS);
  faults.set({
    method: 'usergroups.users.list',
    kind: 'ratelimited',
    retryAfterSeconds: 1,
    times: RATE_LIMITED_CALLS,
  });
  faults.set({ method: '*', kind: 'slow', delayMs: 150 });
  const { approved, answerCounts, unanswered } = await bursts.click(
    orders.map((order, n) => ({ order, userId: 'U0BOB', hasResponseUrl: n % 2 === 0 })),
  );
  expect(unanswered, `clicks without an effect or a reply\n${bursts.listLoggedErrors()}`).toEqual([]);
  expect(approved, JSON.stringify([...answerCounts])).toBe(CLICKS);
}, 120_000);

test(`${CLICKS} concurrent clicks on Approve are applied or answered under rate limits`, async () => {
  const orders = await bursts.createPendingOrders(CLICKS);
  const { faults } = bursts.environment.workspace;
  faults.clear();
  faults.set({
    method: 'usergroups.users.list',
    kind: 'ratelimited',
    retryAfterSeconds: 1,
    times: RATE_LIMITED_CALLS,
  });
  faults.set({ method: 'users.info', kind: 'ratelimited', retryAfterSeconds: 1, times: RATE_LIMITED_CALLS });
  faults.set({ method: 'chat.postEphemeral', kind: 'ratelimited', retryAfterSeconds: 1, times: 2 });
  faults.set({ method: 'conversations.open', kind: 'ratelimited', retryAfterSeconds: 1, times: 2 });
  faults.set({ method: '*', kind: 'slow', delayMs: 150 });
  const { approved, answerCounts, unanswered } = await bursts.click(
    orders.map((order, n) => ({ order, userId: 'U0BOB', hasResponseUrl: n % 2 === 0 })),
  );
  const replies = [...answerCounts.values()].reduce((sum, count) => sum + count, 0);
  expect(unanswered, `clicks without an effect or a reply\n${bursts.listLoggedErrors()}`).toEqual([]);
  expect(approved + replies, JSON.stringify([...answerCounts])).toBe(CLICKS);
  // Concurrent clicks share one lookup of the person, and its failure.
  expect(approved === 0 || approved >= CLICKS - RATE_LIMITED_CALLS, JSON.stringify([...answerCounts])).toBe(
    true,
  );
}, 120_000);
