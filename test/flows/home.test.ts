import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import type { Actor, View } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  openForm,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestAndApprove, requestByCommand, type VisibleOrder } from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

const t = useTestDemo();
let order: VisibleOrder;

beforeAll(async () => {
  order = await requestByCommand(
    t.workspace,
    t.alice,
    '/domain renew cafe.rest bistro.rest 2 -- client paid',
  );
});

/** Opens a person's Home tab and waits until it shows a text. */
async function openHome(person: Actor, expectedText: string): Promise<View> {
  await person.openHome();
  return waitForHome(person, (text) => text.includes(expectedText), expectedText);
}

function waitForHome(person: Actor, matches: (text: string) => boolean, what: string): Promise<View> {
  return t.workspace.waitFor(
    () => {
      const view = person.homeView();
      return view !== undefined && matches(JSON.stringify(view.blocks)) ? view : undefined;
    },
    { what: `the Home tab of ${person.user.real_name} to show ${what}` },
  );
}

describe('the Home tab', () => {
  it('shows a requester their account and open orders, and nothing to approve', async () => {
    const text = textOf(await openHome(t.alice, order.id));
    expect(text).toContain('Your account: `alice in context 4`, *LIVE*.');
    expect(text).toContain('Renew 2 names for 2 years');
    expect(text).not.toContain('Waiting for your approval');
    expect(text).not.toContain('Settings');
    expect(text).toContain('Expiring next');
  });

  it('shows an approver pending orders with everything needed to decide', async () => {
    const text = textOf(await openHome(t.bob, order.id));
    expect(text).toContain('Waiting for your approval');
    expect(text).toContain('LIVE · alice/4');
    expect(text).toContain(':warning: This costs money (price unknown)');
    expect(text).toContain('Names: cafe.rest, bistro.rest');
    expect(text).toContain('<@U0ALICE>: “');
    expect(text).toContain('“client paid”');
  });

  it('accepts a decision and removes the order', async () => {
    const view = await openHome(t.bob, 'order_approve');
    await giveReason(t.workspace, t.bob, view, 'order_deny', 'not now', { value: order.id });
    await order.waitForResult('DENIED');
    await waitForHome(
      t.bob,
      (text) => text.includes('No orders are waiting for your approval.'),
      'no pending orders',
    );

    const second = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    const again = await openHome(t.bob, second.id);
    await t.bob.click(again, 'order_approve', { value: second.id });
    await waitForHome(
      t.bob,
      (text) => text.includes('No orders are waiting for your approval.'),
      'no pending orders',
    );
    await second.waitForResult('SUCCEEDED');
  });

  it('explains in a direct message why a click had no effect, and shows the current state', async () => {
    const third = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    const view = await openHome(t.bob, third.id);
    await t.alice.click(third.card, 'order_cancel');
    await third.waitForResult('CANCELLED');
    await t.bob.click(view, 'order_approve', { value: third.id });
    const message = await t.workspace.waitFor(() => t.workspace.messages('D0BOB').at(-1), {
      what: 'a message to Bob',
    });
    expect(message.text).toContain(
      'This can’t be approved, because the order was canceled. Request it again if you still need it.',
    );
    await waitForHome(
      t.bob,
      (text) => text.includes('No orders are waiting for your approval.'),
      'no pending orders',
    );
  });

  it('shows an approver the orders to settle', async () => {
    t.service.faults.set({ kind: 'status_500', match: { task: 'domain.renew' }, times: 1 });
    const unansweredOrder = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest'),
    );
    await unansweredOrder.waitForResult('UNKNOWN');
    const view = await openHome(t.bob, 'order_resolve_done');
    await giveReason(t.workspace, t.bob, view, 'order_resolve_done', 'seen there', {
      value: unansweredOrder.id,
    });
    await unansweredOrder.waitForState('SUCCEEDED');
    await waitForHome(t.bob, (text) => !text.includes('order_resolve_done'), 'nothing to settle');
  });

  it('opens the settings for admins and confirms their changes', async () => {
    const view = await openHome(t.ada, 'home_settings');
    const form = await performAndWaitForView(t.workspace, t.ada, () => t.ada.click(view, 'home_settings'));
    expect(form.callback_id).toBe('settings');
    expect(await t.ada.submit(form, { approval_remind_after: '2h' })).toMatchObject({ outcome: 'closed' });
    const message = await t.workspace.waitFor(() => t.workspace.messages('D0ADA').at(-1), {
      what: 'a message to Ada',
    });
    expect(message.text).toContain('I saved these settings');
  });

  const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

  it('shows the next expiries, by name and by month', async () => {
    const expiresAt = new Date(Date.now() + 50 * 86_400_000);
    await readCommandReply(
      t.workspace,
      t.alice,
      `/domain watch tea.example ${expiresAt.toISOString().slice(0, 10)}`,
    );
    const view = await openHome(t.alice, 'tea.example');
    const captions = view.blocks.flatMap(({ type, caption }) => (type === 'data_table' ? caption : []));
    expect(captions).toEqual(['Expirations by month', 'Next to expire']);
    expect(textOf(view)).toContain(DAY_FORMAT.format(expiresAt));
  });

  it('shows names that can still be saved, even after many lost ones', async () => {
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const lostNames = Array.from({ length: 25 }, (_, n) => `gone${n}.rest,${day(-78)}`);
    const form = await openForm(t.workspace, t.alice, '/domain import');
    const names = [...lostNames, `soon.rest,${day(2)}`].join('\n');
    await t.alice.submit(form, { names });
    await until(
      'the names are imported',
      async () => (await t.demo.bot.expiry.find('soon.rest')) !== undefined,
    );
    await readCommandReply(t.workspace, t.alice, '/domain watch gone.rest');
    await t.alice.openHome();
    const text = textOf(
      await waitForHome(t.alice, (shown) => shown.includes('soon.rest'), 'the next name to expire'),
    );
    expect(text).toMatch(/gone\.rest\n\d+\nRestore/);
    expect(text).not.toMatch(/gone\d+\.rest/);
    for (const line of [...lostNames, 'soon.rest', 'gone.rest'])
      await readCommandReply(t.workspace, t.alice, `/domain unwatch ${line.split(',')[0]}`);
  });

  it('shows an error with a reference when its data can’t be read', async () => {
    t.workspace.faults.set({ method: 'users.info', kind: 'http_500' });
    const text = textOf(await openHome(t.carol, 'I can’t load this tab right now.'));
    expect(text).toMatch(/Open it again in a minute.*the reference `\w+`/);
    t.workspace.faults.clear();
    await openHome(t.carol, 'Waiting for your approval');
  });

  it('links an account from the first steps, then shows the account', async () => {
    const view = await openHome(t.carol, 'First steps');
    const form = await performAndWaitForView(t.workspace, t.carol, () => t.carol.click(view, 'home_link'));
    expect(form.callback_id).toBe('link');
    const { user, context, password } = SANDBOX_ACCOUNTS.bob;
    expect(await t.carol.submit(form, { user, context: String(context), password })).toMatchObject({
      outcome: 'closed',
    });
    await waitForHome(t.carol, (text) => text.includes('Your account:'), 'the account');
    await readCommandReply(t.workspace, t.carol, '/domain unlink');
  });

  it.each(['invalid_arguments', 'a_code_of_next_year'])(
    'leaves out tables and charts if Slack rejects them with %s',
    async (code) => {
      // A view with a table is published first, so that it doesn't use up the fault.
      const before = t.alice.homeView();
      await t.alice.openHome();
      await until('a new version of the Home tab', () => t.alice.homeView() !== before);
      await waitForHome(t.alice, (text) => text.includes('"data_table"'), 'a table');
      t.workspace.faults.set({ method: 'views.publish', kind: 'error', code, times: 1 });
      await t.alice.openHome();
      const view = await waitForHome(t.alice, (text) => !text.includes('"data_table"'), 'no table');
      expect(textOf(view)).toContain('tea.example');
      expect(view.blocks.map(({ type }) => type)).not.toContain('data_visualization');
    },
  );

  it('is plain text if Slack rejects everything else', async () => {
    t.workspace.faults.set({ method: 'views.publish', kind: 'error', code: 'a_code_of_next_year', times: 2 });
    await t.alice.openHome();
    const view = await waitForHome(t.alice, (text) => !text.includes('"header"'), 'no header');
    expect(new Set(view.blocks.map(({ type }) => type))).toEqual(new Set(['section']));
    expect(textOf(view)).toContain('tea.example');
  });
});
