import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { buttonsOf, DOMAINS, link, openedAfter, textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { ask, requestsOf, type SeenOrder } from '../support/orders.ts';

/* Decisions about orders, and the fate of an undecided one. */

const t = useTestDemo();
let database: Database;

beforeAll(() => (database = openDatabase({ url: t.databaseUrl })));
afterEach(async () => {
  await database.prisma.setting.deleteMany();
  t.workspace.faults.clear();
  await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
});
afterAll(() => database.close());

/** As `/domain settings` saves them. */
async function settings(entries: Readonly<Record<string, string>>): Promise<void> {
  for (const [key, value] of Object.entries(entries)) {
    const saved = { value, updatedBy: 'U0ADA', updatedAt: new Date() };
    await database.prisma.setting.upsert({ where: { key }, create: { key, ...saved }, update: saved });
  }
}

const told = (person: Actor, act: () => Promise<unknown>) => toldAfter(t.workspace, person, act);

function nothingSent(order: SeenOrder): void {
  expect(requestsOf(t.service, order), `order ${order.id} was sent to the service`).toEqual([]);
}

function cardShows(order: SeenOrder, text: string): Promise<string> {
  return t.workspace.waitFor(() => [textOf(order.card)].find((card) => card.includes(text)), {
    what: `the card of ${order.id} to show “${text}”`,
  });
}

describe('denying', () => {
  test('asks for a reason, which is shown in the thread', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew catering.rest');
    expect(await told(t.alice, () => t.alice.click(order.card, 'order_deny'))).toMatch(/only approvers/i);
    const form = await openedAfter(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
    expect(form.callback_id).toBe('deny');
    expect(await t.bob.submit(form, { reason: 'We let it <!channel> go' })).toEqual({ outcome: 'closed' });
    const reply = await order.ends('DENIED');
    expect(textOf(reply)).toMatch(/<@U0BOB> denied.*We let it &lt;!channel&gt; go.*Nothing was sent/s);
    expect(reply.notifies, 'whom the reply pings').not.toContain('channel');
    expect(reply.thread_ts).toBe(order.card.ts);
    expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
    nothingSent(order);
  });
});

describe('time', () => {
  test('an order expires, which is noticed within 5 s', async () => {
    await settings({ approval_ttl: '1s' });
    const order = await ask(t.workspace, t.alice, '/domain renew cocktail.rest');
    const expired = await order.ends('EXPIRED', 6_000);
    expect(textOf(expired)).toMatch(/<@U0ALICE>.*no one approved it in time/is);
    expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
    nothingSent(order);
    const next = await ask(t.workspace, t.alice, '/domain renew cocktail.rest');
    expect(next.id, 'its name is free again').not.toBe(order.id);
    await t.alice.click(next.card, 'order_cancel');
    await next.ends('CANCELLED');
  });
});

describe('several approvals', () => {
  test('through a group that Slack doesn’t return doesn’t count until it does', async () => {
    await settings({ approvals_required: '2' });
    const order = await ask(t.workspace, t.alice, '/domain renew fondue.rest');
    await t.carol.click(order.card, 'order_approve');
    await cardShows(order, '1 of 2');
    await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: 'usergroups.users.list', kind: 'error', code: 'missing_scope' });
    await t.bob.click(order.card, 'order_approve');
    await cardShows(
      order,
      '1 of 2 approvals (<@U0BOB>) · <@U0CAROL>’s approval can’t be counted, because Slack doesn’t return the members of an approver group',
    );
    const reply = await t.workspace.waitFor(() => order.replies()[1], {
      what: 'the reply about Bob’s approval',
    });
    expect(textOf(reply)).toContain('press *Approve* again in a minute');
    nothingSent(order);
    t.workspace.faults.clear();
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
  });
});

describe('an order whose account is gone', () => {
  test('fails at the approval, before anything is sent', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew juice.rest');
    expect(await told(t.alice, () => t.alice.command(DOMAINS, '/domain unlink'))).toContain(
      `1 order won’t be sent: \`${order.id}\`.`,
    );
    await t.bob.click(order.card, 'order_approve');
    expect(textOf(await order.ends('FAILED'))).toMatch(/no longer linked, so nothing was sent/);
    nothingSent(order);
    await link(t.workspace, t.alice);
    expect(
      await told(t.alice, () => t.alice.click(order.card, 'order_retry')),
      'the account that is linked now is another one',
    ).toMatch(/no longer linked/);
  });
});
