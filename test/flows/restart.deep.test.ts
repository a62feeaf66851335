import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOMAINS, link, readCommandReply, textOf, until } from '../support/demo.ts';
import { type RunningBot, SHORT_LEASES, type Surroundings, startSurroundings } from '../support/harness.ts';
import {
  approveRequested,
  chargesFor,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
} from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

/* The bot is killed or stopped while it works, and restarted. */

const MAX_WAIT_MS = 60_000;

let s: Surroundings;
let bot: RunningBot;
let alice: Actor;
let bob: Actor;

beforeAll(async () => {
  s = await startSurroundings();
  bot = await s.start(SHORT_LEASES);
  alice = s.workspace.as('U0ALICE');
  bob = s.workspace.as('U0BOB');
  await link(s.workspace, alice);
}, MAX_WAIT_MS);
afterAll(() => s.stop());

const waitUntilSent = (order: VisibleOrder) =>
  until(`the request of order ${order.id} is sent`, () => requestsOf(s.service, order).length === 1);

const requestAndApprove = (text: string) => approveRequested(bob, requestByCommand(s.workspace, alice, text));

test(
  'a killed bot sends nothing twice, loses no decision and reports unknown outcomes',
  async () => {
    s.service.faults.set({ kind: 'hang', match: { name: 'cafe.rest' } });
    s.service.faults.set({ kind: 'status_429', retryAfter: 2, times: 1, match: { name: 'bar.rest' } });
    const waiting = await requestByCommand(s.workspace, alice, '/domain renew deli.rest');
    const heldOff = await requestAndApprove('/domain renew bar.rest');
    await until('the deferred request', async () => requestsOf(s.service, heldOff).length === 1);
    const hanging = await requestAndApprove('/domain renew cafe.rest 2');
    await waitUntilSent(hanging);
    await hanging.waitForState('EXECUTING');
    const clicked = await Promise.all(
      ['soup.rest', 'sushi.rest', 'tapas.rest'].map(async (name) => ({
        name,
        // The command is acknowledged before the bot is killed.
        order: await requestByCommand(s.workspace, alice, `/domain renew ${name}`, DOMAINS, name),
      })),
    );
    await Promise.all(clicked.map(({ order }) => bob.click(order.card, 'order_approve')));
    await bot.child.kill('SIGKILL');
    expect((await bob.click(waiting.card, 'order_approve')).acked, 'a click while no bot is running').toBe(
      false,
    );

    bot = await s.start(SHORT_LEASES);
    const unknown = await hanging.waitForResult('UNKNOWN', 20_000);
    expect(textOf(unknown)).toMatch(/service may have received it.*won’t be sent again/s);
    expect(requestsOf(s.service, hanging), 'requests of the hanging order').toHaveLength(1);
    await heldOff.waitForState('SUCCEEDED', 20_000);
    expect(chargesFor(s.service, 'bar.rest')).toBe(1);
    await bob.click(waiting.card, 'order_approve');
    await waiting.waitForState('SUCCEEDED', 20_000);
    expect(chargesFor(s.service, 'deli.rest')).toBe(1);
    for (const { name, order } of clicked) {
      // If the click was lost with the bot, repeat it.
      if (order.state === 'PENDING') await bob.click(order.card, 'order_approve');
      const state = await s.workspace.waitFor(
        () => (['SUCCEEDED', 'UNKNOWN'].includes(order.state) ? order.state : undefined),
        { what: `the order for ${name} (${order.state}) to end`, timeoutMs: 20_000 },
      );
      // An order that was marked as sent before the kill is unknown, even without a request.
      const requests = requestsOf(s.service, order).length;
      expect(requests, `requests for ${name}`).toBeLessThanOrEqual(1);
      if (state === 'SUCCEEDED') expect(chargesFor(s.service, name), `charges for ${name}`).toBe(1);
    }

    await giveReason(s.workspace, bob, unknown, 'order_resolve_failed', 'Mark as failed');
    await hanging.waitForResult('FAILED');
  },
  MAX_WAIT_MS,
);

test(
  'a stopped bot finishes running work or leaves it unknown, and exits with 0 within 10 s',
  async () => {
    s.service.faults.set({ kind: 'slow', delayMs: 1_500, match: { name: 'menu.example' } });
    s.service.faults.set({ kind: 'hang', match: { name: 'tables.example' } });
    const slow = await requestAndApprove('/domain renew menu.example');
    const hanging = await requestAndApprove('/domain renew tables.example');
    await waitUntilSent(slow);
    await waitUntilSent(hanging);
    const stoppedAt = Date.now();
    process.kill(bot.child.pid, 'SIGTERM');
    expect(await bot.child.ended, bot.child.output()).toBe(0);
    expect(Date.now() - stoppedAt, 'ms until exit').toBeLessThan(10_000);

    bot = await s.start(SHORT_LEASES);
    await slow.waitForResult('SUCCEEDED', 20_000);
    await hanging.waitForResult('UNKNOWN', 20_000);
    expect(requestsOf(s.service, slow)).toHaveLength(1);
    expect(requestsOf(s.service, hanging)).toHaveLength(1);
    expect(
      await readCommandReply(s.workspace, alice, '/domain whoami'),
      'the linked account after the restarts',
    ).toContain('alice in context 4');
  },
  MAX_WAIT_MS,
);
