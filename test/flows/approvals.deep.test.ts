import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.ts';
import {
  buttonsOf,
  performAndReadReply,
  performAndWaitForView,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, requestsOf, type VisibleOrder } from '../support/orders.ts';

/* Denied and expired orders. */

const t = useTestDemo();
let database: Database;

beforeAll(() => (database = openDatabase({ url: t.databaseUrl })));
afterEach(async () => {
  await database.prisma.setting.deleteMany();
  t.workspace.faults.clear();
  await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
});
afterAll(() => database.close());

/** Saves settings as `/domain settings` does. */
async function saveSettings(entries: Readonly<Record<string, string>>): Promise<void> {
  for (const [key, value] of Object.entries(entries)) {
    const saved = { value, updatedBy: 'U0ADA', updatedAt: new Date() };
    await database.prisma.setting.upsert({ where: { key }, create: { key, ...saved }, update: saved });
  }
}

const actAndReadReplyOf = (person: Actor, act: () => Promise<unknown>) =>
  performAndReadReply(t.workspace, person, act);

function expectNothingSent(order: VisibleOrder): void {
  expect(requestsOf(t.service, order), `order ${order.id} was sent to the service`).toEqual([]);
}

describe('denying', () => {
  test('asks for a reason and shows it in the thread', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew catering.rest');
    expect(await actAndReadReplyOf(t.alice, () => t.alice.click(order.card, 'order_deny'))).toMatch(
      /only approvers/i,
    );
    const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
    expect(form.callback_id).toBe('deny');
    expect(await t.bob.submit(form, { reason: 'We let it <!channel> go' })).toEqual({ outcome: 'closed' });
    const reply = await order.waitForResult('DENIED');
    expect(textOf(reply)).toMatch(/denied by <@U0BOB>.*We let it &lt;!channel&gt; go.*Nothing was sent/s);
    expect(reply.notifies, 'notified by the reply').not.toContain('channel');
    expect(reply.thread_ts).toBe(order.card.ts);
    expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
    expectNothingSent(order);
  });
});

describe('an order that expires', () => {
  test('is closed within 5 s, and its name can be requested again', async () => {
    await saveSettings({ approval_ttl: '1s' });
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew cocktail.rest');
    const expired = await order.waitForResult('EXPIRED', 6_000);
    expect(textOf(expired)).toMatch(/<@U0ALICE>.*wasn’t approved in time/is);
    expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
    expectNothingSent(order);
    const next = await requestByCommand(t.workspace, t.alice, '/domain renew cocktail.rest');
    expect(next.id, 'the name can be requested again').not.toBe(order.id);
    await t.alice.click(next.card, 'order_cancel');
    await next.waitForResult('CANCELLED');
  });
});
