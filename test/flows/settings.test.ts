import type { View } from '@domain-steward/slack-workspace';
import { describe, expect, it } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  deliverSigned,
  openForm,
  performAndReadReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestAndApprove, requestByCommand } from '../support/orders.ts';

const t = useTestDemo({ settings: { ADMINS: 'U0ADA,U0BOB' } });

async function confirmAsBob(): Promise<void> {
  const requests = () =>
    t.workspace.messages('D0BOB').filter((message) => buttonsOf(message).includes('settings_confirm'));
  const request = await t.workspace.waitFor(() => requests().at(-1), { what: 'the request to Bob' });
  await t.bob.click(request, 'settings_confirm');
  await t.workspace.waitFor(() => requests().length === 0 || undefined, {
    what: 'the change to be confirmed',
  });
}

function getFieldValue(view: View, field: string): unknown {
  const [input] = Object.values(view.state.values[field] ?? {});
  return Object.entries(input ?? {}).find(([key, value]) => key !== 'type' && value !== null)?.[1];
}

function openSettings(): Promise<View> {
  return openForm(t.workspace, t.ada, '/domain settings');
}

describe('settings', () => {
  it('show the current values, in fields named like the environment variables', async () => {
    const view = await openSettings();
    expect(view.callback_id).toBe('settings');
    expect(Object.keys(view.state.values)).toEqual([
      'approvers',
      'approver_groups',
      'silent_approvers',
      'silent_approver_groups',
      'approvals_required',
      'approval_tasks',
      'approval_ttl',
      'approval_remind_after',
      'allow_self_approval',
      'approval_channel',
      'approval_escalate_after',
      'approval_escalate_to',
      'approval_escalate_groups',
      'alert_channel',
      'report_channel',
      'reminder_channel',
      'reminder_days',
      'reminder_cron',
      'reminder_timezone',
    ]);
    expect(getFieldValue(view, 'approvers')).toEqual(['U0BOB']);
    expect(getFieldValue(view, 'approver_groups')).toMatchObject([
      { value: 'S0APPROVERS', text: { text: 'Approvers' } },
    ]);
    expect(getFieldValue(view, 'approvals_required')).toBe('1');
    expect(getFieldValue(view, 'approval_ttl')).toBe('3d');
    expect(getFieldValue(view, 'reminder_cron')).toBe('0 9 * * *');
    expect(JSON.stringify(getFieldValue(view, 'approval_tasks'))).toContain('renew');
    await t.ada.close(view);
  });

  it('can be opened if Slack doesn’t support pickers or doesn’t return group names', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'error', code: 'invalid_arguments', times: 1 });
    const formWithoutPickers = await openSettings();
    expect(getFieldValue(formWithoutPickers, 'approvers')).toBe('U0BOB,S0APPROVERS');
    expect(getFieldValue(formWithoutPickers, 'reminder_channel')).toBe('C0EXPIRY');
    await t.ada.close(formWithoutPickers);
    t.workspace.faults.set({ method: 'usergroups.list', kind: 'error', code: 'missing_scope', times: 1 });
    const formWithoutGroupNames = await openSettings();
    expect(getFieldValue(formWithoutGroupNames, 'approver_groups')).toMatchObject([{ value: 'S0APPROVERS' }]);
    await t.ada.close(formWithoutGroupNames);
  });

  it('show every error at its field and save nothing', async () => {
    const view = await openSettings();
    const result = await t.ada.submit(view, {
      approvers: ['bob'],
      approval_ttl: 'soon',
      reminder_channel: '#domains',
      reminder_days: '60,many',
      reminder_cron: '0 0 31 2 *',
      reminder_timezone: 'Mars/Olympus',
    });
    expect(result).toMatchObject({
      outcome: 'errors',
      errors: {
        approvers: expect.stringContaining('Slack user IDs'),
        approval_ttl: expect.stringContaining('must be a duration'),
        reminder_channel: expect.stringContaining('channel id'),
        reminder_days: expect.stringContaining('whole numbers'),
        reminder_cron: expect.stringContaining('cron expression'),
        reminder_timezone: expect.stringContaining('time zone'),
      },
    });
    await t.ada.close(view);
    const again = await openSettings();
    expect(getFieldValue(again, 'approval_ttl')).toBe('3d');
    await t.ada.close(again);
  });

  it('update pending cards as soon as they are saved', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
    const waitForCard = (text: string) =>
      t.workspace.waitFor(() => textOf(order.card).includes(text) || undefined, { what: `“${text}”` });
    await waitForCard('Waiting for <@U0BOB> or <!subteam^S0APPROVERS>');
    const stricterForm = await openSettings();
    await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(stricterForm, { approvals_required: '2' }),
    );
    await waitForCard('The settings have become stricter since this was requested.');
    const weakerForm = await openSettings();
    await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(weakerForm, { approvals_required: '1' }),
    );
    await confirmAsBob();
    await t.alice.click(order.card, 'order_cancel');
  });

  it.each([
    ['no approvers', { approvers: [], approver_groups: [] }, 'approvers', 'at least one approver'],
    [
      'an approver whom Slack doesn’t know',
      { approvers: ['U0NOBODY'] },
      'approvers',
      'Slack doesn’t know U0NOBODY',
    ],
    ['an approver of another workspace', { approvers: ['U0DAVE'] }, 'approvers', 'Dave isn’t a member'],
    [
      'more approvals than approvers',
      { approvals_required: '3' },
      'approvals_required',
      'There are 2 approvers',
    ],
    [
      'a channel that the bot isn’t in',
      { reminder_channel: 'C0NOBOT' },
      'reminder_channel',
      'I can’t post there',
    ],
  ])('that would block orders or reminders are rejected: %s', async (_, values, field, why) => {
    const view = await openSettings();
    const result = await t.ada.submit(view, values);
    expect(result).toMatchObject({ outcome: 'errors', errors: { [field]: expect.stringContaining(why) } });
    await t.ada.close(view);
  });

  it('have fields for the approval, alert and report channels, and for escalations', async () => {
    const view = await openSettings();
    const reply = await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(view, {
        approval_channel: 'C0GENERAL',
        alert_channel: DOMAINS,
        report_channel: DOMAINS,
        approval_escalate_after: '2h',
        approval_escalate_to: ['U0CAROL'],
        approval_escalate_groups: ['S0APPROVERS'],
      }),
    );
    expect(reply).toContain('Channel for all pending orders: empty → <#C0GENERAL>');
    expect(reply).toContain('Alert channel: empty → <#C0DOMAINS>');
    expect(reply).toContain('Channel for the monthly report: empty → <#C0DOMAINS>');
    expect(reply).toContain('Escalate after: `1d` → `2h`');
    expect(reply).toContain('Escalate to: empty → <@U0CAROL>, <!subteam^S0APPROVERS>');
    expect(t.workspace.messages('C0GENERAL').at(-1)?.text).toContain('Pending orders will now be shown here');
    const announcements = t.workspace
      .messages(DOMAINS)
      .map(({ text }) => text)
      .join('\n');
    expect(announcements).toContain('Alarms about names will now be posted here');
    expect(announcements).toContain('The monthly report will now be posted here');

    const again = await openSettings();
    expect(getFieldValue(again, 'approval_channel')).toBe('C0GENERAL');
    expect(getFieldValue(again, 'approval_escalate_to')).toEqual(['U0CAROL']);
    expect(getFieldValue(again, 'approval_escalate_groups')).toMatchObject([{ value: 'S0APPROVERS' }]);
    await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(again, {
        approval_channel: null,
        alert_channel: null,
        report_channel: null,
        approval_escalate_to: [],
        approval_escalate_groups: [],
      }),
    );
  });

  it.each([
    ['missing_scope', 'approvers', 'I can’t look up S0APPROVERS. My app lacks a required permission'],
    ['no_such_subteam', 'approvers', 'Slack doesn’t know S0APPROVERS. Copy the ID again.'],
    ['not_allowed', 'approvers', 'Slack refused this (not_allowed)'],
  ])('show why a group can’t be looked up: %s', async (code, field, why) => {
    const view = await openSettings();
    t.workspace.faults.set({ method: 'usergroups.users.list', kind: 'error', code });
    const result = await t.ada.submit(view, { approvers: [], approvals_required: '1' });
    t.workspace.faults.clear();
    expect(result).toMatchObject({ outcome: 'errors', errors: { [field]: expect.stringContaining(why) } });
    await t.ada.close(view);
  });

  it('show that Slack is rate-limiting or not responding', async () => {
    const view = await openSettings();
    const approvers = { approvers: [], approvals_required: '1' };
    t.workspace.faults.set({ method: 'usergroups.users.list', kind: 'http_500' });
    expect(await t.ada.submit(view, approvers)).toMatchObject({
      errors: {
        approvers: expect.stringContaining('didn’t respond as expected. Try again in a minute.'),
      },
    });
    t.workspace.faults.clear();
    // This comes last, because the bot doesn't call Slack again until the rate limit ends.
    t.workspace.faults.set({ method: 'usergroups.users.list', kind: 'ratelimited', retryAfterSeconds: 40 });
    expect(await t.ada.submit(view, approvers)).toMatchObject({
      errors: {
        approvers: expect.stringContaining('is rate-limiting me. Try again in 40 seconds.'),
      },
    });
    t.workspace.faults.clear();
    await t.ada.close(view);
  });

  it.each([
    ['is_archived', 'the channel is archived. Choose another channel.'],
    ['restricted_action_read_only_channel', 'only some people can post there'],
    ['channel_not_found', 'no channel has this ID'],
    ['missing_scope', 'My app lacks a required permission'],
  ])('show why the bot can’t post in a channel: %s', async (code, why) => {
    const view = await openSettings();
    t.workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code });
    const result = await t.ada.submit(view, { reminder_channel: DOMAINS });
    t.workspace.faults.clear();
    expect(result).toMatchObject({
      outcome: 'errors',
      errors: { reminder_channel: expect.stringMatching(new RegExp(`^I can’t post there.*${why}`)) },
    });
    await t.ada.close(view);
  });

  it('aren’t changed by listing the same tasks in another order', async () => {
    const view = await openSettings();
    const reply = await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(view, { approval_tasks: ['restore', 'renew', 'transfer', 'create'] }),
    );
    expect(reply).toContain('Nothing changed.');
  });

  it('override the environment immediately, and are announced and logged', async () => {
    const approversForm = await openSettings();
    const pending = await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(approversForm, { approvers: ['U0BOB', 'U0CAROL'], approver_groups: [] }),
    );
    expect(pending).toContain('<@U0BOB>, <!subteam^S0APPROVERS> → <@U0BOB>, <@U0CAROL>');
    await confirmAsBob();
    expect(t.getLog()).toContain('"by":"U0BOB","askedBy":"U0ADA","change":[{"name":"approvers"');
    const view = await openSettings();
    const reply = await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(view, { approvals_required: '2', approval_ttl: '1h' }),
    );
    expect(reply).toContain('Approvals needed per order: `1` → `2`');
    expect(reply).toContain('`3d` → `1h`');
    expect(t.getLog()).toContain('"by":"U0ADA","changes":[{"name":"approvals_required"');

    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest'),
    );
    await t.workspace.waitFor(() => (JSON.stringify(order.card).includes('1 of 2') ? true : undefined), {
      what: 'the first of two approvals on the card',
    });
    expect(order.state).toBe('PENDING');
    await t.carol.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });

  it('warn when paid or risky tasks no longer need approval', async () => {
    const view = await openSettings();
    const reply = await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(view, { approval_tasks: ['create', 'transfer', 'restore'] }),
    );
    expect(reply).toContain('renew: this costs money and no longer needs approval.');
    await confirmAsBob();
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    await order.waitForResult('SUCCEEDED');
    const riskyTasksForm = await openSettings();
    await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(riskyTasksForm, { approval_tasks: ['delete', 'authcode'] }),
    );
    await confirmAsBob();
    const safeTasksForm = await openSettings();
    const warning = await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(safeTasksForm, { approval_tasks: ['create', 'transfer', 'restore'] }),
    );
    expect(warning).toContain('delete, authcode: this can lose a name and no longer needs approval.');
    await confirmAsBob();
  });

  it('turn off reminders when the channel is cleared, and announce a new channel', async () => {
    const clearedForm = await openSettings();
    await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(clearedForm, { reminder_channel: null }),
    );
    const newChannelForm = await openSettings();
    expect(getFieldValue(newChannelForm, 'reminder_channel')).toBeUndefined();
    await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(newChannelForm, { reminder_channel: 'C0GENERAL' }),
    );
    expect(t.workspace.messages('C0GENERAL').at(-1)?.text).toContain(
      'Expiry reminders will now be posted here',
    );
  });

  it.each([
    ['approval_channel', { approval_channel: 'C0NOBOT' }, 'I can’t post there'],
    ['alert_channel', { alert_channel: '#alarms' }, 'channel id'],
    ['approval_escalate_to', { approval_escalate_to: ['U0DAVE'] }, 'Dave isn’t a member'],
    ['approval_escalate_after', { approval_escalate_after: 'tomorrow' }, 'must be a duration'],
  ])('with an invalid channel, person or duration are rejected: %s', async (field, values, why) => {
    const view = await openSettings();
    const result = await t.ada.submit(view, values);
    expect(result).toMatchObject({ outcome: 'errors', errors: { [field]: expect.stringContaining(why) } });
    await t.ada.close(view);
  });

  it('aren’t overwritten by a form that was opened before they changed', async () => {
    const view = await openSettings();
    const second = await openSettings();
    await performAndReadReply(t.workspace, t.ada, () =>
      t.ada.submit(second, { approval_remind_after: '2h' }),
    );
    const result = await t.ada.submit(view, { approval_remind_after: '8h' });
    expect(result).toMatchObject({
      outcome: 'errors',
      errors: { approvers: expect.stringContaining('someone changed the settings') },
    });
    await t.ada.close(view);
  });

  it('accept people and channels as text, as ids or pasted mentions', async () => {
    const view = await openSettings();
    const typed: Record<string, string> = {
      approvers: 'U0BOB, <@U0CAROL|carol> U0ADA',
      approval_escalate_to: '<@U0CAROL|carol>; U0ADA',
      approval_channel: '<#C0GENERAL|general>',
      reminder_channel: 'C0GENERAL',
    };
    const values = Object.fromEntries(
      Object.entries(view.state.values).map(([field, state]) => {
        const text = typed[field];
        return [field, text === undefined ? state : { [field]: { type: 'plain_text_input', value: text } }];
      }),
    );
    const payload = {
      type: 'view_submission',
      team: { id: 'T0STEWARD' },
      user: { id: 'U0ADA', team_id: 'T0STEWARD' },
      trigger_id: 'typed',
      view: { ...view, state: { values } },
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const reply = await performAndReadReply(t.workspace, t.ada, () =>
      deliverSigned(t, 'application/x-www-form-urlencoded', body),
    );
    expect(reply).toContain('→ <@U0BOB>, <@U0CAROL>, <@U0ADA>');
    expect(reply).toContain('Escalate to: empty → <@U0CAROL>, <@U0ADA>');
    expect(reply).toContain('Channel for all pending orders: empty → <#C0GENERAL>');
    await t.ada.close(view);
  });
});
