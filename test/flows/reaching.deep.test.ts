import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.ts';
import {
  buttonsOf,
  DOMAINS,
  link,
  performAndReadReply,
  performAndWaitForView,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { orderOf, requestByCommand, VisibleOrder, waitForOrder } from '../support/orders.ts';
import { downloadAuditLog } from '../support/people.ts';

/* How approvers are notified, and how they ask the requester questions. */

const t = useTestDemo();
let database: Database;

beforeAll(() => (database = openDatabase({ url: t.databaseUrl })));
afterEach(async () => {
  await database.prisma.setting.deleteMany();
  t.workspace.faults.clear();
});
afterAll(() => database.close());

/** Saves settings like `/domain settings`. */
async function saveSettings(entries: Readonly<Record<string, string>>): Promise<void> {
  for (const [key, value] of Object.entries(entries)) {
    const saved = { value, updatedBy: 'U0ADA', updatedAt: new Date() };
    await database.prisma.setting.upsert({ where: { key }, create: { key, ...saved }, update: saved });
  }
}

/** Requests an order in a channel without the bot. The card is a direct message to the requester. */
function requestInChannelWithoutBot(channel: string, text: string): Promise<VisibleOrder> {
  return waitForOrder(t.workspace, () => t.alice.command(channel, text), 'D0ALICE');
}

const GENERAL_CHANNEL = 'C0GENERAL';

function waitForCopy(order: VisibleOrder, channel: string): Promise<VisibleOrder> {
  const copy = new VisibleOrder(t.workspace, order.id, channel);
  return t.workspace.waitFor(() => (copy.messages().length > 0 ? copy : undefined), {
    what: `a card of ${order.id} in ${channel}`,
  });
}

/** Counts an order's messages in a channel once all notifications are sent. */
async function countMessagesIn(order: VisibleOrder, channel: string): Promise<number> {
  await t.demo.bot.catchUp();
  return new VisibleOrder(t.workspace, order.id, channel).messages().length;
}

const readReplyTo = (person: Actor, act: () => Promise<unknown>) =>
  performAndReadReply(t.workspace, person, act);

describe('an approval with a comment', () => {
  test('counts like an approval and is posted in the thread', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew catering.rest');
    expect(buttonsOf(order.card)).toEqual([
      'order_approve',
      'order_deny',
      'order_look',
      'order_approve_comment',
      'order_ask',
      'order_cancel',
    ]);
    expect(await readReplyTo(t.alice, () => t.alice.click(order.card, 'order_approve_comment'))).toMatch(
      /someone else|an approver has to/,
    );
    const form = await performAndWaitForView(t.workspace, t.bob, () =>
      t.bob.click(order.card, 'order_approve_comment'),
    );
    expect(form.callback_id).toBe('approve');
    expect(textOf(form), 'the request to approve').toMatch(/Renew .*\.rest for 1 year[\s\S]*Period: 1 year/);
    expect(await t.bob.submit(form, { reason: 'The *client* pays' })).toEqual({ outcome: 'closed' });
    await order.waitForResult('SUCCEEDED');
    const replies = order.replies().map(textOf);
    expect(replies.filter((text) => /<@U0BOB> approved: “The .*client.* pays”/.test(text))).toHaveLength(1);
    expect(
      await readReplyTo(t.alice, () => t.alice.command(order.channel, `/domain order ${order.id}`)),
    ).toMatch(/approved by <@U0BOB> “The .*client.* pays”/);
  });
});

describe('asking the requester', () => {
  test('mentions the requester in the thread and restarts the deadlines', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew chef.rest');
    const before = await database.prisma.order.findUniqueOrThrow({ where: { id: order.id } });
    await t.demo.moveTime(60_000);
    const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(order.card, 'order_ask'));
    expect(form.callback_id).toBe('ask_back');
    expect(textOf(form)).toContain('*Renew chef.rest for 1 year*');
    expect(await t.bob.submit(form, { question: 'Who pays for <this>?' })).toEqual({ outcome: 'closed' });
    const question = await t.workspace.waitFor(
      () => order.replies().find((reply) => textOf(reply).includes('Who pays')),
      { what: 'the question in the thread' },
    );
    expect(textOf(question)).toMatch(/<@U0ALICE>: .*<@U0BOB> asks: “Who pays for &lt;this&gt;\?”/);
    expect(question.notifies).toContain('U0ALICE');
    expect(question.thread_ts).toBe(order.card.ts);
    await t.workspace.waitFor(() => (textOf(order.card).includes('Who pays') ? true : undefined), {
      what: 'the question on the card',
    });
    const after = await database.prisma.order.findUniqueOrThrow({ where: { id: order.id } });
    for (const deadline of ['expiresAt', 'remindAt', 'escalateAt'] as const) {
      expect(Number(after[deadline]) - Number(before[deadline]), deadline).toBeGreaterThanOrEqual(60_000);
    }
    expect(
      await readReplyTo(t.alice, () => t.alice.command(order.channel, `/domain order ${order.id}`)),
    ).toMatch(/question asked by <@U0BOB> “Who pays for &lt;this&gt;\?”/);
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    const { csv } = await downloadAuditLog(t.workspace);
    expect(csv).toMatch(/,approved,Bob .*The \*client\* pays/);
    expect(csv).toMatch(/,asked,Bob .*Who pays for <this>\?/);
  });
});

describe('the approval channel', () => {
  test('gets a copy of every card, and both are updated together', async () => {
    await saveSettings({ approval_channel: GENERAL_CHANNEL });
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew curry.rest');
    const copy = await waitForCopy(order, GENERAL_CHANNEL);
    expect(textOf(copy.card)).toBe(textOf(order.card));
    expect(buttonsOf(copy.card)).toEqual(buttonsOf(order.card));
    await t.bob.click(copy.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    await copy.waitForState('SUCCEEDED');
    expect(buttonsOf(copy.card)).toEqual(['order_look', 'order_receipt']);
    expect(await countMessagesIn(order, GENERAL_CHANNEL), 'messages in the approval channel').toBe(1);
    expect(await countMessagesIn(order, 'D0BOB'), 'direct messages').toBe(0);
  });

  test('can get a duplicate card if Slack’s response is lost, which a click updates', async () => {
    await saveSettings({ approval_channel: GENERAL_CHANNEL });
    t.workspace.faults.set({
      method: 'chat.postMessage',
      channel: GENERAL_CHANNEL,
      kind: 'lost_answer',
      times: 1,
    });
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew curry.rest');
    const copies = await waitForCopy(order, GENERAL_CHANNEL);
    await until('the card is posted again', async () => {
      await t.demo.moveTime(2_000);
      return copies.messages().length === 2;
    });
    const duplicate = copies.card;
    await t.alice.click(order.card, 'order_cancel');
    const states = () => copies.messages().map((message) => orderOf(message)?.state);
    await until('the recorded copy is updated', () => states().includes('CANCELLED'));
    expect(states()).toEqual(['PENDING', 'CANCELLED']);
    await t.bob.click(duplicate, 'order_approve');
    await until('both copies are updated', () => states().every((state) => state === 'CANCELLED'));
    expect(copies.messages().flatMap(buttonsOf)).not.toContain('order_approve');
    expect(await countMessagesIn(order, GENERAL_CHANNEL), 'messages in the approval channel').toBe(2);
    for (const view of t.bob.openedViews()) await t.bob.close(view);
  });

  test('is reported to admins if the bot can’t post in it, and approvers get direct messages', async () => {
    await saveSettings({ approval_channel: 'C0NOBOT' });
    const first = await requestByCommand(t.workspace, t.alice, '/domain renew espresso.rest');
    const second = await requestByCommand(t.workspace, t.alice, '/domain renew fondue.rest');
    for (const order of [first, second]) {
      for (const channel of ['D0BOB', 'D0CAROL']) {
        expect(buttonsOf((await waitForCopy(order, channel)).card)).toContain('order_approve');
      }
      expect(await countMessagesIn(order, 'D0ALICE'), 'direct messages to the requester').toBe(0);
    }
    const listAlerts = () =>
      t.workspace
        .messages('D0ADA')
        .filter((message) => textOf(message).includes('I can’t post in <#C0NOBOT>'));
    await t.workspace.waitFor(listAlerts, { what: 'the alert to the admins' });
    const copy = await waitForCopy(first, 'D0CAROL');
    await t.carol.click(copy.card, 'order_approve');
    await first.waitForResult('SUCCEEDED');
    await copy.waitForState('SUCCEEDED');
    await (await waitForCopy(first, 'D0BOB')).waitForState('SUCCEEDED');
    expect(listAlerts()).toHaveLength(1);
    await t.alice.click(second.card, 'order_cancel');
    await second.waitForResult('CANCELLED');
  });
});

describe('when the bot can’t post where the request was made', () => {
  test('each approver gets the card by direct message', async () => {
    const order = await requestInChannelWithoutBot('C0NOBOT', '/domain renew gelato.rest');
    expect(textOf(order.card)).toContain('I’ll notify the approvers');
    const copyForBob = await waitForCopy(order, 'D0BOB');
    await waitForCopy(order, 'D0CAROL');
    expect(textOf(copyForBob.card)).not.toContain('Invite me');
    await t.bob.click(copyForBob.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    await copyForBob.waitForState('SUCCEEDED');
  });

  test('the approval channel gets the card and its reminder', async () => {
    await saveSettings({ approval_channel: GENERAL_CHANNEL, approval_remind_after: '1s' });
    const order = await requestInChannelWithoutBot('C0NOBOT', '/domain renew harvest.rest');
    const copy = await waitForCopy(order, GENERAL_CHANNEL);
    const reminder = await t.workspace.waitFor(() => copy.replies()[0], {
      what: 'the reminder in the channel',
    });
    expect(textOf(reminder)).toContain('still waiting for your approval');
    expect(reminder.thread_ts).toBe(copy.card.ts);
    expect(await countMessagesIn(order, 'D0BOB')).toBe(0);
    await t.bob.click(copy.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });
});

describe('an order requested in a direct message with the bot', () => {
  const requestPrivately = (text: string) => requestByCommand(t.workspace, t.alice, text, 'D0ALICE');

  /** Tries commands as a person. @returns those whose replies have the order */
  async function listCommandsShowing(
    person: Actor,
    order: VisibleOrder,
    name: string,
  ): Promise<readonly string[]> {
    const commands = ['orders', 'orders pending', `orders ${name}`, `order ${order.id}`, `name ${name}`];
    const commandsWithOrder: string[] = [];
    for (const command of commands) {
      const answer = await readReplyTo(person, () => person.command('C0GENERAL', `/domain ${command}`));
      if (answer.includes(order.id) && !answer.includes('doesn’t exist')) commandsWithOrder.push(command);
    }
    return commandsWithOrder;
  }

  test('is shown only there and to the approvers, not in a channel', async () => {
    await saveSettings({ approval_channel: GENERAL_CHANNEL });
    const order = await requestPrivately('/domain renew juice.rest');
    expect(textOf(order.card)).toContain(' · private');
    const copies = await Promise.all(['D0BOB', 'D0CAROL'].map((channel) => waitForCopy(order, channel)));
    expect(await countMessagesIn(order, GENERAL_CHANNEL)).toBe(0);
    expect(await countMessagesIn(order, DOMAINS)).toBe(0);
    for (const copy of copies) expect(buttonsOf(copy.card)).toContain('order_approve');
    await t.bob.click(copies[0]?.card ?? order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    for (const copy of copies) await copy.waitForState('SUCCEEDED');
    expect(await countMessagesIn(order, GENERAL_CHANNEL)).toBe(0);
  });

  test('is visible only to its requester, approvers and admins', async () => {
    await saveSettings({ approvers: 'U0BOB' });
    const order = await requestPrivately('/domain renew kitchen.rest');
    const allCommands = [
      'orders',
      'orders pending',
      'orders kitchen.rest',
      `order ${order.id}`,
      'name kitchen.rest',
    ];
    expect(
      await listCommandsShowing(t.carol, order, 'kitchen.rest'),
      'commands that show the order to others',
    ).toEqual([]);
    for (const person of [t.alice, t.bob, t.ada]) {
      expect(await listCommandsShowing(person, order, 'kitchen.rest')).toEqual(allCommands);
    }
    await link(t.workspace, t.carol, SANDBOX_ACCOUNTS.frontdesk);
    const refusal = await readReplyTo(t.carol, () => t.carol.command(DOMAINS, '/domain renew kitchen.rest'));
    expect(refusal).toContain('A private order for this is already open');
    expect(refusal).not.toContain('U0ALICE');
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
    expect(await listCommandsShowing(t.carol, order, 'kitchen.rest'), 'after the cancellation').toEqual([]);
  });

  test('has approvers’ questions in its thread, which ask for the answer in a direct message', async () => {
    const order = await requestPrivately('/domain renew ladle.rest');
    const copy = await waitForCopy(order, 'D0BOB');
    const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(copy.card, 'order_ask'));
    await t.bob.submit(form, { question: 'Which client?' });
    const question = await t.workspace.waitFor(
      () => order.replies().find((reply) => textOf(reply).includes('Which client?')),
      { what: 'the question in the requester’s direct message' },
    );
    expect(textOf(question)).toContain('Send <@U0BOB> a direct message');
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });
});
