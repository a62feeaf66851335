import { afterEach, describe, expect, test } from 'vitest';
import { buttonsOf, DOMAINS, openForm, textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { ask, orderOf, SeenOrder } from '../support/orders.ts';

/* Slack refuses what the bot shows: people still get an answer in time, and a card they can act on. */

const ALICES_DM = 'D0ALICE';

const t = useTestDemo({ rateLimits: true, settings: { APPROVAL_REMIND_AFTER: '90d', APPROVAL_TTL: '90d' } });
afterEach(() => t.workspace.faults.clear());

let names = 0;
function newName(): string {
  names += 1;
  const name = `refused-${names}.rest`;
  t.service.state.addDomain({ name, context: 4 });
  return name;
}

const cardsOf = (order: SeenOrder, channel = DOMAINS) =>
  t.workspace
    .messages(channel)
    .filter((message) => orderOf(message)?.id === order.id && message.thread_ts === undefined);

/** The latest card of an order, when it shows the state. */
const currentCard = (order: SeenOrder, state: string, channel = DOMAINS) =>
  t.workspace.waitFor(
    () => {
      const card = cardsOf(order, channel).at(-1);
      return card !== undefined && orderOf(card)?.state === state ? card : undefined;
    },
    { what: `a card of ${order.id} in ${channel} that shows ${state}` },
  );

const WITHIN_MS = 3_000;
const orderIdIn = (text: string) => /order `([a-z0-9]{12})`/.exec(text)?.[1] ?? '';

describe.each([
  { kind: 'ratelimited', retryAfter: 30 },
  { kind: 'error', code: 'token_revoked' },
  { kind: 'error', code: 'fatal_error' },
  { kind: 'http_500' },
  { kind: 'timeout' },
] as const)('chat.postMessage fails ($kind $code)', (fault) => {
  test('a command is answered within 3 s: the order is kept, and the second try names it', async () => {
    const name = newName();
    t.workspace.faults.set({ method: 'chat.postMessage', ...fault });
    const asked = performance.now();
    const told = await toldAfter(t.workspace, t.alice, () =>
      t.alice.command(DOMAINS, `/domain renew ${name}`),
    );
    expect(performance.now() - asked).toBeLessThan(WITHIN_MS);
    expect(told).toContain('Your order is kept');
    const id = orderIdIn(told);
    const again = await toldAfter(t.workspace, t.alice, () =>
      t.alice.command(DOMAINS, `/domain renew ${name}`),
    );
    expect(again).toContain(`There is an open order for this already: \`${id}\``);
    t.workspace.faults.clear();
    await t.demo.moveTime(11 * 60_000);
    await currentCard(new SeenOrder(t.workspace, id, DOMAINS), 'PENDING');
  });
});

test('Slack takes no message at all: the form itself says that the order is kept', async () => {
  const name = newName();
  const form = await openForm(t.workspace, t.alice, '/domain renew');
  t.workspace.faults.set({ method: '*', kind: 'error', code: 'token_revoked' });
  const asked = performance.now();
  const result = await t.alice.submit(form, { names: name, period: '1' });
  expect(performance.now() - asked).toBeLessThan(WITHIN_MS);
  expect(result.outcome).toBe('updated');
  const shown = t.alice.openedViews().find(({ id }) => id === form.id);
  const said = shown === undefined ? '' : textOf(shown);
  expect(said).toContain('Your order is kept');
  t.workspace.faults.clear();
  await t.demo.moveTime(11 * 60_000);
  await currentCard(new SeenOrder(t.workspace, orderIdIn(said), DOMAINS), 'PENDING');
});

describe.each(['edit_window_closed', 'cant_update_message', 'message_not_found'])(
  'a card that Slack does not let us edit (%s)',
  (code) => {
    test('is posted again, and the buttons of the old one lead there', async () => {
      const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
      await t.allShown();
      const old = order.card;
      t.workspace.faults.set({ method: 'chat.update', kind: 'error', code });
      await t.bob.click(old, 'order_approve');
      const card = await currentCard(order, 'SUCCEEDED');
      expect(card.ts).not.toBe(old.ts);
      await t.allShown();
      const shown = cardsOf(order).length;

      const told = await toldAfter(t.workspace, t.bob, () => t.bob.click(old, 'order_approve'));
      expect(told).toContain(`/p${card.ts.replace('.', '')}`);
      expect(told).toContain(`/domain order ${order.id}`);
      await t.allShown();
      expect(cardsOf(order), 'no further card').toHaveLength(shown);
    });
  },
);

test('the channel of a waiting card is archived: the requester gets a card that works', async () => {
  const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
  await t.allShown();
  for (const method of ['chat.update', 'chat.postMessage'])
    t.workspace.faults.set({ method, channel: DOMAINS, kind: 'error', code: 'is_archived' });
  await t.bob.click(order.card, 'order_approve');
  const card = await currentCard(order, 'SUCCEEDED', ALICES_DM);
  await t.allShown();
  expect(t.workspace.channel(ALICES_DM).thread(card.ts).map(orderOf)).toMatchObject([{ state: 'SUCCEEDED' }]);
});

test('a card that Slack takes only as text has the command that shows it with its buttons', async () => {
  await t.allShown();
  t.workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'invalid_blocks', times: 2 });
  const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
  const { card } = order;
  expect(card.blocks).toEqual([]);
  expect(card.text).toContain(`\`/domain order ${order.id}\``);
  await toldAfter(t.workspace, t.bob, () => t.bob.command(DOMAINS, `/domain order ${order.id}`));
  const shown = t.bob.ephemerals().at(-1);
  if (shown === undefined) throw new Error('the order was not shown');
  expect(buttonsOf(shown)).toEqual(expect.arrayContaining(['order_approve', 'order_deny', 'order_look']));
  await t.bob.click(shown, 'order_approve');
  await order.ends('SUCCEEDED');
  expect(cardsOf(order), 'no other card').toHaveLength(1);
});

test('an update that is too long as blocks is text within the limit of an update', async () => {
  const order = await ask(t.workspace, t.alice, `/domain renew ${newName()}`);
  await t.allShown();
  t.workspace.faults.set({ method: 'chat.update', kind: 'error', code: 'msg_too_long', times: 2 });
  await t.bob.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
  expect(cardsOf(order)).toHaveLength(1);
});
