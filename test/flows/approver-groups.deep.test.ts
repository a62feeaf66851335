import type { Actor } from '@domain-steward/slack-workspace';
import { afterEach, describe, expect, test } from 'vitest';
import { actUntilOpened, DOMAINS, textOf, toldAfter, until, useTestDemo } from '../support/demo.ts';
import { ask } from '../support/orders.ts';

/* User groups as approvers: few calls of Slack's API, and the effect of a group that Slack doesn't return. */

const t = useTestDemo();
const METHOD = 'usergroups.users.list';

afterEach(async () => {
  t.workspace.faults.clear();
  await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
});

const asked = () => t.workspace.calls.filter(({ method }) => method === METHOD).length;
const told = (person: Actor, act: () => Promise<unknown>) => toldAfter(t.workspace, person, act);

const NAMES =
  'catering chef cocktail curry diner dessert espresso fondue gelato grill harvest juice kitchen ladle lunch mezze noodle'
    .split(' ')
    .values();

/** Requests the renewal of a name that wasn't renewed yet: each can be renewed only for a few years. */
function renewal() {
  return ask(t.workspace, t.alice, `/domain renew ${NAMES.next().value}.rest`);
}

/** Opens a Home tab and waits for its new version. */
async function home(person: Actor): Promise<string> {
  const before = person.homeView()?.hash;
  await person.openHome();
  const view = await t.workspace.waitFor(
    () => (person.homeView()?.hash === before ? undefined : person.homeView()),
    { what: `the Home tab of ${person.user.real_name}` },
  );
  return textOf(view);
}

describe('a group is read from Slack', () => {
  test('not at all for people who are listed', async () => {
    const before = asked();
    const order = await renewal();
    await actUntilOpened(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    await home(t.bob);
    expect(asked() - before).toBe(0);
  });

  test('once in ten seconds, for any number of decisions and views', async () => {
    const before = asked();
    const startedAt = performance.now();
    for (let n = 0; n < 4; n += 1) {
      const order = await renewal();
      await Promise.all([home(t.carol), home(t.alice)]);
      const approver = n % 2 === 0 ? t.carol : t.bob;
      await approver.click(order.card, 'order_approve');
      await order.ends('SUCCEEDED');
    }
    const elapsedMs = performance.now() - startedAt;
    expect(asked() - before).toBeLessThanOrEqual(1 + Math.floor(elapsedMs / 10_000));
  });

  test('again when Slack announces a change of its members', async () => {
    const order = await renewal();
    expect(await home(t.carol)).toContain('Waiting for your approval');
    await t.workspace.setUsergroup('S0APPROVERS', []);
    expect(await told(t.carol, () => t.carol.click(order.card, 'order_approve'))).toContain(
      'Only approvers can approve orders.',
    );
    await t.workspace.setUsergroup('S0APPROVERS', ['U0ADA']);
    await t.ada.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
  });
});

describe('a group that Slack doesn’t return', () => {
  test.each([
    ['the app lacks the scope', { kind: 'error', code: 'missing_scope' }],
    ['Slack fails', { kind: 'http_500' }],
  ] as const)('only affects its members, who get a reason: %s', async (_why, fault) => {
    // Clears the cache.
    await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: METHOD, ...fault });
    const order = await renewal();
    for (const button of ['order_approve', 'order_deny']) {
      expect(await told(t.carol, () => t.carol.click(order.card, button)), button).toContain(
        'Slack didn’t return the members of <!subteam^S0APPROVERS>, so I can’t tell whether you’re an approver. Try again in a minute, or ask an approver named on the card.',
      );
    }
    expect(order.state).toBe('PENDING');
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
  });

  test('is named without markup by a refusing form', async () => {
    const order = await renewal();
    const form = await actUntilOpened(t.workspace, t.carol, () => t.carol.click(order.card, 'order_deny'));
    // The cache is cleared before she submits.
    await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: METHOD, kind: 'http_500' });
    expect(await t.carol.submit(form, {})).toMatchObject({
      outcome: 'errors',
      errors: { reason: expect.stringContaining('Slack didn’t return the members of S0APPROVERS') },
    });
    await t.alice.click(order.card, 'order_cancel');
    await order.ends('CANCELLED');
  });

  test('keeps the Home tab, and is named there', async () => {
    await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: METHOD, kind: 'error', code: 'missing_scope' });
    const order = await renewal();
    const ofAlice = await home(t.alice);
    expect(ofAlice).toContain(order.id);
    expect(ofAlice).toContain('Slack didn’t return the members of <!subteam^S0APPROVERS>.');
    expect(ofAlice).not.toContain('usergroups:read');
    const ofBob = await home(t.bob);
    expect(ofBob).toContain('Waiting for your approval');
    expect(ofBob).not.toContain('Slack didn’t return the members');
    expect(await home(t.ada)).toContain('I have the permission `usergroups:read`');
    await t.workspace.changePerson('U0BOB', { is_admin: true });
    expect(await home(t.bob), 'as an admin').toContain('I have the permission `usergroups:read`');
    await t.workspace.changePerson('U0BOB', { is_admin: false });
    await t.alice.click(order.card, 'order_cancel');
    await order.ends('CANCELLED');
  });

  test('is reported to admins once a day', async () => {
    await t.demo.moveTime(2 * 24 * 60 * 60_000);
    const alerts = () =>
      t.workspace
        .messages('D0ADA')
        .filter((message) => textOf(message).includes('one of the approver groups'));
    const before = alerts().length;
    const look = async () => {
      await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
      await home(t.carol);
    };
    t.workspace.faults.set({ method: METHOD, kind: 'error', code: 'missing_scope' });
    await until('the time is over in which Slack did not want to be asked', async () => {
      const calls = asked();
      await look();
      return asked() > calls;
    });
    await t.workspace.waitFor(() => alerts()[before], { what: 'a word to the admin' });
    expect(textOf(alerts()[before] ?? { blocks: [] })).toContain('Slack says `missing_scope`.');
    await look();
    await t.carol.command(DOMAINS, '/domain whoami');
    await look();
    expect(alerts().length - before).toBe(1);
    await t.demo.moveTime(25 * 60 * 60_000);
    await look();
    await t.workspace.waitFor(() => alerts()[before + 1], { what: 'a word on the next day' });
  });
});
