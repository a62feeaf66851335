import type { View } from '@domain-steward/slack-workspace';
import { beforeAll, expect, it } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import {
  actAndReadReply,
  actUntilOpened,
  buttonsOf,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { detailsOf } from '../support/looking.ts';
import { requestByCommand } from '../support/orders.ts';
import {
  clickAs,
  downloadAuditLog,
  expectFormClosed,
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
  const shown = t.ada.ephemerals().at(-1);
  if (shown === undefined) throw new Error('no spend report was shown');
  const value = /"value":"([0-9a-f-]{36})"/.exec(JSON.stringify(shown.blocks))?.[1];
  const which = button === 'budget_edit' && value !== undefined ? { value } : {};
  return actUntilOpened(t.workspace, t.ada, () => t.ada.click(shown, button, which));
}

it('budgets are created only by admins, in a form that shows errors', async () => {
  await readCommandReply(t.workspace, t.alice, '/domain spend');
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).not.toContain('budget_add');
  const form = await openBudgetForm('budget_add');
  const answer = await actAndReadReply(t.workspace, t.alice, () =>
    clickAs(t.workspace, 'U0ALICE', 'budget_add', 'new'),
  );
  expect(answer).toContain('Only admins can do this.');
  expect(form.callback_id).toBe('budget');
  expect(listFields(form)).toEqual(['tag', 'amount', 'span']);
  expect(await t.ada.submit(form, { tag: 'two words', amount: '1,000', span: 'month' })).toMatchObject({
    outcome: 'errors',
    errors: { tag: expect.stringContaining('one tag'), amount: expect.stringContaining('18.00') },
  });
  expect(
    await actAndReadReply(t.workspace, t.ada, async () => {
      expectFormClosed(await t.ada.submit(form, { tag: '', amount: '20.00', span: 'month' }));
    }),
  ).toContain('I saved the budget of €20.00 a month for all names.');
  const again = await openBudgetForm('budget_add');
  expect(await t.ada.submit(again, { amount: '30.00', span: 'month' })).toMatchObject({
    outcome: 'errors',
    errors: { span: expect.stringContaining('already') },
  });
  await t.ada.close(again);
});

it('budgets are shown on the card, and an order over budget also needs an admin', async () => {
  const fits = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  expect(await detailsOf(t.workspace, t.bob, fits.card)).toMatch(
    /Uses about €18\.00 of the €20\.00 left in the \w+ \d{4} budget for all names\./,
  );
  await t.bob.click(fits.card, 'order_approve');
  await fits.waitForResult('SUCCEEDED');

  const over = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  expect(textOf(over.card)).toContain('by €16.00.* An admin also has to approve it');
  expect(await detailsOf(t.workspace, t.bob, over.card)).toContain(
    'It costs about €18.00, and €2.00 is left.',
  );
  expect(await readCommandReply(t.workspace, t.bob, `/domain order ${over.id}`)).toContain(
    'and €2.00 is left.',
  );
  await t.bob.openHome();
  const home = await t.workspace.waitFor(() => t.bob.homeView(), { what: 'Bob’s Home tab' });
  expect(textOf(home)).toContain(
    'and €2.00 is left.* An admin other than the requester also has to approve it',
  );
  await t.bob.click(over.card, 'order_approve');
  await t.workspace.waitFor(
    () =>
      over.replies().some((reply) => textOf(reply).includes('<@U0ADA> also has to approve it'))
        ? true
        : undefined,
    { what: 'the request to an admin in the thread' },
  );
  expect(over.replies().map(textOf).join()).toContain('<@U0BOB> approved.');
  await t.ada.click(over.card, 'order_approve');
  await over.waitForResult('SUCCEEDED');
  await t.waitUntilSlackIsCurrent();
  expect(textOf(over.card)).toContain('approved over budget by <@U0BOB> and <@U0ADA>');
  expect(await detailsOf(t.workspace, t.bob, over.card)).toContain('Approved by <@U0ADA>.');

  const spend = await readCommandReply(t.workspace, t.alice, '/domain spend');
  expect(spend).toMatch(/all names\n−€16\.00 ██████████ 180% used\n€20\.00\n.*\n€36\.00\n€0\.00/);
});

it('budgets are changed and removed, which updates pending cards and is in the audit log', async () => {
  const waiting = await requestByCommand(t.workspace, t.alice, '/domain renew bistro.rest');
  expect(await detailsOf(t.workspace, t.ada, waiting.card)).toContain('and nothing is left');
  const form = await openBudgetForm('budget_edit');
  expect(readFieldValues(form)).toMatchObject({ amount: '20.00', span: 'month' });
  expect(await t.ada.submit(form, { tag: 'brand' })).toMatchObject({
    outcome: 'errors',
    errors: { tag: expect.stringContaining('a new budget') },
  });
  await t.ada.close(form);
  const larger = await openBudgetForm('budget_edit');
  await actAndReadReply(t.workspace, t.ada, async () => {
    expectFormClosed(await t.ada.submit(larger, { amount: '100.00' }));
  });
  await t.workspace.waitFor(() => (textOf(waiting.card).includes('by €') ? undefined : true), {
    what: 'the card to show the current budget',
  });
  expect(await detailsOf(t.workspace, t.ada, waiting.card)).toContain('of the €64.00 left');
  const removal = await openBudgetForm('budget_edit');
  expect(
    await actAndReadReply(t.workspace, t.ada, async () => {
      expectFormClosed(await t.ada.submit(removal, { amount: '' }));
    }),
  ).toContain('I removed the budget of €100.00 a month for all names');
  const { csv } = await downloadAuditLog(t.workspace);
  const lines = csv.split('\r\n').filter((line) => line.includes('budget_changed'));
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/Ada \(U0ADA\).*€20\.00.* to .*€100\.00/);
});
