import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { buttonsOf, openedAfter, textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { ask } from '../support/orders.ts';

/*
 * How those who decide are reached, and how they talk with who asked.
 */

const t = useTestDemo();
let database: Database;

beforeAll(() => (database = openDatabase({ url: t.databaseUrl })));
afterEach(async () => {
  await database.prisma.setting.deleteMany();
  t.workspace.faults.clear();
});
afterAll(() => database.close());

const told = (person: Actor, act: () => Promise<unknown>) => toldAfter(t.workspace, person, act);

describe('an approval with a comment', () => {
  test('is the same approval, with the words in the thread', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew catering.rest');
    expect(buttonsOf(order.card)).toEqual([
      'order_approve',
      'order_deny',
      'order_approve_comment',
      'order_ask',
      'order_cancel',
    ]);
    expect(await told(t.alice, () => t.alice.click(order.card, 'order_approve_comment'))).toMatch(
      /somebody else|an approver has to/,
    );
    const form = await openedAfter(t.workspace, t.bob, () =>
      t.bob.click(order.card, 'order_approve_comment'),
    );
    expect(form.callback_id).toBe('approve');
    expect(await t.bob.submit(form, { reason: 'The *client* pays' })).toEqual({ outcome: 'closed' });
    await order.ends('SUCCEEDED');
    const said = order.replies().map(textOf);
    expect(said.filter((text) => /<@U0BOB> approved: “The .*client.* pays”/.test(text))).toHaveLength(1);
    expect(await told(t.alice, () => t.alice.command(order.channel, `/domain order ${order.id}`))).toMatch(
      /approved by <@U0BOB> “The .*client.* pays”/,
    );
  });
});

describe('asking back', () => {
  test('mentions who asked in the thread, and the time that is left starts anew', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew chef.rest');
    const before = await database.prisma.order.findUniqueOrThrow({ where: { id: order.id } });
    await t.demo.moveTime(60_000);
    const form = await openedAfter(t.workspace, t.bob, () => t.bob.click(order.card, 'order_ask'));
    expect(form.callback_id).toBe('ask_back');
    expect(await t.bob.submit(form, { question: 'Who pays for <this>?' })).toEqual({ outcome: 'closed' });
    const question = await t.workspace.waitFor(
      () => order.replies().find((reply) => textOf(reply).includes('Who pays')),
      { what: 'the question in the thread' },
    );
    expect(textOf(question)).toMatch(/<@U0ALICE>, <@U0BOB> asks about .*“Who pays for &lt;this&gt;\?”/);
    expect(question.notifies).toContain('U0ALICE');
    expect(question.thread_ts).toBe(order.card.ts);
    await t.workspace.waitFor(() => (textOf(order.card).includes('Who pays') ? true : undefined), {
      what: 'the question on the card',
    });
    const after = await database.prisma.order.findUniqueOrThrow({ where: { id: order.id } });
    for (const moment of ['expiresAt', 'remindAt', 'escalateAt'] as const) {
      expect(Number(after[moment]) - Number(before[moment]), moment).toBeGreaterThanOrEqual(60_000);
    }
    expect(await told(t.alice, () => t.alice.command(order.channel, `/domain order ${order.id}`))).toMatch(
      /asked back by <@U0BOB> “Who pays for &lt;this&gt;\?”/,
    );
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
  });

  test('is for approvers, about orders that wait', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew cocktail.rest');
    expect(await told(t.alice, () => t.alice.click(order.card, 'order_ask'))).toMatch(
      /asked for this yourself/,
    );
    expect(await told(t.ada, () => t.ada.click(order.card, 'order_ask'))).toMatch(/only approvers/i);
    const form = await openedAfter(t.workspace, t.bob, () => t.bob.click(order.card, 'order_ask'));
    expect(await t.bob.submit(form, { question: ' ' })).toMatchObject({
      outcome: 'errors',
      errors: { question: 'Type what you want to know.' },
    });
    await t.carol.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    expect(await t.bob.submit(form, { question: 'Too late?' })).toMatchObject({
      outcome: 'errors',
      errors: { question: expect.stringContaining('It cannot be asked about: the order is done') },
    });
    await t.bob.close(form);
  });
});
