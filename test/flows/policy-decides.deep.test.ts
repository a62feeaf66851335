import { afterEach, describe, expect, test } from 'vitest';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import {
  DOMAINS,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { readDetails } from '../support/looking.ts';
import { requestByCommand, type VisibleOrder } from '../support/orders.ts';
import { downloadAuditLog, expectFormClosed, readFieldValues } from '../support/people.ts';

/* Policy rules with their own approvers, and approvers who are away. */

const LARGE_RENEWALS_RULE: PolicyRule = {
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
const REFUSING_RULE: PolicyRule = {
  ...LARGE_RENEWALS_RULE,
  name: 'nothing of leadership',
  tasks: ['renew', 'transfer'],
  names: ['catering.rest'],
  over: undefined,
  decision: 'refuse',
  approvers: [],
  needed: 1,
};
let policy: Policy = { version: 3, rules: [REFUSING_RULE, LARGE_RENEWALS_RULE] };
const t = useTestDemo({ policy: { loadCurrentPolicy: async () => policy } });

afterEach(async () => {
  policy = { version: 3, rules: [REFUSING_RULE, LARGE_RENEWALS_RULE] };
  for (const person of [t.ada, t.bob]) await readCommandReply(t.workspace, person, '/domain back');
});

const readReplyTo = (person: typeof t.alice, act: () => Promise<unknown>) =>
  performAndReadReply(t.workspace, person, act);
const listMessageTexts = (channel: string) => t.workspace.messages(channel).map(textOf);

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
  await t.workspace.setUsergroupMembers('S0APPROVERS', [...people]);
}

async function setPrice(amount: string): Promise<void> {
  await readCommandReply(t.workspace, t.ada, '/domain prices');
  const list = t.ada.ephemerals().at(-1);
  if (list === undefined) throw new Error('the price list was not shown');
  const form = await performAndWaitForView(t.workspace, t.ada, () => t.ada.click(list, 'price_add'));
  const today = new Date().toISOString().slice(0, 10);
  const values = {
    zone: 'rest',
    task: 'renew',
    period: '1',
    amount,
    valid_from: today,
    source: 'Contract 7',
  };
  await readReplyTo(t.ada, async () => expectFormClosed(await t.ada.submit(form, values)));
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

  expect(await readReplyTo(t.carol, () => t.carol.click(order.card, 'order_approve'))).toContain(
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
  // The closed card has no space to name the rule.
  expect(await readCommandReply(t.workspace, t.ada, `/domain order ${order.id}`)).toContain(
    'rule “large renewals” of policy version 3',
  );
});

test('the form of a task doesn’t open if a rule refuses the task for the name', async () => {
  const before = t.alice.openedViews().length;
  const refusal = await readCommandReply(t.workspace, t.alice, '/domain transfer catering.rest');
  expect(refusal).toContain(
    'rule “nothing of leadership” of policy version 3. If you need it, ask an admin.',
  );
  expect(t.alice.openedViews()).toHaveLength(before);

  const message = t.alice.say(DOMAINS, 'catering.rest should come to us');
  const menu = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.shortcut('domain_here', message),
  );
  expect(await t.alice.submit(menu, { task: 'transfer', names: ['catering.rest'] })).toMatchObject({
    outcome: 'errors',
    errors: { task: expect.stringContaining('nothing of leadership') },
  });
  await t.alice.close(menu);

  const otherForm = await openForm(t.workspace, t.alice, '/domain transfer bistro.rest');
  expect(readFieldValues(otherForm)).toMatchObject({ name: 'bistro.rest' });
  await t.alice.close(otherForm);
});

test('a rule published while an order is pending is named on the closed card', async () => {
  policy = { version: 0, rules: [] };
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cocktail.rest');
  policy = {
    version: 1,
    rules: [{ ...LARGE_RENEWALS_RULE, over: undefined, needed: 1, approvers: ['U0ADA'] }],
  };
  await t.bob.click(order.card, 'order_approve');
  await waitForText(order, 'Still needed: 1 approval from <@U0ADA>.');
  await t.ada.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(textOf(order.card)).toContain('rule “large renewals” of policy version 1');
  expect(await readDetails(t.workspace, t.ada, order.card)).toContain(
    '*Rules*\nthe settings, rule “large renewals” of policy version 1',
  );
});

const waitForDirectMessage = (channel: string, text: string) =>
  until(text, () => listMessageTexts(channel).at(-1)?.includes(text) === true);

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

  test('notifies both people, is shown in Home and in the audit log, and can be ended early', async () => {
    await readCommandReply(t.workspace, t.bob, '/domain away @carol 2w');
    await waitForDirectMessage('D0CAROL', 'You are <@U0BOB>’s stand-in until');
    await waitForDirectMessage('D0BOB', '<@U0CAROL> is your stand-in until');
    for (const [person, line] of [
      [t.bob, '<@U0CAROL> is your stand-in until'],
      [t.carol, 'You are <@U0BOB>’s stand-in until'],
    ] as const) {
      await person.openHome();
      await until(line, () => textOf(person.homeView() ?? { blocks: [] }).includes(line));
    }
    await readCommandReply(t.workspace, t.bob, '/domain back');
    await waitForDirectMessage('D0CAROL', 'You are no longer <@U0BOB>’s stand-in.');
    await waitForDirectMessage('D0BOB', '<@U0CAROL> is no longer your stand-in');
    const { csv } = await downloadAuditLog(t.workspace, '/domain audit');
    expect(csv).toMatch(/stand_in_changed,Bob \(U0BOB\).*Carol \(U0CAROL\) is the stand-in until/);
    expect(csv).toMatch(/stand_in_changed,Bob \(U0BOB\).*no stand-in anymore/);
  });

  test('shows the stand-in’s Home the orders they can approve, until the absence ends', async () => {
    await setApproverGroup('U0BOB');
    policy = {
      version: 4,
      rules: [{ ...LARGE_RENEWALS_RULE, over: undefined, needed: 1, ttlMs: 9 * 86_400_000 }],
    };
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew diner.rest');
    const waitUntilInHome = async (isListed: boolean) => {
      await until(`the order is ${isListed ? '' : 'not '}in Home`, async () => {
        const before = t.carol.homeView()?.hash;
        await t.carol.openHome();
        await until('a new version of Home', () => t.carol.homeView()?.hash !== before);
        return textOf(t.carol.homeView() ?? { blocks: [] }).includes(order.id) === isListed;
      });
    };
    await waitUntilInHome(false);
    await readCommandReply(t.workspace, t.bob, '/domain away 5d @carol');
    await waitUntilInHome(true);
    await t.demo.moveTime(6 * 86_400_000);
    await waitUntilInHome(false);
    expect(await readReplyTo(t.carol, () => t.carol.click(order.card, 'order_approve'))).toContain(
      'You can’t approve this.',
    );
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });
});
