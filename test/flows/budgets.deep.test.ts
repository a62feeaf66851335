import type { View } from '@domain-steward/slack-workspace';
import { beforeAll, expect, it } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import {
  buttonsOf,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { readDetails } from '../support/looking.ts';
import { requestByCommand } from '../support/orders.ts';
import {
  downloadAuditLog,
  expectFormClosed,
  forgeClick,
  listFields,
  readFieldValues,
} from '../support/people.ts';

// Ada is an admin and an approver. Restores need no approval.
const t = useTestDemo({
  settings: { APPROVERS: 'U0BOB,S0APPROVERS,U0ADA', APPROVAL_TASKS: 'create,transfer,renew' },
});
const NOW = new Date();

beforeAll(async () => {
  await t.demo.bot.prices.save(
    diffPrices(
      [],
      [
        {
          zone: 'rest',
          task: 'renew',
          period: 1,
          amount: { currency: 'EUR', minor: 1_800 },
          validFrom: '2020-01-01',
          source: 'Contract 7',
        },
        {
          zone: 'rest',
          task: 'restore',
          period: 1,
          amount: { currency: 'EUR', minor: 8_000 },
          validFrom: '2020-01-01',
          source: 'Contract 7',
        },
      ],
    ),
    'U0ADA',
    NOW,
  );
});

/** Opens the form of a button or menu entry of `/domain spend`. */
async function openBudgetForm(button: 'budget_add' | 'budget_edit'): Promise<View> {
  await readCommandReply(t.workspace, t.ada, '/domain spend');
  const report = t.ada.ephemerals().at(-1);
  if (report === undefined) throw new Error('no spend report was shown');
  const value = /"value":"([0-9a-f-]{36})"/.exec(JSON.stringify(report.blocks))?.[1];
  const options = button === 'budget_edit' && value !== undefined ? { value } : {};
  return performAndWaitForView(t.workspace, t.ada, () => t.ada.click(report, button, options));
}

it('budgets are created only by admins, in a form that shows errors', async () => {
  await readCommandReply(t.workspace, t.alice, '/domain spend');
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).not.toContain('budget_add');
  const form = await openBudgetForm('budget_add');
  const answer = await performAndReadReply(t.workspace, t.alice, () =>
    forgeClick(t.workspace, 'U0ALICE', 'budget_add', 'new'),
  );
  expect(answer).toContain('Only admins can do this.');
  expect(form.callback_id).toBe('budget');
  expect(listFields(form)).toEqual(['tag', 'amount', 'span']);
  expect(await t.ada.submit(form, { tag: 'two words', amount: '1,000', span: 'month' })).toMatchObject({
    outcome: 'errors',
    errors: { tag: expect.stringContaining('one tag'), amount: expect.stringContaining('18.00') },
  });
  expect(
    await performAndReadReply(t.workspace, t.ada, async () => {
      expectFormClosed(await t.ada.submit(form, { tag: '', amount: '20.00', span: 'month' }));
    }),
  ).toContain('I saved the budget of €20.00 a month for all names.');
  const secondForm = await openBudgetForm('budget_add');
  expect(await t.ada.submit(secondForm, { amount: '30.00', span: 'month' })).toMatchObject({
    outcome: 'errors',
    errors: { span: expect.stringContaining('already') },
  });
  await t.ada.close(secondForm);
});

it('budgets are shown on the card, and an order over budget also needs an admin', async () => {
  const orderWithinBudget = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  expect(await readDetails(t.workspace, t.bob, orderWithinBudget.card)).toMatch(
    /Uses about €18\.00 of the €20\.00 left in the \w+ \d{4} budget for all names\./,
  );
  await t.bob.click(orderWithinBudget.card, 'order_approve');
  await orderWithinBudget.waitForResult('SUCCEEDED');

  const orderOverBudget = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  expect(textOf(orderOverBudget.card)).toContain('by €16.00.* An admin also has to approve it');
  expect(await readDetails(t.workspace, t.bob, orderOverBudget.card)).toContain(
    'It costs about €18.00, and €2.00 is left.',
  );
  expect(await readCommandReply(t.workspace, t.bob, `/domain order ${orderOverBudget.id}`)).toContain(
    'and €2.00 is left.',
  );
  await t.bob.openHome();
  const home = await t.workspace.waitFor(() => t.bob.homeView(), { what: 'Bob’s Home tab' });
  expect(textOf(home)).toContain(
    'and €2.00 is left.* An admin other than the requester also has to approve it',
  );
  await t.bob.click(orderOverBudget.card, 'order_approve');
  await t.workspace.waitFor(
    () =>
      orderOverBudget.replies().some((reply) => textOf(reply).includes('<@U0ADA> also has to approve it'))
        ? true
        : undefined,
    { what: 'the request to an admin in the thread' },
  );
  expect(orderOverBudget.replies().map(textOf).join()).toContain('<@U0BOB> approved.');
  await t.ada.click(orderOverBudget.card, 'order_approve');
  await orderOverBudget.waitForResult('SUCCEEDED');
  await t.waitUntilSlackIsCurrent();
  expect(textOf(orderOverBudget.card)).toContain('approved over budget by <@U0BOB> and <@U0ADA>');
  expect(await readDetails(t.workspace, t.bob, orderOverBudget.card)).toContain('Approved by <@U0ADA>.');

  const spend = await readCommandReply(t.workspace, t.alice, '/domain spend');
  expect(spend).toMatch(/all names\n−€16\.00 ██████████ 180% used\n€20\.00\n.*\n€36\.00\n€0\.00/);
});

it('budgets are changed and removed, which updates pending cards and is in the audit log', async () => {
  const pendingOrder = await requestByCommand(t.workspace, t.alice, '/domain renew bistro.rest');
  expect(await readDetails(t.workspace, t.ada, pendingOrder.card)).toContain('and nothing is left');
  const form = await openBudgetForm('budget_edit');
  expect(readFieldValues(form)).toMatchObject({ amount: '20.00', span: 'month' });
  expect(await t.ada.submit(form, { tag: 'brand' })).toMatchObject({
    outcome: 'errors',
    errors: { tag: expect.stringContaining('a new budget') },
  });
  await t.ada.close(form);
  const increaseForm = await openBudgetForm('budget_edit');
  await performAndReadReply(t.workspace, t.ada, async () => {
    expectFormClosed(await t.ada.submit(increaseForm, { amount: '100.00' }));
  });
  await t.workspace.waitFor(() => (textOf(pendingOrder.card).includes('by €') ? undefined : true), {
    what: 'the card to show the current budget',
  });
  expect(await readDetails(t.workspace, t.ada, pendingOrder.card)).toContain('of the €64.00 left');
  const removalForm = await openBudgetForm('budget_edit');
  expect(
    await performAndReadReply(t.workspace, t.ada, async () => {
      expectFormClosed(await t.ada.submit(removalForm, { amount: '' }));
    }),
  ).toContain('I removed the budget of €100.00 a month for all names');
  const { csv } = await downloadAuditLog(t.workspace);
  const lines = csv.split('\r\n').filter((line) => line.includes('budget_changed'));
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/Ada \(U0ADA\).*€20\.00.* to .*€100\.00/);
});
