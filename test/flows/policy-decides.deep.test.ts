import { afterEach, describe, expect, test } from 'vitest';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import {
  actAndReadReply,
  actUntilOpened,
  DOMAINS,
  openForm,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { detailsOf } from '../support/looking.ts';
import { requestByCommand, type VisibleOrder } from '../support/orders.ts';
import { downloadAuditLog, expectFormClosed, readFieldValues } from '../support/people.ts';

/* Policy rules with their own approvers, and approvers who are away. */

const RULE: PolicyRule = {
  name: 'large renewals',
  tasks: ['renew'],
  names: ['*'],
  by: [],
  over: { currency: 'EUR', minor: 50_000 },
  decision: 'approve',
  approvers: ['S0APPROVERS'],
  silent: [],
  needed: 2,
  ttlMs: undefined,
  remindAfterMs: 60 * 60_000,
  escalateAfterMs: undefined,
  escalateTo: [],
  breakGlass: false,
  signed: false,
};
const REFUSED: PolicyRule = {
  ...RULE,
  name: 'nothing of leadership',
  tasks: ['renew', 'transfer'],
  names: ['catering.rest'],
  over: undefined,
  decision: 'refuse',
  approvers: [],
  needed: 1,
};
let policy: Policy = { version: 3, rules: [REFUSED, RULE] };
const t = useTestDemo({ policy: { current: async () => policy } });

afterEach(async () => {
  policy = { version: 3, rules: [REFUSED, RULE] };
  for (const person of [t.ada, t.bob]) await readCommandReply(t.workspace, person, '/domain back');
});

const reply = (person: typeof t.alice, act: () => Promise<unknown>) =>
  actAndReadReply(t.workspace, person, act);
const dmsTo = (person: string) => t.workspace.messages(person).map(textOf);

function waitForText(order: VisibleOrder, text: string): Promise<string> {
  return t.workspace.waitFor(
    () =>
      order
        .messages()
        .map(textOf)
        .find((each) => each.includes(text)),
    { what: `“${text}” about ${order.id}` },
  );
}

async function setApproverGroup(...people: readonly string[]) {
  await t.workspace.setUsergroup('S0APPROVERS', [...people]);
}

async function setPrice(amount: string): Promise<void> {
  await readCommandReply(t.workspace, t.ada, '/domain prices');
  const list = t.ada.ephemerals().at(-1);
  if (list === undefined) throw new Error('the price list was not shown');
  const form = await actUntilOpened(t.workspace, t.ada, () => t.ada.click(list, 'price_add'));
  const today = new Date().toISOString().slice(0, 10);
  const values = {
    zone: 'rest',
    task: 'renew',
    period: '1',
    amount,
    valid_from: today,
    source: 'Contract 7',
  };
  await reply(t.ada, async () => expectFormClosed(await t.ada.submit(form, values)));
}

test('an expensive order needs two members of a group, and one can have a stand-in', async () => {
  await setPrice('600.00');
  await setApproverGroup('U0BOB', 'U0ADA');
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  const card = textOf(order.card);
  expect(card).toContain('rule “large renewals” of policy version 3');
  expect(card).toContain('Waiting for <!subteam^S0APPROVERS>');
  expect(card).toContain('0 of 2 approvals');
  expect(await readCommandReply(t.workspace, t.ada, `/domain order ${order.id}`)).toContain(
    '*Required approvals*\n2 approvals from <!subteam^S0APPROVERS>',
  );

  expect(await reply(t.carol, () => t.carol.click(order.card, 'order_approve'))).toContain(
    'Under the policy, only <!subteam^S0APPROVERS> can.',
  );
  await t.bob.click(order.card, 'order_approve');
  await waitForText(
    order,
    '<@U0BOB> approved. Still needed: 1 approval from a member of <!subteam^S0APPROVERS>.',
  );
  await waitForText(order, '1 of 2 approvals (<@U0BOB>)');
  expect(order.state).toBe('PENDING');

  const awayReply = await readCommandReply(t.workspace, t.ada, '/domain away 2w @carol');
  expect(awayReply).toContain('<@U0CAROL> is your stand-in until');
  await waitForText(order, ':warning: <@U0CAROL> can approve for <@U0ADA> until');
  await t.demo.moveTime(61 * 60_000);
  const reminder = await t.workspace.waitFor(
    () => order.replies().find((reply) => textOf(reply).includes('still waiting')),
    { what: 'the reminder' },
  );
  expect(reminder.notifies.sort()).toEqual(['S0APPROVERS', 'U0CAROL']);

  await t.carol.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(textOf(order.card)).toContain('approved by <@U0BOB> and <@U0CAROL> (for <@U0ADA>) · now expires');
  // The closed card has no space for the rule.
  expect(await readCommandReply(t.workspace, t.ada, `/domain order ${order.id}`)).toContain(
    'rule “large renewals” of policy version 3',
  );
});

test('a task that a rule refuses for a name opens no form', async () => {
  const before = t.alice.openedViews().length;
  const refusal = await readCommandReply(t.workspace, t.alice, '/domain transfer catering.rest');
  expect(refusal).toContain(
    'rule “nothing of leadership” of policy version 3. If you need it, ask an admin.',
  );
  expect(t.alice.openedViews()).toHaveLength(before);

  const message = t.alice.say(DOMAINS, 'catering.rest should come to us');
  const menu = await actUntilOpened(t.workspace, t.alice, () => t.alice.shortcut('domain_here', message));
  expect(await t.alice.submit(menu, { task: 'transfer', names: ['catering.rest'] })).toMatchObject({
    outcome: 'errors',
    errors: { task: expect.stringContaining('nothing of leadership') },
  });
  await t.alice.close(menu);

  const other = await openForm(t.workspace, t.alice, '/domain transfer bistro.rest');
  expect(readFieldValues(other)).toMatchObject({ name: 'bistro.rest' });
  await t.alice.close(other);
});

test('a rule published while an order is pending is named on the closed card', async () => {
  policy = { version: 0, rules: [] };
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cocktail.rest');
  policy = { version: 1, rules: [{ ...RULE, over: undefined, needed: 1, approvers: ['U0ADA'] }] };
  await t.bob.click(order.card, 'order_approve');
  await waitForText(order, 'Still needed: 1 approval from <@U0ADA>.');
  await t.ada.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(textOf(order.card)).toContain('rule “large renewals” of policy version 1');
  expect(await detailsOf(t.workspace, t.ada, order.card)).toContain(
    '*Rules*\nthe settings, rule “large renewals” of policy version 1',
  );
});

const waitForNotice = (channel: string, text: string) =>
  until(text, () => dmsTo(channel).at(-1)?.includes(text) === true);

describe('/domain away', () => {
  test.each([
    ['', 'Enter an end date and a stand-in'],
    ['soon @carol', 'isn’t a date or duration'],
    ['2020-02-30 @carol', 'isn’t a date or duration'],
    ['2020-02-20 @carol', 'is in the past'],
    ['99w @carol', 'more than a year ahead'],
    ['2w carol', 'Type @ and choose the person from Slack’s list'],
    ['2w @bob', 'You can’t be your own stand-in'],
    ['2w <!subteam^S0APPROVERS|@approvers>', 'is a group. Choose one person'],
    ['@carol tomorrow', '`tomorrow` isn’t a date or duration'],
    ['2w @dave', 'isn’t a full member of this workspace'],
  ])('rejects “%s” and explains what to enter', async (line, expected) => {
    expect(await readCommandReply(t.workspace, t.bob, `/domain away ${line}`)).toContain(expected);
    expect(await readCommandReply(t.workspace, t.bob, '/domain back')).toContain('You have no stand-in');
  });

  test('notifies both people, is shown on Home and in the audit log, and can be ended early', async () => {
    await readCommandReply(t.workspace, t.bob, '/domain away @carol 2w');
    await waitForNotice('D0CAROL', 'You are <@U0BOB>’s stand-in until');
    await waitForNotice('D0BOB', '<@U0CAROL> is your stand-in until');
    for (const [person, line] of [
      [t.bob, '<@U0CAROL> is your stand-in until'],
      [t.carol, 'You are <@U0BOB>’s stand-in until'],
    ] as const) {
      await person.openHome();
      await until(line, () => textOf(person.homeView() ?? { blocks: [] }).includes(line));
    }
    await readCommandReply(t.workspace, t.bob, '/domain back');
    await waitForNotice('D0CAROL', 'You are no longer <@U0BOB>’s stand-in.');
    await waitForNotice('D0BOB', '<@U0CAROL> is no longer your stand-in');
    const { csv } = await downloadAuditLog(t.workspace, '/domain audit');
    expect(csv).toMatch(/stand_in_changed,Bob \(U0BOB\).*Carol \(U0CAROL\) is the stand-in until/);
    expect(csv).toMatch(/stand_in_changed,Bob \(U0BOB\).*no stand-in anymore/);
  });

  test('lists orders that the stand-in can approve on their Home tab until it ends', async () => {
    await setApproverGroup('U0BOB');
    policy = { version: 4, rules: [{ ...RULE, over: undefined, needed: 1, ttlMs: 9 * 86_400_000 }] };
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew diner.rest');
    const expectInHome = async (holds: boolean) => {
      await until(`the order is ${holds ? '' : 'not '}in Home`, async () => {
        const before = t.carol.homeView()?.hash;
        await t.carol.openHome();
        await until('a new version of Home', () => t.carol.homeView()?.hash !== before);
        return textOf(t.carol.homeView() ?? { blocks: [] }).includes(order.id) === holds;
      });
    };
    await expectInHome(false);
    await readCommandReply(t.workspace, t.bob, '/domain away 5d @carol');
    await expectInHome(true);
    await t.demo.moveTime(6 * 86_400_000);
    await expectInHome(false);
    expect(await reply(t.carol, () => t.carol.click(order.card, 'order_approve'))).toContain(
      'You can’t approve this.',
    );
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });
});
