import type { Actor } from '@domain-steward/slack-workspace';
import { afterEach, describe, expect, test } from 'vitest';
import {
  DOMAINS,
  performAndReadReply,
  performAndWaitForView,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand } from '../support/orders.ts';

/* User groups as approvers: how often Slack is called, and what happens when Slack doesn't return a group. */

const t = useTestDemo();
const MEMBERS_METHOD = 'usergroups.users.list';

afterEach(async () => {
  t.workspace.faults.clear();
  await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
});

const countCalls = () => t.workspace.calls.filter(({ method }) => method === MEMBERS_METHOD).length;
const actAndReadReplyOf = (person: Actor, act: () => Promise<unknown>) =>
  performAndReadReply(t.workspace, person, act);

const UNUSED_NAMES =
  'catering chef cocktail curry diner dessert espresso fondue gelato grill harvest juice kitchen ladle lunch mezze noodle'
    .split(' ')
    .values();

/** Uses a different name each time, because a name can be renewed only for a few years. */
function requestRenewal() {
  return requestByCommand(t.workspace, t.alice, `/domain renew ${UNUSED_NAMES.next().value}.rest`);
}

/** Opens a Home tab and waits for its new version. */
async function openHome(person: Actor): Promise<string> {
  const before = person.homeView()?.hash;
  await person.openHome();
  const view = await t.workspace.waitFor(
    () => (person.homeView()?.hash === before ? undefined : person.homeView()),
    { what: `the Home tab of ${person.user.real_name}` },
  );
  return textOf(view);
}

describe('reading a group from Slack', () => {
  test('isn’t needed for approvers listed by id', async () => {
    const before = countCalls();
    const order = await requestRenewal();
    await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    await openHome(t.bob);
    expect(countCalls() - before).toBe(0);
  });

  test('happens at most once in ten seconds for any number of decisions and views', async () => {
    const before = countCalls();
    const startedAt = performance.now();
    for (let n = 0; n < 4; n += 1) {
      const order = await requestRenewal();
      await Promise.all([openHome(t.carol), openHome(t.alice)]);
      const approver = n % 2 === 0 ? t.carol : t.bob;
      await approver.click(order.card, 'order_approve');
      await order.waitForResult('SUCCEEDED');
    }
    const elapsedMs = performance.now() - startedAt;
    expect(countCalls() - before).toBeLessThanOrEqual(1 + Math.floor(elapsedMs / 10_000));
  });

  test('happens again after Slack’s event about changed members', async () => {
    const order = await requestRenewal();
    expect(await openHome(t.carol)).toContain('Waiting for your approval');
    await t.workspace.setUsergroupMembers('S0APPROVERS', []);
    expect(await actAndReadReplyOf(t.carol, () => t.carol.click(order.card, 'order_approve'))).toContain(
      'Only approvers can approve orders.',
    );
    await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0ADA']);
    await t.ada.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });
});

describe('a group that Slack doesn’t return', () => {
  test.each([
    ['the app lacks the scope', { kind: 'error', code: 'missing_scope' }],
    ['Slack fails', { kind: 'http_500' }],
  ] as const)('blocks only its members, who get a reason: %s', async (_why, fault) => {
    // Clears the cache.
    await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: MEMBERS_METHOD, ...fault });
    const order = await requestRenewal();
    for (const button of ['order_approve', 'order_deny']) {
      expect(await actAndReadReplyOf(t.carol, () => t.carol.click(order.card, button)), button).toContain(
        'Slack didn’t return the members of <!subteam^S0APPROVERS>, so I can’t tell whether you’re an approver. Try again in a minute, or ask an approver named on the card.',
      );
    }
    expect(order.state).toBe('PENDING');
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });

  test('is named without markup in a form’s error', async () => {
    const order = await requestRenewal();
    const form = await performAndWaitForView(t.workspace, t.carol, () =>
      t.carol.click(order.card, 'order_deny'),
    );
    // Clears the cache before Carol submits.
    await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: MEMBERS_METHOD, kind: 'http_500' });
    expect(await t.carol.submit(form, {})).toMatchObject({
      outcome: 'errors',
      errors: { reason: expect.stringContaining('Slack didn’t return the members of S0APPROVERS') },
    });
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });

  test('is named on the Home tab, which still works', async () => {
    await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: MEMBERS_METHOD, kind: 'error', code: 'missing_scope' });
    const order = await requestRenewal();
    const aliceHome = await openHome(t.alice);
    expect(aliceHome).toContain(order.id);
    expect(aliceHome).toContain('Slack didn’t return the members of <!subteam^S0APPROVERS>.');
    expect(aliceHome).not.toContain('usergroups:read');
    const bobHome = await openHome(t.bob);
    expect(bobHome).toContain('Waiting for your approval');
    expect(bobHome).not.toContain('Slack didn’t return the members');
    expect(await openHome(t.ada)).toContain('I have the permission `usergroups:read`');
    await t.workspace.changePerson('U0BOB', { is_admin: true });
    expect(await openHome(t.bob), 'as an admin').toContain('I have the permission `usergroups:read`');
    await t.workspace.changePerson('U0BOB', { is_admin: false });
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
  });

  test('is reported to admins once a day', async () => {
    await t.demo.moveTime(2 * 24 * 60 * 60_000);
    const listAlerts = () =>
      t.workspace
        .messages('D0ADA')
        .filter((message) => textOf(message).includes('one of the approver groups'));
    const before = listAlerts().length;
    const readGroup = async () => {
      await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
      await openHome(t.carol);
    };
    t.workspace.faults.set({ method: MEMBERS_METHOD, kind: 'error', code: 'missing_scope' });
    await until('the bot calls Slack again', async () => {
      const calls = countCalls();
      await readGroup();
      return countCalls() > calls;
    });
    await t.workspace.waitFor(() => listAlerts()[before], { what: 'an alert to the admin' });
    expect(textOf(listAlerts()[before] ?? { blocks: [] })).toContain('Slack says `missing_scope`.');
    await readGroup();
    await t.carol.command(DOMAINS, '/domain whoami');
    await readGroup();
    expect(listAlerts().length - before).toBe(1);
    await t.demo.moveTime(25 * 60 * 60_000);
    await readGroup();
    await t.workspace.waitFor(() => listAlerts()[before + 1], { what: 'an alert on the next day' });
  });
});
