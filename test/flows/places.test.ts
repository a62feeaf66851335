import type { Actor, Message } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  performAndReadReply,
  performAndWaitForView,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { type VisibleOrder, waitForOrder } from '../support/orders.ts';

/* Commands and shortcuts in every kind of conversation, also where the bot isn't a member. */

const t = useTestDemo();

/** Requests a renewal with the message shortcut. @param cardChannel the card's channel */
async function useShortcut(
  message: Message,
  name: string,
  cardChannel = message.channel,
): Promise<VisibleOrder> {
  const menu = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.shortcut('domain_here', message),
  );
  const menuResult = await t.alice.submit(menu, { task: 'renew' });
  if (menuResult.outcome !== 'updated') throw new Error(JSON.stringify(menuResult));
  return waitForOrder(t.workspace, () => t.alice.submit(menuResult.view, { names: name }), cardChannel);
}

const requestByCommandIn = (channel: string, name: string, cardChannel: string) =>
  waitForOrder(t.workspace, () => t.alice.command(channel, `/domain renew ${name}`), cardChannel);

/** Slack's message about a huddle, which no person wrote. */
function createHuddleMessage(): Message {
  const message = t.alice.say(DOMAINS, '');
  return Object.assign(message, {
    subtype: 'huddle_thread',
    user: 'USLACKBOT',
    text: null,
    room: { id: 'R1' },
  });
}

test('the card of a shortcut on a thread’s first message or a reply is posted in the thread', async () => {
  const first = t.alice.say(DOMAINS, 'what about this one?');
  const reply = t.bob.say(DOMAINS, 'renew it', first.ts);
  expect((await useShortcut(first, 'bistro.rest')).card.thread_ts).toBe(first.ts);
  const order = await useShortcut(reply, 'cafe.rest');
  expect(order.card.thread_ts).toBe(first.ts);
  await t.bob.click(order.card, 'order_approve');
  expect((await order.waitForResult('SUCCEEDED')).thread_ts).toBe(first.ts);
});

test('a command from a thread gets a reply', async () => {
  const command = t.workspace.deliveries.findLast(({ payload }) => 'command' in payload);
  if (command === undefined) throw new Error('no command was sent before');
  const reply = await performAndReadReply(t.workspace, t.alice, () =>
    t.workspace.redeliver({
      ...command,
      payload: { ...command.payload, text: 'help renew', trigger_id: 'in.a.thread', thread_ts: '1.000001' },
    }),
  );
  expect(reply).toContain('/domain renew');
});

test('the card of a request in the bot’s direct message is posted there', async () => {
  const order = await requestByCommandIn('D0ALICE', 'sushi.rest', 'D0ALICE');
  expect(textOf(order.card)).not.toMatch(/can’t post|\/invite/);
  const shortcutOrder = await useShortcut(t.alice.say('D0ALICE', 'tapas.rest too'), 'tapas.rest');
  expect(textOf(shortcutOrder.card)).not.toMatch(/can’t post|\/invite/);
});

test('the card of a request in another direct message explains where to make requests', async () => {
  const order = await requestByCommandIn('D0ALICEBOB', 'ramen.rest', 'D0ALICE');
  const shortcutOrder = await useShortcut(t.alice.say('D0ALICEBOB', 'deli.rest?'), 'deli.rest', 'D0ALICE');
  for (const { card } of [order, shortcutOrder]) {
    expect(textOf(card)).toMatch(
      /can’t post in the conversation where <@U0ALICE> requested this.*use this conversation or a channel I’m in/s,
    );
    expect(textOf(card)).not.toContain('/invite');
  }
  expect(t.workspace.messages('D0ALICEBOB').filter(({ user }) => user === 'U0STEWARD')).toEqual([]);
});

test.each([
  ['a channel', 'C0NOBOT', 'soup.rest', 'spoon.rest'],
  ['a private channel', 'C0LOCKED', 'tavern.rest', 'pasta.rest'],
])(
  'the card of a request in %s without the bot is sent as a direct message that explains how to invite it',
  async (...given) => {
    const [, channel, name, otherName] = given;
    const order = await requestByCommandIn(channel, name, 'D0ALICE');
    const shortcutOrder = await useShortcut(t.alice.say(channel, `and ${otherName}`), otherName, 'D0ALICE');
    for (const { card } of [order, shortcutOrder]) expect(textOf(card)).toContain('/invite @Domain Steward');
  },
);

test('in a shared channel, the bot refers people from the other workspace to a member', async () => {
  const order = await requestByCommandIn(DOMAINS, 'bar.rest', DOMAINS);
  const dave = t.workspace.as('U0DAVE');
  const message = dave.say(DOMAINS, 'renew bar.rest, please');
  const attempts: readonly (() => Promise<unknown>)[] = [
    () => dave.command(DOMAINS, '/domain renew bar.rest'),
    () => dave.command(DOMAINS, '/domain help'),
    () => dave.shortcut('domain_here', message),
    () => dave.globalShortcut('domain_task'),
    () => dave.click(order.card, 'order_approve'),
    () => dave.click(order.card, 'order_look'),
  ];
  for (const attempt of attempts)
    expect(await actAndReadFirstReply(dave, attempt)).toMatch(/Only members of this workspace.*Ask a member/);
  expect(dave.openedViews()).toEqual([]);
  expect(order.state).toBe('PENDING');
});

/** Acts. @returns the reply in the channel, or the direct message if a shortcut has no channel */
async function actAndReadFirstReply(person: Actor, act: () => Promise<unknown>): Promise<string> {
  const replies = () => [...person.ephemerals(), ...t.workspace.messages('D0DAVE')];
  const before = replies().length;
  await act();
  const message = await t.workspace.waitFor(() => replies()[before], { what: 'a reply' });
  return textOf(message);
}

test('the card of a request in a huddle’s thread is posted there, or else as a direct message', async () => {
  const huddleMessage = createHuddleMessage();
  const reply = t.bob.say(DOMAINS, 'as discussed', huddleMessage.ts);
  expect((await useShortcut(huddleMessage, 'unheard.rest')).card.thread_ts).toBe(huddleMessage.ts);
  expect((await useShortcut(reply, 'plate.rest')).card.thread_ts).toBe(huddleMessage.ts);
  t.workspace.faults.set({
    kind: 'error',
    code: 'cannot_reply_to_message',
    method: 'chat.postMessage',
    channel: DOMAINS,
  });
  const order = await useShortcut(huddleMessage, 'grill.rest', 'D0ALICE');
  t.workspace.faults.clear();
  expect(textOf(order.card)).toMatch(/can’t post in the conversation where <@U0ALICE> requested this/);
  expect(buttonsOf(order.card)).toContain('order_cancel');
});
