import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bursts } from '../support/bursts.ts';

/* Many concurrent clicks: each changes its order or gets a reply. Long version: test/torture/bursts.torture.ts. */

const CLICKS = 200;
const LIMITED = 20;

let bursts: Bursts;
beforeAll(async () => {
  bursts = await Bursts.start();
});
afterAll(() => bursts.close());

test(`${CLICKS} concurrent clicks on Approve are all applied when Slack is slow`, async () => {
  const { faults } = bursts.s.workspace;
  const orders = await bursts.waiting(CLICKS);
  faults.set({ method: 'usergroups.users.list', kind: 'ratelimited', retryAfter: 1, times: LIMITED });
  faults.set({ method: '*', kind: 'slow', delayMs: 150 });
  const { approved, told, silent } = await bursts.click(
    orders.map((order, n) => ({ order, userId: 'U0BOB', hasResponseUrl: n % 2 === 0 })),
  );
  expect(silent, `clicks without an effect or a reply\n${bursts.complaints()}`).toEqual([]);
  expect(approved, JSON.stringify([...told])).toBe(CLICKS);
}, 120_000);

test(`${CLICKS} concurrent clicks on Approve are applied or answered under rate limits`, async () => {
  const orders = await bursts.waiting(CLICKS);
  const { faults } = bursts.s.workspace;
  faults.clear();
  faults.set({ method: 'usergroups.users.list', kind: 'ratelimited', retryAfter: 1, times: LIMITED });
  faults.set({ method: 'users.info', kind: 'ratelimited', retryAfter: 1, times: LIMITED });
  faults.set({ method: 'chat.postEphemeral', kind: 'ratelimited', retryAfter: 1, times: 2 });
  faults.set({ method: 'conversations.open', kind: 'ratelimited', retryAfter: 1, times: 2 });
  faults.set({ method: '*', kind: 'slow', delayMs: 150 });
  const { approved, told, silent } = await bursts.click(
    orders.map((order, n) => ({ order, userId: 'U0BOB', hasResponseUrl: n % 2 === 0 })),
  );
  const replies = [...told.values()].reduce((sum, count) => sum + count, 0);
  expect(silent, `clicks without an effect or a reply\n${bursts.complaints()}`).toEqual([]);
  expect(approved + replies, JSON.stringify([...told])).toBe(CLICKS);
  // Concurrent clicks share one lookup of the person, and its failure.
  expect(approved === 0 || approved >= CLICKS - LIMITED, JSON.stringify([...told])).toBe(true);
}, 120_000);
