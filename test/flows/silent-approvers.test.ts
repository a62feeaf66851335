import type { Actor } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import {
  actAndReadReply,
  actUntilOpened,
  DOMAINS,
  openForm,
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

const MENTION = '<@U0CAROL>';
const POSTED = new Set(['chat.postMessage', 'chat.update']);

function expectSilence(order: VisibleOrder): void {
  const posted = t.workspace.calls.filter(({ method }) => POSTED.has(method));
  expect(posted.filter((call) => JSON.stringify(call).includes(MENTION))).toEqual([]);
  expect(order.messages().flatMap(({ notifies }) => notifies)).not.toContain('U0CAROL');
  expect(t.workspace.messages('D0CAROL')).toEqual([]);
}

test('a silent approver can approve, is named without a mention, and is listed in Details', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew catering.rest');
  expect(textOf(order.card)).toMatch(/Waiting for <@U0BOB>, until/);
  const details = await actUntilOpened(t.workspace, t.bob, () => t.bob.click(order.card, 'order_look'));
  expect(textOf(details)).toMatch(/Approvers, not notified.*<@U0CAROL>/s);
  await t.carol.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  await t.demo.bot.catchUp();
  expect(textOf(order.card)).toContain(`approved by ${t.carol.user.real_name}`);
  expectSilence(order);
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
  expectSilence(order);
});

const openHome = async (person: Actor) => {
  await person.openHome();
  return t.workspace.waitFor(() => person.homeView(), { what: 'Home' });
};

/** Each requests an order and does something that other people see. */
const SURFACES: Readonly<Record<string, (name: string) => Promise<VisibleOrder>>> = {
  'a denied card in a channel': async (name) => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await giveReason(t.workspace, t.carol, order.card, 'order_deny', 'Not now');
    await order.waitForResult('DENIED');
    return order;
  },
  'a question about an order': async (name) => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    const form = await actUntilOpened(t.workspace, t.carol, () => t.carol.click(order.card, 'order_ask'));
    expectFormClosed(await t.carol.submit(form, { question: 'Why?' }));
    await t.workspace.waitFor(() => textOf(order.card).includes('Why?') || undefined, {
      what: 'the question',
    });
    return order;
  },
  'the Home tabs of an approver and the requester': async (name) => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    for (const person of [t.alice, t.bob])
      expect(JSON.stringify(await openHome(person))).not.toContain(MENTION);
    return order;
  },
  'reminders and the escalation of a mandate': async () => {
    await readCommandReply(t.workspace, t.alice, '/domain watch deli.rest');
    await readCommandReply(t.workspace, t.alice, '/domain mandates');
    const shown = t.alice.ephemerals().at(-1);
    if (shown === undefined) throw new Error('the mandates were not shown');
    const form = await actUntilOpened(t.workspace, t.alice, () => t.alice.click(shown, 'mandate_add'));
    const terms = {
      max_price: '18.00',
      max_total: '54.00',
      span: 'year',
      notice: '10',
      account: 'mine',
      until: inAYear(),
    };
    const order = await waitForOrder(
      t.workspace,
      async () => expectFormClosed(await t.alice.submit(form, { mandate_names: 'deli.rest', ...terms })),
      DOMAINS,
    );
    await passDay();
    return order;
  },
  'a card while a silent approver is a stand-in': async (name) => {
    await readCommandReply(t.workspace, t.bob, '/domain away 2w <@U0CAROL>');
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await passDay();
    await readCommandReply(t.workspace, t.bob, '/domain back');
    await t.demo.bot.catchUp();
    return order;
  },
  'a card while a silent approver is away': async (name) => {
    await readCommandReply(t.workspace, t.carol, '/domain away 2w <@U0ADA>');
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await passDay();
    await readCommandReply(t.workspace, t.carol, '/domain back');
    await t.demo.bot.catchUp();
    return order;
  },
};

const inAYear = () => new Date(t.service.clock.registry() + 300 * 86_400_000).toISOString().slice(0, 10);

/** Advances far enough for reminders and an escalation. */
async function passDay(): Promise<void> {
  await t.demo.bot.catchUp();
  for (const hours of [5, 20]) {
    await t.demo.moveTime(hours * 3_600_000);
    await t.demo.bot.catchUp();
  }
}

test.each(Object.entries(SURFACES).map(([what, act], index) => [what, act, `silent${index}.rest`] as const))(
  '%s: silent approvers aren’t mentioned or notified',
  async (_what, act, name) => {
    const order = await act(name);
    await t.demo.bot.catchUp();
    expectSilence(order);
  },
);

test('adding a silent approver needs another admin’s confirmation', async () => {
  const view = await openForm(t.workspace, t.ada, '/domain settings');
  const reply = await actAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(view, { silent_approvers: ['U0CAROL', 'U0ADA'] })),
  );
  expect(reply).toContain('Waiting for another admin');
  expect(reply).toMatch(/Silent approvers: <@U0CAROL> → <@U0CAROL>, <@U0ADA>/);
});
