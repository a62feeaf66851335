import type { Message } from '@domain-steward/slack-workspace';
import { afterEach, expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { orderOf, requestAndApprove, requestByCommand, VisibleOrder } from '../support/orders.ts';
import { createSlackLatency } from '../support/rudeness.ts';

/* When Slack refuses the bot's messages, people still get a reply in time, and a working card. */

const ALICES_DM = 'D0ALICE';

const t = useTestDemo({ rateLimits: true, settings: { APPROVAL_REMIND_AFTER: '90d', APPROVAL_TTL: '90d' } });
afterEach(() => {
  t.workspace.faults.clear();
  t.workspace.conditions.editWindowMs = undefined;
  t.workspace.conditions.getResponseDelayMs = undefined;
});

function lastMessage(): Message {
  const message = t.alice.ephemerals().at(-1);
  if (message === undefined) throw new Error('no message');
  return message;
}

let names = 0;
function newName(): string {
  names += 1;
  const name = `refused-${names}.rest`;
  t.service.state.addDomain({ name, context: 4 });
  return name;
}

const cardsOf = (order: VisibleOrder, channel = DOMAINS) =>
  t.workspace
    .messages(channel)
    .filter((message) => orderOf(message)?.id === order.id && message.thread_ts === undefined);

/** Waits until the latest card of an order shows the state. */
const waitForCard = (order: VisibleOrder, state: string, channel = DOMAINS) =>
  t.workspace.waitFor(
    () => {
      const card = cardsOf(order, channel).at(-1);
      return card !== undefined && orderOf(card)?.state === state ? card : undefined;
    },
    { what: `a card of ${order.id} in ${channel} that shows ${state}` },
  );

const MAX_REPLY_MS = 3_000;
const orderIdIn = (text: string) => /order `([a-z0-9]{12})`/.exec(text)?.[1] ?? '';

/** Ways to request an order, up to the last step, each with another failure of posting the card. */
const WAYS = [
  [
    'a command',
    { kind: 'ratelimited', retryAfterSeconds: 30 },
    async (name: string) => () => t.alice.command(DOMAINS, `/domain renew ${name}`),
  ],
  [
    'a form',
    { kind: 'http_500' },
    async (name: string) => {
      const form = await openForm(t.workspace, t.alice, '/domain renew');
      return () => t.alice.submit(form, { names: name, period: '1' });
    },
  ],
  [
    'a confirmed draft',
    { kind: 'error', code: 'token_revoked' },
    async (name: string) => {
      await readCommandReply(t.workspace, t.alice, `/domain owner-change ${name}`);
      const draft = lastMessage();
      const form = await performAndWaitForView(t.workspace, t.alice, () =>
        t.alice.click(draft, 'order_confirm'),
      );
      return () => t.alice.submit(form, { name });
    },
  ],
  [
    'a retry',
    { kind: 'error', code: 'fatal_error' },
    async (name: string) => {
      t.service.faults.set({ kind: 'refuse', code: 'EF01017', text: 'Not today', times: 1 });
      const order = await requestAndApprove(
        t.bob,
        requestByCommand(t.workspace, t.alice, `/domain renew ${name}`),
      );
      await order.waitForResult('FAILED');
      return () => t.alice.click(order.card, 'order_retry');
    },
  ],
] as const;

test.each(WAYS)(
  '%s gets a reply within 3 s if no card can be posted: the order is saved, and its card follows',
  async (way, fault, prepare) => {
    const name = newName();
    const act = await prepare(name);
    await t.waitUntilSlackIsCurrent();
    t.workspace.faults.set({ method: 'chat.postMessage', ...fault });
    const startedAt = performance.now();
    const answer = await performAndReadReply(t.workspace, t.alice, act);
    expect(performance.now() - startedAt).toBeLessThan(MAX_REPLY_MS);
    expect(answer).toContain('Your order is saved');
    const order = new VisibleOrder(t.workspace, orderIdIn(answer), DOMAINS);
    if (way === 'a command') {
      const again = await readCommandReply(t.workspace, t.alice, `/domain renew ${name}`);
      expect(again).toContain(`An order for this is already open: \`${order.id}\``);
    }
    expect(cardsOf(order)).toEqual([]);
    t.workspace.faults.clear();
    await t.demo.moveTime(11 * 60_000);
    await t.workspace.waitFor(() => cardsOf(order)[0], { what: `the card of ${order.id}` });
  },
);

test('a command gets a reply within 3 s and one card when Slack takes seconds to respond', async () => {
  const name = newName();
  t.workspace.conditions.getResponseDelayMs = createSlackLatency();
  const startedAt = performance.now();
  await t.alice.command(DOMAINS, `/domain renew ${name}`);
  const reply = await t.workspace.waitFor(
    () => {
      const card = t.workspace.messages(DOMAINS).find((message) => orderOf(message)?.names === name);
      return card ?? t.alice.ephemerals().find((message) => message.text.includes(name));
    },
    { what: 'a reply' },
  );
  expect(performance.now() - startedAt).toBeLessThan(MAX_REPLY_MS);
  const card = orderOf(reply) === undefined ? undefined : reply;
  const id = card === undefined ? orderIdIn(textOf(reply)) : (orderOf(card)?.id ?? '');
  const order = new VisibleOrder(t.workspace, id, DOMAINS);
  await t.bob.click(await waitForCard(order, 'PENDING'), 'order_approve');
  await t.workspace.waitFor(
    () => (cardsOf(order).some((each) => orderOf(each)?.state === 'SUCCEEDED') ? true : undefined),
    { what: 'the card to show the outcome', timeoutMs: 20_000 },
  );
  expect(cardsOf(order)).toHaveLength(1);
});

test('a click on Home gets a reply within 3 s if no message can be posted', async () => {
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
  await t.bob.openHome();
  const home = await t.workspace.waitFor(
    () => {
      const view = t.bob.homeView();
      return view !== undefined && JSON.stringify(view.blocks).includes(order.id) ? view : undefined;
    },
    { what: 'the order on Home' },
  );
  await t.alice.click(order.card, 'order_cancel');
  await order.waitForResult('CANCELLED');
  t.workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'fatal_error' });
  const startedAt = performance.now();
  const shown = await performAndWaitForView(t.workspace, t.bob, () =>
    t.bob.click(home, 'order_approve', { value: order.id }),
  );
  expect(performance.now() - startedAt).toBeLessThan(MAX_REPLY_MS);
  expect(textOf(shown)).toContain('This can’t be approved, because the order was canceled.');
});

test('a form shows that the order is saved if Slack accepts no message at all', async () => {
  const name = newName();
  const form = await openForm(t.workspace, t.alice, '/domain renew');
  t.workspace.faults.set({ method: '*', kind: 'error', code: 'token_revoked' });
  const startedAt = performance.now();
  const result = await t.alice.submit(form, { names: name, period: '1' });
  expect(performance.now() - startedAt).toBeLessThan(MAX_REPLY_MS);
  expect(result.outcome).toBe('updated');
  const shown = t.alice.openedViews().find(({ id }) => id === form.id);
  const formText = shown === undefined ? '' : textOf(shown);
  expect(formText).toContain('Your order is saved');
  t.workspace.faults.clear();
  await t.demo.moveTime(11 * 60_000);
  await waitForCard(new VisibleOrder(t.workspace, orderIdIn(formText), DOMAINS), 'PENDING');
});

test('a card that can’t be edited is posted again, and the old card’s buttons link to it', async () => {
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
  await t.waitUntilSlackIsCurrent();
  const old = order.card;
  t.workspace.faults.set({ method: 'chat.update', kind: 'error', code: 'cant_update_message' });
  await t.bob.click(old, 'order_approve');
  const card = await waitForCard(order, 'SUCCEEDED');
  expect(card.ts).not.toBe(old.ts);
  await t.waitUntilSlackIsCurrent();
  const cardCount = cardsOf(order).length;

  const answer = await performAndReadReply(t.workspace, t.bob, () => t.bob.click(old, 'order_approve'));
  expect(answer).toContain(`/p${card.ts.replace('.', '')}`);
  expect(answer).toContain(`/domain order ${order.id}`);
  await t.waitUntilSlackIsCurrent();
  expect(cardsOf(order), 'cards after the click').toHaveLength(cardCount);
});

test.each([
  ['is archived', { is_archived: true }],
  ['has removed the bot', { members: ['U0ALICE', 'U0BOB'] }],
])('the requester gets a working card when the channel of a pending card %s', async (_what, changes) => {
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
  await t.waitUntilSlackIsCurrent();
  const { members } = t.workspace.channel(DOMAINS);
  t.workspace.changeChannel(DOMAINS, changes);
  await t.bob.click(order.card, 'order_approve');
  const card = await waitForCard(order, 'SUCCEEDED', ALICES_DM);
  await t.waitUntilSlackIsCurrent();
  expect(t.workspace.channel(ALICES_DM).thread(card.ts).map(orderOf)).toMatchObject([{ state: 'SUCCEEDED' }]);
  expect(order.state, 'the old card').toBe('PENDING');
  t.workspace.changeChannel(DOMAINS, { members, is_archived: false });
});

test('a pending card whose edit window has closed is posted again', async () => {
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
  await t.waitUntilSlackIsCurrent();
  t.workspace.conditions.editWindowMs = 0;
  await t.bob.click(order.card, 'order_approve');
  const card = await waitForCard(order, 'SUCCEEDED');
  expect(card.ts).not.toBe(order.card.ts);
  expect(order.state, 'the old card').toBe('PENDING');
  expect(cardsOf(order).length, 'at most one card per step').toBeLessThanOrEqual(3);
});

test('a card that Slack accepts only as text names the command that shows its buttons', async () => {
  await t.waitUntilSlackIsCurrent();
  t.workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'invalid_blocks', times: 2 });
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
  const { card } = order;
  expect(card.blocks).toEqual([]);
  expect(card.text).toContain(`\`/domain order ${order.id}\``);
  await performAndReadReply(t.workspace, t.bob, () => t.bob.command(DOMAINS, `/domain order ${order.id}`));
  const shown = t.bob.ephemerals().at(-1);
  if (shown === undefined) throw new Error('the order was not shown');
  expect(buttonsOf(shown)).toEqual(expect.arrayContaining(['order_approve', 'order_deny', 'order_look']));
  await t.bob.click(shown, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(cardsOf(order), 'cards').toHaveLength(1);
});

test('an update that is too long as blocks is sent as text', async () => {
  const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${newName()}`);
  await t.waitUntilSlackIsCurrent();
  t.workspace.faults.set({ method: 'chat.update', kind: 'error', code: 'msg_too_long', times: 2 });
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(cardsOf(order)).toHaveLength(1);
});
