import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOMAINS, link, readCommandReply, textOf, until } from '../support/demo.ts';
import {
  type BotEnvironment,
  type RunningBot,
  SHORT_LEASE_BOT,
  startBotEnvironment,
} from '../support/harness.ts';
import {
  countChargesFor,
  requestAndApprove,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
} from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

/* The bot is killed or stopped while it works, and restarted. */

const MAX_WAIT_MS = 60_000;

let s: BotEnvironment;
let bot: RunningBot;
let alice: Actor;
let bob: Actor;

beforeAll(async () => {
  s = await startBotEnvironment();
  bot = await s.start(SHORT_LEASE_BOT);
  alice = s.workspace.as('U0ALICE');
  bob = s.workspace.as('U0BOB');
  await link(s.workspace, alice);
}, MAX_WAIT_MS);
afterAll(() => s.stop());

const waitUntilSent = (order: VisibleOrder) =>
  until(`the request for order ${order.id} is sent`, () => requestsOf(s.service, order).length === 1);

const requestApprovedOrder = (command: string) =>
  requestAndApprove(bob, requestByCommand(s.workspace, alice, command));

test(
  'a killed bot sends nothing twice, loses no decision and reports unknown outcomes',
  async () => {
    s.service.faults.set({ kind: 'hang', match: { name: 'cafe.rest' } });
    s.service.faults.set({ kind: 'status_429', retryAfter: 2, times: 1, match: { name: 'bar.rest' } });
    const pendingOrder = await requestByCommand(s.workspace, alice, '/domain renew deli.rest');
    const deferredOrder = await requestApprovedOrder('/domain renew bar.rest');
    await until('the service has deferred it', async () => requestsOf(s.service, deferredOrder).length === 1);
    const hangingOrder = await requestApprovedOrder('/domain renew cafe.rest 2');
    await waitUntilSent(hangingOrder);
    await hangingOrder.waitForState('EXECUTING');
    const clickedOrders = await Promise.all(
      ['soup.rest', 'sushi.rest', 'tapas.rest'].map(async (name) => ({
        name,
        // Waits, so that each command is acknowledged before the bot is killed.
        order: await requestByCommand(s.workspace, alice, `/domain renew ${name}`, DOMAINS, name),
      })),
    );
    await Promise.all(clickedOrders.map(({ order }) => bob.click(order.card, 'order_approve')));
    await bot.child.kill('SIGKILL');
    expect(
      (await bob.click(pendingOrder.card, 'order_approve')).acked,
      'a click while no bot is running',
    ).toBe(false);

    bot = await s.start(SHORT_LEASE_BOT);
    const unknownReply = await hangingOrder.waitForResult('UNKNOWN', 20_000);
    expect(textOf(unknownReply)).toMatch(/service may have received it.*won’t be sent again/s);
    expect(requestsOf(s.service, hangingOrder), 'requests for the hanging order').toHaveLength(1);
    await deferredOrder.waitForState('SUCCEEDED', 20_000);
    expect(countChargesFor(s.service, 'bar.rest')).toBe(1);
    await bob.click(pendingOrder.card, 'order_approve');
    await pendingOrder.waitForState('SUCCEEDED', 20_000);
    expect(countChargesFor(s.service, 'deli.rest')).toBe(1);
    for (const { name, order } of clickedOrders) {
      // If the click was lost with the bot, repeat it.
      if (order.state === 'PENDING') await bob.click(order.card, 'order_approve');
      const state = await s.workspace.waitFor(
        () => (['SUCCEEDED', 'UNKNOWN'].includes(order.state) ? order.state : undefined),
        { what: `the order for ${name} (${order.state}) to end`, timeoutMs: 20_000 },
      );
      // An order marked as sent before the kill ends as UNKNOWN, even if the service got no request.
      const requests = requestsOf(s.service, order).length;
      expect(requests, `requests for ${name}`).toBeLessThanOrEqual(1);
      if (state === 'SUCCEEDED') expect(countChargesFor(s.service, name), `charges for ${name}`).toBe(1);
    }

    await giveReason(s.workspace, bob, unknownReply, 'order_resolve_failed', 'Mark as failed');
    await hangingOrder.waitForResult('FAILED');
  },
  MAX_WAIT_MS,
);

test(
  'a stopped bot finishes running orders or reports them as unknown, and exits with 0 within 10 s',
  async () => {
    s.service.faults.set({ kind: 'slow', delayMs: 1_500, match: { name: 'menu.example' } });
    s.service.faults.set({ kind: 'hang', match: { name: 'tables.example' } });
    const slowOrder = await requestApprovedOrder('/domain renew menu.example');
    const hangingOrder = await requestApprovedOrder('/domain renew tables.example');
    await waitUntilSent(slowOrder);
    await waitUntilSent(hangingOrder);
    const stoppedAt = Date.now();
    process.kill(bot.child.pid, 'SIGTERM');
    expect(await bot.child.ended, bot.child.output()).toBe(0);
    expect(Date.now() - stoppedAt, 'ms until exit').toBeLessThan(10_000);

    bot = await s.start(SHORT_LEASE_BOT);
    await slowOrder.waitForResult('SUCCEEDED', 20_000);
    await hangingOrder.waitForResult('UNKNOWN', 20_000);
    expect(requestsOf(s.service, slowOrder)).toHaveLength(1);
    expect(requestsOf(s.service, hangingOrder)).toHaveLength(1);
    expect(
      await readCommandReply(s.workspace, alice, '/domain whoami'),
      'the linked account after the restarts',
    ).toContain('alice in context 4');
  },
  MAX_WAIT_MS,
);
