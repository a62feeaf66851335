import type { Actor } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import {
  DOMAINS,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { expectFormClosed, giveReason } from '../support/people.ts';

/* Silent approvers can approve, but are never mentioned, messaged or reminded. */

const t = useTestDemo({
  settings: { ADMINS: 'U0ADA,U0BOB', APPROVERS: 'U0BOB', SILENT_APPROVERS: 'U0CAROL' },
});

const CAROL_MENTION = '<@U0CAROL>';
const POSTING_METHODS = new Set(['chat.postMessage', 'chat.update']);

function expectCarolNotNotified(order: VisibleOrder): void {
  const posted = t.workspace.calls.filter(({ method }) => POSTING_METHODS.has(method));
  expect(posted.filter((call) => JSON.stringify(call).includes(CAROL_MENTION))).toEqual([]);
  expect(order.messages().flatMap(({ notifies }) => notifies)).not.toContain('U0CAROL');
  expect(t.workspace.messages('D0CAROL')).toEqual([]);
}

test('a silent approver can approve, is named without a mention, and is listed in Details', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew catering.rest');
  expect(textOf(order.card)).toMatch(/Waiting for <@U0BOB>, until/);
  const details = await performAndWaitForView(t.workspace, t.bob, () =>
    t.bob.click(order.card, 'order_look'),
  );
  expect(textOf(details)).toMatch(/Approvers, not notified.*<@U0CAROL>/s);
  await t.carol.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  await t.demo.bot.catchUp();
  expect(textOf(order.card)).toContain(`approved by ${t.carol.user.real_name}`);
  expectCarolNotNotified(order);
});

test('copies, reminders and escalations aren’t sent to silent approvers', async () => {
  const order = await waitForOrder(
    t.workspace,
    () => t.alice.command('D0ALICE', '/domain renew chef.rest'),
    'D0ALICE',
  );
  await t.demo.moveTime(4 * 3_600_000 + 60_000);
  await t.demo.bot.catchUp();
  await t.demo.moveTime(21 * 3_600_000);
  await t.demo.bot.catchUp();
  expect(t.workspace.messages('D0BOB').map(textOf).join('\n')).toContain('chef.rest');
  expectCarolNotNotified(order);
});

const openHome = async (person: Actor) => {
  await person.openHome();
  return t.workspace.waitFor(() => person.homeView(), { what: 'the Home tab' });
};

/** Each function requests an order and does something that other people see. */
const SURFACES: Readonly<Record<string, (name: string) => Promise<VisibleOrder>>> = {
  'a denied card in a channel': async (name) => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await giveReason(t.workspace, t.carol, order.card, 'order_deny', 'Not now');
    await order.waitForResult('DENIED');
    return order;
  },
  'a question about an order': async (name) => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    const form = await performAndWaitForView(t.workspace, t.carol, () =>
      t.carol.click(order.card, 'order_ask'),
    );
    expectFormClosed(await t.carol.submit(form, { question: 'Why?' }));
    await t.workspace.waitFor(() => textOf(order.card).includes('Why?') || undefined, {
      what: 'the question',
    });
    return order;
  },
  'the Home tabs of an approver and the requester': async (name) => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    for (const person of [t.alice, t.bob])
      expect(JSON.stringify(await openHome(person))).not.toContain(CAROL_MENTION);
    return order;
  },
  'reminders and the escalation of a mandate': async () => {
    await readCommandReply(t.workspace, t.alice, '/domain watch deli.rest');
    await readCommandReply(t.workspace, t.alice, '/domain mandates');
    const shown = t.alice.ephemerals().at(-1);
    if (shown === undefined) throw new Error('the mandates were not shown');
    const form = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(shown, 'mandate_add'));
    const terms = {
      max_price: '18.00',
      max_total: '54.00',
      span: 'year',
      notice: '10',
      account: 'mine',
      until: dateIn300Days(),
    };
    const order = await waitForOrder(
      t.workspace,
      async () => expectFormClosed(await t.alice.submit(form, { mandate_names: 'deli.rest', ...terms })),
      DOMAINS,
    );
    await advanceToEscalation();
    return order;
  },
  'a card while a silent approver is a stand-in': async (name) => {
    await readCommandReply(t.workspace, t.bob, '/domain away 2w <@U0CAROL>');
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await advanceToEscalation();
    await readCommandReply(t.workspace, t.bob, '/domain back');
    await t.demo.bot.catchUp();
    return order;
  },
  'a card while a silent approver is away': async (name) => {
    await readCommandReply(t.workspace, t.carol, '/domain away 2w <@U0ADA>');
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await advanceToEscalation();
    await readCommandReply(t.workspace, t.carol, '/domain back');
    await t.demo.bot.catchUp();
    return order;
  },
};

const dateIn300Days = () =>
  new Date(t.service.clock.registryTime() + 300 * 86_400_000).toISOString().slice(0, 10);

/** Advances the clock until reminders and an escalation are due. */
async function advanceToEscalation(): Promise<void> {
  await t.demo.bot.catchUp();
  for (const hours of [5, 20]) {
    await t.demo.moveTime(hours * 3_600_000);
    await t.demo.bot.catchUp();
  }
}

test.each(
  Object.entries(SURFACES).map(
    ([what, requestOrder], index) => [what, requestOrder, `silent${index}.rest`] as const,
  ),
)('silent approvers aren’t mentioned or notified by %s', async (_what, requestOrder, name) => {
  const order = await requestOrder(name);
  await t.demo.bot.catchUp();
  expectCarolNotNotified(order);
});

test('adding a silent approver needs another admin’s confirmation', async () => {
  const view = await openForm(t.workspace, t.ada, '/domain settings');
  const reply = await performAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(view, { silent_approvers: ['U0CAROL', 'U0ADA'] })),
  );
  expect(reply).toContain('Waiting for another admin');
  expect(reply).toMatch(/Silent approvers: <@U0CAROL> → <@U0CAROL>, <@U0ADA>/);
});
