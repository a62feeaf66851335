import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerTo, DOMAINS, link, textOf, until } from '../support/demo.ts';
import { IMPATIENT, type RunningBot, type Surroundings, startSurroundings } from '../support/harness.ts';
import { approvedBy, ask, chargesFor, requestsOf, type SeenOrder } from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

/* The bot ends in the middle of its work, killed or stopped, and another one continues. */

const MAX_WAIT_MS = 60_000;

let s: Surroundings;
let bot: RunningBot;
let alice: Actor;
let bob: Actor;

beforeAll(async () => {
  s = await startSurroundings();
  bot = await s.start(IMPATIENT);
  alice = s.workspace.as('U0ALICE');
  bob = s.workspace.as('U0BOB');
  await link(s.workspace, alice);
}, MAX_WAIT_MS);
afterAll(() => s.stop());

const underWay = (order: SeenOrder) =>
  until(`the request of order ${order.id} is under way`, () => requestsOf(s.service, order).length === 1);

const approved = (text: string) => approvedBy(bob, ask(s.workspace, alice, text));

test(
  'killed: nothing is sent twice, no decision is lost, and unknown outcomes are reported',
  async () => {
    s.service.faults.set({ kind: 'hang', match: { name: 'cafe.rest' } });
    s.service.faults.set({ kind: 'status_429', retryAfter: 2, times: 1, match: { name: 'bar.rest' } });
    const waiting = await ask(s.workspace, alice, '/domain renew deli.rest');
    const heldOff = await approved('/domain renew bar.rest');
    await until('the service has held it off', async () => requestsOf(s.service, heldOff).length === 1);
    const hanging = await approved('/domain renew cafe.rest 2');
    await underWay(hanging);
    await hanging.becomes('EXECUTING');
    const clicked = await Promise.all(
      ['soup.rest', 'sushi.rest', 'tapas.rest'].map(async (name) => ({
        name,
        // Acknowledged before anything was decided.
        order: await ask(s.workspace, alice, `/domain renew ${name}`, DOMAINS, name),
      })),
    );
    await Promise.all(clicked.map(({ order }) => bob.click(order.card, 'order_approve')));
    await bot.child.kill('SIGKILL');
    expect((await bob.click(waiting.card, 'order_approve')).acked, 'a click while nobody is there').toBe(
      false,
    );

    bot = await s.start(IMPATIENT);
    const unknown = await hanging.ends('UNKNOWN', 20_000);
    expect(textOf(unknown)).toMatch(/service may have received it.*won’t be sent again/s);
    expect(requestsOf(s.service, hanging), 'requests of the order that hung').toHaveLength(1);
    await heldOff.becomes('SUCCEEDED', 20_000);
    expect(chargesFor(s.service, 'bar.rest')).toBe(1);
    await bob.click(waiting.card, 'order_approve');
    await waiting.becomes('SUCCEEDED', 20_000);
    expect(chargesFor(s.service, 'deli.rest')).toBe(1);
    for (const { name, order } of clicked) {
      // The click was processed, or it was lost with the bot: then it is repeated.
      if (order.state === 'PENDING') await bob.click(order.card, 'order_approve');
      const state = await s.workspace.waitFor(
        () => (['SUCCEEDED', 'UNKNOWN'].includes(order.state) ? order.state : undefined),
        { what: `the order for ${name} (${order.state}) to end`, timeoutMs: 20_000 },
      );
      // Marked as sent and killed before its first byte: unknown, without any request.
      const requests = requestsOf(s.service, order).length;
      expect(requests, `requests for ${name}`).toBeLessThanOrEqual(1);
      if (state === 'SUCCEEDED') expect(chargesFor(s.service, name), `charges for ${name}`).toBe(1);
    }

    await giveReason(s.workspace, bob, unknown, 'order_resolve_failed', 'Mark as failed');
    await hanging.ends('FAILED');
  },
  MAX_WAIT_MS,
);

test(
  'stopped: running work is finished or left UNKNOWN, and it exits with 0 within 10 s',
  async () => {
    s.service.faults.set({ kind: 'slow', delayMs: 1_500, match: { name: 'menu.example' } });
    s.service.faults.set({ kind: 'hang', match: { name: 'tables.example' } });
    const slow = await approved('/domain renew menu.example');
    const hanging = await approved('/domain renew tables.example');
    await underWay(slow);
    await underWay(hanging);
    const toldAt = Date.now();
    process.kill(bot.child.pid, 'SIGTERM');
    expect(await bot.child.ended, bot.child.output()).toBe(0);
    expect(Date.now() - toldAt, 'ms until it ended').toBeLessThan(10_000);

    bot = await s.start(IMPATIENT);
    await slow.ends('SUCCEEDED', 20_000);
    await hanging.ends('UNKNOWN', 20_000);
    expect(requestsOf(s.service, slow)).toHaveLength(1);
    expect(requestsOf(s.service, hanging)).toHaveLength(1);
    expect(
      await answerTo(s.workspace, alice, '/domain whoami'),
      'the links are there after all of this',
    ).toContain('alice in context 4');
  },
  MAX_WAIT_MS,
);
