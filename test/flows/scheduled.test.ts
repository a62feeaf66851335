import { describe, expect, test } from 'vitest';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import {
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { countChargesFor, requestByCommand, type VisibleOrder } from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

/* A scheduled order is approved first and sent at its time. */

/** Allows break glass for locked.rest. */
const EMERGENCY_RULE: PolicyRule = {
  ...{ name: 'emergency', tasks: ['renew'], names: ['locked.rest'], by: [], over: undefined },
  ...{ decision: 'approve', approvers: ['U0BOB', 'U0CAROL'], silent: [], needed: 2, signed: false },
  ...{
    ttlMs: undefined,
    remindAfterMs: undefined,
    escalateAfterMs: undefined,
    escalateTo: [],
    breakGlass: true,
  },
};
const POLICY: Policy = { version: 1, rules: [EMERGENCY_RULE] };
const t = useTestDemo({
  policy: {
    loadCurrentPolicy: async () => ({
      ...POLICY,
      isCharterMissing: false,
      tags: [],
      charterProblem: undefined,
    }),
  },
  settings: { REMINDER_CRON: '0 9 * * *', REMINDER_TIMEZONE: 'UTC' },
});

const HOUR_MS = 3_600_000;
let advancedMs = 0;

async function advanceClock(ms: number): Promise<void> {
  advancedMs += ms;
  await t.demo.moveTime(ms);
  await t.demo.bot.catchUp();
}

/** Returns a full minute in the future of the bot's clock, also as Alice types it in her time zone. */
function timeAhead(ms: number): { readonly typed: string; readonly at: Date } {
  const at = new Date(Math.ceil((Date.now() + advancedMs + ms) / 60_000) * 60_000);
  return { at, typed: new Date(at).toLocaleString('sv-SE', { timeZone: t.alice.user.tz }).slice(0, 16) };
}
const formatSlackDate = (at: Date) => `<!date^${at.getTime() / 1_000}^`;

describe('a scheduled order', () => {
  test('shows its time, is listed and announced the day before, and is sent at its time', async () => {
    const { typed, at } = timeAhead(48 * HOUR_MS);
    const order = await requestByCommand(
      t.workspace,
      t.alice,
      `/domain renew catering.rest 2 at ${typed} -- the campaign`,
    );
    expect(textOf(order.card)).toContain(`Will be sent: ${formatSlackDate(at)}`);
    const details = await performAndWaitForView(t.workspace, t.bob, () =>
      t.bob.click(order.card, 'order_look'),
    );
    expect(textOf(details)).toContain(`*Will be sent*: ${formatSlackDate(at)}`);
    await t.bob.click(order.card, 'order_approve');
    await t.workspace.waitFor(
      () => textOf(order.card).includes(`Will be sent ${formatSlackDate(at)}`) || undefined,
      {
        what: 'the time on the card',
      },
    );
    expect(await readCommandReply(t.workspace, t.alice, '/domain orders mine')).toMatch(
      /approved and scheduled/,
    );

    const nineTheDayBefore = Date.parse(`${at.toISOString().slice(0, 10)}T09:01:00Z`) - 24 * HOUR_MS;
    await advanceClock(nineTheDayBefore - Date.now() - advancedMs);
    const digest = await t.workspace.waitFor(
      () =>
        t.workspace.messages('C0EXPIRY').find((each) => textOf(each).includes('Tomorrow: 1 scheduled order')),
      { what: 'the digest with tomorrow’s order' },
    );
    expect(textOf(digest)).toContain('Renew catering.rest for 2 years');
    expect(order.state).toBe('APPROVED');
    await advanceClock(at.getTime() - Date.now() - advancedMs);
    await order.waitForResult('SUCCEEDED');
  });

  test('can be stopped before its time', async () => {
    const { typed } = timeAhead(HOUR_MS);
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew chef.rest at ${typed}`);
    await t.bob.click(order.card, 'order_approve');
    await t.workspace.waitFor(() => textOf(order.card).includes('Will be sent <') || undefined, {
      what: 'the time on the card',
    });
    await t.alice.click(order.card, 'order_stop');
    await order.waitForResult('CANCELLED');
  });

  test('can be questioned, denied or approved with break glass, and is sent only if approved', async () => {
    const { typed, at } = timeAhead(HOUR_MS);
    const requestRenewal = (name: string) =>
      requestByCommand(t.workspace, t.alice, `/domain renew ${name} at ${typed}`);
    const [questioned, emergency, denied] = [
      await requestRenewal('deli.rest'),
      await requestRenewal('locked.rest'),
      await requestRenewal('cafe.rest'),
    ];
    const waitUntilScheduled = (order: VisibleOrder) =>
      t.workspace.waitFor(() => textOf(order.card).includes('Will be sent <') || undefined, {
        what: 'the time on the card',
      });
    const form = await performAndWaitForView(t.workspace, t.bob, () =>
      t.bob.click(questioned.card, 'order_ask'),
    );
    expect(await t.bob.submit(form, { question: 'Why then?' })).toEqual({ outcome: 'closed' });
    await t.workspace.waitFor(() => textOf(questioned.card).includes('Why then?') || undefined, {
      what: 'the question on the card',
    });
    await t.bob.click(questioned.card, 'order_approve');
    await giveReason(t.workspace, t.ada, emergency.card, 'order_break_glass', 'Everybody is away then');
    await giveReason(t.workspace, t.bob, denied.card, 'order_deny', 'Not at night');
    await denied.waitForResult('DENIED');
    for (const order of [questioned, emergency]) await waitUntilScheduled(order);

    await advanceClock(at.getTime() - Date.now() - advancedMs - 60_000);
    const charges = () =>
      ['deli.rest', 'locked.rest', 'cafe.rest'].map((name) => countChargesFor(t.service, name));
    expect(charges()).toEqual([0, 0, 0]);
    await advanceClock(60_000);
    for (const order of [questioned, emergency]) await order.waitForResult('SUCCEEDED');
    expect(charges()).toEqual([1, 1, 0]);
  });

  test('needs approval again if the bot was down at its time', async () => {
    const { typed } = timeAhead(HOUR_MS);
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew menu.example at ${typed}`);
    await t.bob.click(order.card, 'order_approve');
    await t.workspace.waitFor(() => textOf(order.card).includes('Will be sent <') || undefined, {
      what: 'the time on the card',
    });
    await advanceClock(3 * HOUR_MS);
    await t.workspace.waitFor(() => textOf(order.card).includes('Needs approval again') || undefined, {
      what: 'the card to ask for approval again',
    });
    const reply = order.replies().find((each) => textOf(each).includes('Earlier approvals no longer count'));
    expect(reply?.notifies).toEqual(expect.arrayContaining(['U0ALICE', 'U0BOB']));
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });
});

test('a bulk order can be scheduled', async () => {
  const { typed, at } = timeAhead(HOUR_MS);
  const form = await openForm(t.workspace, t.alice, `/domain bulk renew at ${typed}`);
  const plan = await performAndReadReply(t.workspace, t.alice, () =>
    t.alice.submit(form, { task: 'renew', rows: 'name,period\nbar.rest,1\ncafe.rest,1', send_at: typed }),
  );
  expect(plan).toContain(`Will be sent ${formatSlackDate(at)}`);
});

describe('an invalid time', () => {
  test.each([
    ['/domain renew bar.rest at tomorrow', 'Enter a date and time'],
    ['/domain renew bar.rest at 2020-01-01 10:00', 'That time is in the past'],
    ['/domain renew bar.rest at 2099-01-01 10:00', 'within 90 days'],
    ['/domain authcode bar.rest at 2099-01-01 10:00', 'can’t be scheduled'],
  ])('is rejected: %s', async (line, expected) => {
    expect(await readCommandReply(t.workspace, t.alice, line)).toContain(expected);
  });

  test('is rejected at its field in a form, where the command fills in a valid time', async () => {
    const { typed } = timeAhead(HOUR_MS);
    const form = await openForm(t.workspace, t.alice, `/domain create newplace.rest at ${typed}`);
    expect(form.state.values['send_at']?.['send_at']).toMatchObject({ value: typed });
    const values = {
      ownerc: '501',
      adminc: '501',
      techc: '501',
      nameServers: 'ns1.example.net\nns2.example.net',
    };
    expect(await t.alice.submit(form, { ...values, send_at: '2020-01-01 10:00' })).toMatchObject({
      errors: { send_at: expect.stringContaining('That time is in the past') },
    });
    await performAndReadReply(t.workspace, t.alice, () => t.alice.command('C0GENERAL', '/domain help'));
  });
});
