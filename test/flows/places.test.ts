import type { Actor, Message } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import { actUntilOpened, buttonsOf, DOMAINS, textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { orderAfter, type SeenOrder } from '../support/orders.ts';

/* Commands and shortcuts in every kind of conversation: each is answered, with what to do if the bot isn't there. */

const t = useTestDemo();

/** Uses the message shortcut and requests a renewal. @param place of the card */
async function askOn(message: Message, name: string, place = message.channel): Promise<SeenOrder> {
  const menu = await actUntilOpened(t.workspace, t.alice, () => t.alice.shortcut('domain_here', message));
  const next = await t.alice.submit(menu, { task: 'renew' });
  if (next.outcome !== 'updated') throw new Error(JSON.stringify(next));
  return orderAfter(t.workspace, () => t.alice.submit(next.view, { names: name }), place);
}

const askIn = (channel: string, name: string, place: string) =>
  orderAfter(t.workspace, () => t.alice.command(channel, `/domain renew ${name}`), place);

/** Slack's message about a huddle, without an author. */
function huddle(): Message {
  const message = t.alice.say(DOMAINS, '');
  return Object.assign(message, {
    subtype: 'huddle_thread',
    user: 'USLACKBOT',
    text: null,
    room: { id: 'R1' },
  });
}

test('in a thread: the card goes there, on its first message and on a reply', async () => {
  const first = t.alice.say(DOMAINS, 'what about this one?');
  const reply = t.bob.say(DOMAINS, 'renew it', first.ts);
  expect((await askOn(first, 'bistro.rest')).card.thread_ts).toBe(first.ts);
  const order = await askOn(reply, 'cafe.rest');
  expect(order.card.thread_ts).toBe(first.ts);
  await t.bob.click(order.card, 'order_approve');
  expect((await order.ends('SUCCEEDED')).thread_ts).toBe(first.ts);
});

test('a command from a thread is answered anyway', async () => {
  const made = t.workspace.deliveries.findLast(({ payload }) => 'command' in payload);
  if (made === undefined) throw new Error('nobody has used a command yet');
  const told = await toldAfter(t.workspace, t.alice, () =>
    t.workspace.redeliver({
      ...made,
      payload: { ...made.payload, text: 'help renew', trigger_id: 'in.a.thread', thread_ts: '1.000001' },
    }),
  );
  expect(told).toContain('/domain renew');
});

test('in the direct message with the bot: the card stays there', async () => {
  const order = await askIn('D0ALICE', 'sushi.rest', 'D0ALICE');
  expect(textOf(order.card)).not.toMatch(/can’t post|\/invite/);
  const again = await askOn(t.alice.say('D0ALICE', 'tapas.rest too'), 'tapas.rest');
  expect(textOf(again.card)).not.toMatch(/can’t post|\/invite/);
});

test('in other people’s direct message, without an invitation: the card says where to make requests', async () => {
  const order = await askIn('D0ALICEBOB', 'ramen.rest', 'D0ALICE');
  const again = await askOn(t.alice.say('D0ALICEBOB', 'deli.rest?'), 'deli.rest', 'D0ALICE');
  for (const { card } of [order, again]) {
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
  'in %s without the bot: the card comes as a direct message that says how to invite it',
  async (...given) => {
    const [, channel, name, other] = given;
    const order = await askIn(channel, name, 'D0ALICE');
    const again = await askOn(t.alice.say(channel, `and ${other}`), other, 'D0ALICE');
    for (const { card } of [order, again]) expect(textOf(card)).toContain('/invite @Domain Steward');
  },
);

test('in a shared channel: members make requests, people from the other workspace learn that a member must', async () => {
  const order = await askIn(DOMAINS, 'bar.rest', DOMAINS);
  const dave = t.workspace.as('U0DAVE');
  const message = dave.say(DOMAINS, 'renew bar.rest, please');
  const ways: readonly (() => Promise<unknown>)[] = [
    () => dave.command(DOMAINS, '/domain renew bar.rest'),
    () => dave.command(DOMAINS, '/domain help'),
    () => dave.shortcut('domain_here', message),
    () => dave.globalShortcut('domain_task'),
    () => dave.click(order.card, 'order_approve'),
    () => dave.click(order.card, 'order_look'),
  ];
  for (const way of ways)
    expect(await answered(dave, way)).toMatch(/Only members of this workspace.*Ask a member/);
  expect(dave.openedViews()).toEqual([]);
  expect(order.state).toBe('PENDING');
});

/** The answer, wherever it is: for a shortcut without a channel it can only be a direct message. */
async function answered(person: Actor, act: () => Promise<unknown>): Promise<string> {
  const said = () => [...person.ephemerals(), ...t.workspace.messages('D0DAVE')];
  const before = said().length;
  await act();
  const message = await t.workspace.waitFor(() => said()[before], { what: 'an answer' });
  return textOf(message);
}

test('in a huddle’s thread: the card goes there, or if Slack accepts no reply, into the direct message', async () => {
  const room = huddle();
  const reply = t.bob.say(DOMAINS, 'as discussed', room.ts);
  expect((await askOn(room, 'unheard.rest')).card.thread_ts).toBe(room.ts);
  expect((await askOn(reply, 'plate.rest')).card.thread_ts).toBe(room.ts);
  t.workspace.faults.set({
    kind: 'error',
    code: 'cannot_reply_to_message',
    method: 'chat.postMessage',
    channel: DOMAINS,
  });
  const order = await askOn(room, 'grill.rest', 'D0ALICE');
  t.workspace.faults.clear();
  expect(textOf(order.card)).toMatch(/can’t post in the conversation where <@U0ALICE> requested this/);
  expect(buttonsOf(order.card)).toContain('order_cancel');
});
