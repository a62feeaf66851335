import type { Actor, Message } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, test } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import {
  DOMAINS,
  openForm,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { orderOf, waitForOrder } from '../support/orders.ts';
import { expectFormClosed } from '../support/people.ts';

/*
 * Alice requests a renewal, a redirect and a mandate in private. Carol, a member without access, looks for
 * them: in every command, button and message about orders or mandates, in another order's impact, and by
 * guessing IDs.
 */

const DAY_MS = 86_400_000;
const REMINDER_CHANNEL = 'C0EXPIRY';
const ALICE_DM_CHANNEL = 'D0ALICE';
const NAMESERVERS = ['ns1.dns.example', 'ns2.dns.example'];
const REASONS = ['hush-renewal', 'hush-mandate', 'hush-redirect'];
const AMOUNTS = ['44.44', '55.55'];
/** Includes the currency, because timestamps can contain the digits alone. */
const FORMATTED_AMOUNTS = AMOUNTS.flatMap((sum) => [`€${sum}`, `${sum} EUR`]);
const REDIRECT_SOURCE = 'www.cafe.rest';

const t = useTestDemo({ settings: { APPROVERS: 'U0BOB' } });
const ids = { renewal: '', redirect: '', mandate: '' };
const listSecrets = () => [...Object.values(ids), ...REASONS, ...FORMATTED_AMOUNTS, REDIRECT_SOURCE];

async function registerAndWatch(name: string, daysUntilExpiry: number): Promise<void> {
  const noon = new Date(t.service.clock.registryTime() + daysUntilExpiry * DAY_MS).setUTCHours(12, 0, 0, 0);
  t.service.state.addDomain({ name, context: 4, expires: noon, nameServers: [...NAMESERVERS] });
  t.demo.dns.sandbox?.world.serve(name, NAMESERVERS, []);
  t.demo.dns.sandbox?.world.delegate(name, NAMESERVERS);
  await readCommandReply(t.workspace, t.alice, `/domain watch ${name}`);
}

async function approve(id: string): Promise<void> {
  const card = await t.workspace.waitFor(
    () => t.workspace.messages('D0BOB').find((message) => orderOf(message)?.id === id),
    { what: 'the card for the approver' },
  );
  await t.bob.click(card, 'order_approve');
}

beforeAll(async () => {
  const renewalPrice = {
    zone: 'rest',
    task: 'renew',
    period: 1,
    validFrom: '2020-01-01',
    source: 'C',
  } as const;
  const price = diffPrices([], [{ ...renewalPrice, amount: { currency: 'EUR', minor: 1_800 } }]);
  await t.demo.bot.prices.save(price, 'U0ADA', new Date());
  for (const [name, days] of [
    ['secret.rest', 33],
    ['quiet.rest', 100],
    ['open.rest', 100],
    ['acted.rest', 12],
  ] as const)
    await registerAndWatch(name, days);
  const renewal = await waitForOrder(
    t.workspace,
    () => t.alice.command(ALICE_DM_CHANNEL, `/domain renew secret.rest -- ${REASONS[0]}`),
    ALICE_DM_CHANNEL,
  );
  ids.renewal = renewal.id;
  const form = await openForm(t.workspace, t.alice, `/domain redirect ${REDIRECT_SOURCE}`, ALICE_DM_CHANNEL);
  const redirectValues = {
    target: 'https://open.rest/menu',
    type: 'DOMAIN',
    mode: 'HTTP',
    reason: REASONS[2] ?? '',
  };
  const redirect = await waitForOrder(
    t.workspace,
    async () => expectFormClosed(await t.alice.submit(form, redirectValues)),
    ALICE_DM_CHANNEL,
  );
  ids.redirect = redirect.id;
  await redirect.waitForResult('SUCCEEDED');
  const before = t.alice.ephemerals().length;
  await t.alice.command(ALICE_DM_CHANNEL, '/domain mandates');
  const mandatesReply = await t.workspace.waitFor(() => t.alice.ephemerals()[before], {
    what: 'the mandates',
  });
  const view = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.click(mandatesReply, 'mandate_add'),
  );
  const until = new Date(t.service.clock.registryTime() + 300 * DAY_MS).toISOString().slice(0, 10);
  const terms = {
    ...{ mandate_names: 'quiet.rest\nacted.rest', max_price: AMOUNTS[0] ?? '', max_total: AMOUNTS[1] ?? '' },
    ...{ span: 'year', until, notice: '10', account: 'mine', reason: REASONS[1] ?? '' },
  };
  const mandate = await waitForOrder(
    t.workspace,
    async () => expectFormClosed(await t.alice.submit(view, terms)),
    ALICE_DM_CHANNEL,
  );
  ids.mandate = mandate.id;
  await approve(mandate.id);
  await mandate.waitForState('SUCCEEDED');
}, 90_000);

const renderMessage = ({ text, blocks }: Pick<Message, 'text' | 'blocks'>) => JSON.stringify([text, blocks]);

/** Everything that a person can read: public channels, replies, forms, Home and files. */
async function readAllVisible(person: Actor, dmChannel: string): Promise<string> {
  const messages = [DOMAINS, REMINDER_CHANNEL, dmChannel].flatMap((channel) => t.workspace.messages(channel));
  const files = messages.flatMap((message) => message.files ?? []);
  const texts = await Promise.all(
    files.map(async (file) => (await fetch(new URL(file.url_private_download, t.workspace.url))).text()),
  );
  const home = person.homeView();
  const views = [...person.openedViews(), ...(home === undefined ? [] : [home])];
  return [
    ...[...messages, ...person.ephemerals()].map(renderMessage),
    ...views.map((view) => JSON.stringify(view.blocks)),
    ...texts,
  ].join('\n');
}

async function expectHidden(what: string): Promise<void> {
  const visibleText = await readAllVisible(t.carol, 'D0CAROL');
  const found = listSecrets().filter((text) => visibleText.includes(text));
  const excerpts = found.map((text) =>
    visibleText.slice(Math.max(0, visibleText.indexOf(text) - 200), visibleText.indexOf(text) + 60),
  );
  expect(excerpts, what).toEqual([]);
}

/** Commands that show lists or names, and the private order that only approvers and admins see there. */
const LIST_COMMANDS: readonly (readonly [line: () => string, shows: keyof typeof ids | undefined])[] = [
  [() => 'orders', 'renewal'],
  [() => 'orders pending', 'renewal'],
  [() => 'orders secret.rest', 'renewal'],
  [() => 'orders review', undefined],
  [() => 'orders mine', undefined],
  [() => 'name secret.rest', 'renewal'],
  [() => 'name quiet.rest', 'mandate'],
  [() => 'name open.rest', undefined],
  [() => 'names', undefined],
  [() => 'names export', undefined],
  [() => 'spend', undefined],
  [() => 'spend export', undefined],
  [() => 'expiring 300', undefined],
  [() => 'posture', undefined],
  [() => 'mandates', 'mandate'],
  [() => 'rules secret.rest', undefined],
];

/** Commands that take an ID and repeat it in their reply. */
const ORDER_COMMANDS = ['order', 'receipt'] as const;

const BUTTON_ACTIONS = [
  ...[
    'order_look',
    'order_look_next',
    'order_data',
    'order_receipt',
    'order_retry',
    'order_undo',
    'order_reveal',
  ],
  ...['order_approve', 'order_approve_comment', 'order_deny', 'order_ask', 'order_break_glass', 'order_sign'],
  ...['order_cancel', 'order_confirm', 'order_stop', 'order_resume', 'order_sign_off', 'order_resolve_done'],
  ...['order_resolve_failed', 'mandate_add', 'mandate_end'],
];

/** Posts a message whose buttons have a guessed ID. */
async function postForgedMessage(value: string): Promise<Message> {
  const button = (action_id: string) => ({
    ...{ type: 'button', action_id, value },
    text: { type: 'plain_text', text: 'Try' },
  });
  const actionGroups = [BUTTON_ACTIONS.slice(0, 11), BUTTON_ACTIONS.slice(11)];
  const blocks = actionGroups.map((actions, n) => ({
    ...{ type: 'actions', block_id: `forged${n}` },
    elements: actions.map(button),
  }));
  const response = await fetch(`${t.workspace.apiUrl}chat.postMessage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${t.workspace.botToken}` },
    body: JSON.stringify({ channel: 'D0CAROL', text: 'forged', blocks }),
  });
  const { ok, ts } = (await response.json()) as { ok: boolean; ts: string };
  expect(ok).toBe(true);
  const forgedMessage = t.workspace.messages('D0CAROL').find((message) => message.ts === ts);
  if (forgedMessage === undefined) throw new Error('the forged message was not posted');
  return forgedMessage;
}

describe('a private order or mandate', () => {
  test.each(LIST_COMMANDS.map(([line, shows]) => [line(), shows] as const))(
    'is hidden in %s',
    async (line, shows) => {
      await readCommandReply(t.workspace, t.carol, `/domain ${line}`);
      await expectHidden(line);
      if (shows === undefined) return;
      for (const person of [t.bob, t.ada])
        expect(await readCommandReply(t.workspace, person, `/domain ${line}`)).toContain(ids[shows]);
    },
  );

  test.each(ORDER_COMMANDS)('is hidden by /domain %s with its ID', async (command) => {
    for (const id of Object.values(ids)) {
      const reply = await readCommandReply(t.workspace, t.carol, `/domain ${command} ${id}`);
      const leakedTexts = listSecrets().filter((text) => text !== id && reply.includes(text));
      expect([reply.split('\n').length < 4, leakedTexts]).toEqual([true, []]);
      expect(reply).toContain('Order');
      if (command === 'order')
        expect(await readCommandReply(t.workspace, t.ada, `/domain ${command} ${id}`)).not.toContain('Order');
    }
  });

  test('is hidden in Home, in the digest and in the mandate’s messages', async () => {
    await t.carol.openHome();
    await t.workspace.waitFor(() => t.carol.homeView(), { what: 'Carol’s Home tab' });
    await t.demo.moveTime(3 * DAY_MS);
    const findReminder = (text: string) => () =>
      t.workspace.messages(REMINDER_CHANNEL).find((message) => textOf(message).includes(text));
    await t.workspace.waitFor(findReminder('*secret.rest*'), { what: 'the digest' });
    await t.workspace.waitFor(findReminder('Mandates will renew'), { what: 'the mandate’s daily message' });
    const visibleText = await readAllVisible(t.carol, 'nowhere');
    for (const text of [ids.mandate, ids.redirect, ...REASONS, ...FORMATTED_AMOUNTS])
      expect(
        visibleText.split('\n').filter((line) => line.includes(text) && !line.includes('Order')),
      ).toEqual([]);
  }, 60_000);

  test('is hidden in the impact of another order', async () => {
    const command = () => t.alice.command(DOMAINS, '/domain delete open.rest');
    const before = t.alice.ephemerals().length;
    await command();
    const draft = await t.workspace.waitFor(() => t.alice.ephemerals()[before], { what: 'the request' });
    expect(textOf(draft)).toContain('1 redirect of a private order');
    const form = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(draft, 'order_confirm'),
    );
    const order = await waitForOrder(t.workspace, () => t.alice.submit(form, { name: 'open.rest' }));
    const details = await performAndWaitForView(t.workspace, t.carol, () =>
      t.carol.click(order.card, 'order_look'),
    );
    for (const text of [textOf(order.card), textOf(details)]) expect(text).not.toContain(REDIRECT_SOURCE);
  }, 30_000);

  test.each(Object.keys(ids) as (keyof typeof ids)[])(
    'is hidden in the replies to forged buttons with its ID: %s',
    async (kind) => {
      const id = ids[kind];
      const otherSecrets = listSecrets().filter((text) => text !== id);
      const message = await postForgedMessage(id);
      for (const action of BUTTON_ACTIONS) {
        const [replies, views] = [t.carol.ephemerals().length, t.carol.openedViews().length];
        await t.carol.click(message, action);
        await t.workspace.waitFor(
          () => t.carol.ephemerals().length > replies || t.carol.openedViews().length > views || undefined,
          { what: `a reply to ${action}` },
        );
        const answers = t.carol.ephemerals().slice(replies).map(renderMessage);
        const opened = t.carol.openedViews().map((view) => JSON.stringify(view.blocks));
        const visibleText = [...answers, ...opened].join('\n');
        expect(
          otherSecrets.filter((text) => visibleText.includes(text)),
          action,
        ).toEqual([]);
        for (const view of t.carol.openedViews()) t.carol.close(view);
      }
    },
    60_000,
  );
});
