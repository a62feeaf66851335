import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import type { Actor } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.ts';
import {
  buttonsOf,
  DOMAINS,
  link,
  openedAfter,
  openForm,
  pressed,
  textOf,
  toldAfter,
  useTestDemo,
} from '../support/demo.ts';
import { ask, orderAfter, requestsOf, type SeenOrder } from '../support/orders.ts';
import { confirmByName } from '../support/people.ts';

/* Decisions about orders, and the fate of an undecided one. */

const t = useTestDemo();
let database: Database;

beforeAll(() => (database = openDatabase({ url: t.databaseUrl })));
afterEach(async () => {
  await database.prisma.setting.deleteMany();
  t.workspace.faults.clear();
  await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
});
afterAll(() => database.close());

/** As `/domain settings` saves them. */
async function settings(entries: Readonly<Record<string, string>>): Promise<void> {
  for (const [key, value] of Object.entries(entries)) {
    const saved = { value, updatedBy: 'U0ADA', updatedAt: new Date() };
    await database.prisma.setting.upsert({ where: { key }, create: { key, ...saved }, update: saved });
  }
}

const told = (person: Actor, act: () => Promise<unknown>) => toldAfter(t.workspace, person, act);

function nothingSent(order: SeenOrder): void {
  expect(requestsOf(t.service, order), `order ${order.id} was sent to the service`).toEqual([]);
}

function cardShows(order: SeenOrder, text: string): Promise<string> {
  return t.workspace.waitFor(() => [textOf(order.card)].find((card) => card.includes(text)), {
    what: `the card of ${order.id} to show “${text}”`,
  });
}

describe('denying', () => {
  test('asks for a reason, which is shown in the thread', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew catering.rest');
    expect(await told(t.alice, () => t.alice.click(order.card, 'order_deny'))).toMatch(/only approvers/i);
    const form = await openedAfter(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
    expect(form.callback_id).toBe('deny');
    expect(await t.bob.submit(form, { reason: 'We let it <!channel> go' })).toEqual({ outcome: 'closed' });
    const reply = await order.ends('DENIED');
    expect(textOf(reply)).toMatch(/<@U0BOB> denied.*We let it &lt;!channel&gt; go.*Nothing was sent/s);
    expect(reply.notifies, 'whom the reply pings').not.toContain('channel');
    expect(reply.thread_ts).toBe(order.card.ts);
    expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
    nothingSent(order);
  });

  test('a later approval changes nothing', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew catering.rest');
    const stale = order.card;
    const form = await openedAfter(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
    await t.carol.click(stale, 'order_approve');
    await order.ends('SUCCEEDED');
    const late = await t.bob.submit(form, { reason: 'too late' });
    expect(late).toMatchObject({ outcome: 'errors', errors: { reason: expect.stringContaining('done') } });
    expect(order.state).toBe('SUCCEEDED');
    await t.bob.close(form);
  });
});

test('only the requester can cancel', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew chef.rest');
  expect(await told(t.bob, () => t.bob.click(order.card, 'order_cancel'))).toMatch(/only the requester/i);
  expect(order.state).toBe('PENDING');
  const [cancelled] = t.workspace.deliveries.filter(({ payload }) => pressed(payload) === 'order_cancel');
  if (cancelled === undefined) throw new Error('no click was delivered');
  await t.alice.click(order.card, 'order_cancel');
  await order.ends('CANCELLED');
  expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
  // Bob clicks Approve on an outdated card.
  const late = JSON.parse(JSON.stringify(cancelled.payload).replaceAll('order_cancel', 'order_approve'));
  expect(await told(t.bob, () => t.workspace.redeliver({ ...cancelled, payload: late }))).toMatch(
    /cancelled/,
  );
  nothingSent(order);
});

describe('time', () => {
  test('an order expires, which is noticed within 5 s', async () => {
    await settings({ approval_ttl: '1s' });
    const order = await ask(t.workspace, t.alice, '/domain renew cocktail.rest');
    const expired = await order.ends('EXPIRED', 6_000);
    expect(textOf(expired)).toMatch(/<@U0ALICE>.*nobody approved it in time/is);
    expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
    nothingSent(order);
    const next = await ask(t.workspace, t.alice, '/domain renew cocktail.rest');
    expect(next.id, 'its name is free again').not.toBe(order.id);
  });

  test('approvers are reminded once', async () => {
    await settings({ approval_remind_after: '1s' });
    const order = await ask(t.workspace, t.alice, '/domain renew curry.rest');
    const nudge = await t.workspace.waitFor(
      () => order.replies().find((reply) => textOf(reply).includes('still waiting')),
      { what: 'the reminder' },
    );
    expect(nudge.notifies).toEqual(expect.arrayContaining(['U0BOB', 'S0APPROVERS']));
    await t.demo.bot.catchUp();
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    expect(order.replies().filter((reply) => textOf(reply).includes('still waiting'))).toHaveLength(1);
  });

  test('commands and clicks work while the demo’s clock runs ahead', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew diner.rest');
    await t.demo.moveTime(4 * 86_400_000);
    await order.ends('EXPIRED');
    const next = await ask(t.workspace, t.alice, '/domain renew diner.rest');
    await t.bob.click(next.card, 'order_approve');
    await next.ends('SUCCEEDED');
  });
});

describe('several approvals', () => {
  test('the last needed approval sends the order, and each person counts once', async () => {
    await settings({ approvals_required: '2' });
    const order = await ask(t.workspace, t.alice, '/domain renew dessert.rest');
    await t.bob.click(order.card, 'order_approve');
    await cardShows(order, '1 of 2');
    expect(await told(t.bob, () => t.bob.click(order.card, 'order_approve'))).toMatch(/already/);
    expect(order.state).toBe('PENDING');
    nothingSent(order);
    await t.carol.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('a former approver doesn’t count', async () => {
    await settings({ approvals_required: '2', approvers: 'U0BOB,U0ADA,S0APPROVERS' });
    const order = await ask(t.workspace, t.alice, '/domain renew espresso.rest');
    await t.carol.click(order.card, 'order_approve');
    await cardShows(order, '1 of 2');
    await t.workspace.setUsergroup('S0APPROVERS', []);
    await t.bob.click(order.card, 'order_approve');
    await t.workspace.waitFor(() => order.replies()[1], { what: 'the reply about Bob’s approval' });
    expect(order.state, 'with Carol out of the group').toBe('PENDING');
    nothingSent(order);
    expect(await told(t.carol, () => t.carol.click(order.card, 'order_approve'))).toMatch(/only approvers/i);
    await t.ada.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  test('through a group that Slack doesn’t return doesn’t count until it does', async () => {
    await settings({ approvals_required: '2' });
    const order = await ask(t.workspace, t.alice, '/domain renew fondue.rest');
    await t.carol.click(order.card, 'order_approve');
    await cardShows(order, '1 of 2');
    await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: 'usergroups.users.list', kind: 'error', code: 'missing_scope' });
    await t.bob.click(order.card, 'order_approve');
    await cardShows(
      order,
      '1 of 2 approvals (<@U0BOB>) · <@U0CAROL>’s approval doesn’t count while Slack doesn’t return the members of an approver group',
    );
    const reply = await t.workspace.waitFor(() => order.replies()[1], {
      what: 'the reply about Bob’s approval',
    });
    expect(textOf(reply)).toContain('people who approved can press Approve again in a minute');
    nothingSent(order);
    t.workspace.faults.clear();
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
  });
});

test('a member of the user group can approve', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew gelato.rest');
  await t.carol.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
});

test('if allowed, an approver approves their own order', async () => {
  await settings({ approvers: 'U0ALICE,U0BOB' });
  const order = await ask(t.workspace, t.alice, '/domain renew grill.rest');
  expect(await told(t.alice, () => t.alice.click(order.card, 'order_approve'))).toMatch(/someone else/);
  nothingSent(order);
  await settings({ approvers: 'U0BOB', allow_self_approval: 'true' });
  expect(await told(t.alice, () => t.alice.click(order.card, 'order_approve')), 'no approver').toMatch(
    /only approvers/i,
  );
  nothingSent(order);
  await settings({ approvers: 'U0ALICE,U0BOB', allow_self_approval: 'true' });
  await t.alice.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
});

test('a task without required approval is sent at once', async () => {
  await settings({ approval_tasks: 'create,transfer' });
  const order = await ask(t.workspace, t.alice, '/domain renew harvest.rest');
  await order.ends('SUCCEEDED');
  expect(requestsOf(t.service, order)).toHaveLength(1);
});

describe('an order whose account is gone', () => {
  test('fails at the approval, before anything is sent', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew juice.rest');
    expect(await told(t.alice, () => t.alice.command(DOMAINS, '/domain unlink'))).toContain(
      `1 order won’t be sent: \`${order.id}\`.`,
    );
    await t.bob.click(order.card, 'order_approve');
    expect(textOf(await order.ends('FAILED'))).toMatch(/no longer linked, so nothing was sent/);
    nothingSent(order);
    await link(t.workspace, t.alice);
    expect(
      await told(t.alice, () => t.alice.click(order.card, 'order_retry')),
      'the account that is linked now is another one',
    ).toMatch(/no longer linked/);
  });

  test('continues if the same account was only linked again', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew juice.rest');
    await link(t.workspace, t.alice);
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
  });

  test('fails if another user replaced it in the context', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew kitchen.rest');
    await link(t.workspace, t.alice, SANDBOX_ACCOUNTS.frontdesk);
    await t.bob.click(order.card, 'order_approve');
    await order.ends('FAILED');
    nothingSent(order);
    await link(t.workspace, t.alice);
  });
});

test('a second order for the same task and name is refused with a link to the open one', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew ladle.rest');
  for (const text of ['/domain renew ladle.rest 3', '/domain renew lunch.rest LADLE.rest']) {
    const said = await told(t.alice, () => t.alice.command(DOMAINS, text));
    expect(said, text).toContain(order.id);
    expect(said, 'of the other names either').toContain('Nothing was requested.');
  }
  await t.alice.click(order.card, 'order_cancel');
  await order.ends('CANCELLED');
  const both = await ask(t.workspace, t.alice, '/domain renew lunch.rest ladle.rest');
  await t.alice.click(both.card, 'order_cancel');
  await both.ends('CANCELLED');
});

describe('a delete', () => {
  test('is a draft that only its requester sees, until they confirm', async () => {
    const before = t.workspace.messages(DOMAINS).length;
    expect(await told(t.alice, () => t.alice.command(DOMAINS, '/domain delete mezze.rest'))).toMatch(
      /Delete mezze\.rest/,
    );
    const draft = t.alice.ephemerals().at(-1);
    if (draft === undefined) throw new Error('there is no draft');
    expect(buttonsOf(draft)).toEqual(['order_confirm']);
    await t.demo.bot.catchUp();
    expect(t.workspace.messages(DOMAINS), 'a draft notifies nobody else').toHaveLength(before);
    const order = await orderAfter(t.workspace, () =>
      confirmByName(t.workspace, t.alice, draft, 'mezze.rest'),
    );
    await order.ends('SUCCEEDED');
    expect(requestsOf(t.service, order)).toMatchObject([
      { method: 'DELETE', path: '/v1/domain/mezze.rest', status: 200 },
    ]);
    expect(await told(t.alice, () => t.alice.click(draft, 'order_confirm')), 'pressed once more').toMatch(
      /done/,
    );
    expect(t.service.requestsFor({ name: 'mezze.rest', task: 'domain.delete' })).toHaveLength(1);
  });

  test('is deleted after 15 minutes', async () => {
    await told(t.alice, () => t.alice.command(DOMAINS, '/domain delete noodle.rest'));
    const draft = t.alice.ephemerals().at(-1);
    if (draft === undefined) throw new Error('there is no draft');
    await t.demo.moveTime(16 * 60_000);
    expect(await told(t.alice, () => t.alice.click(draft, 'order_confirm'))).toMatch(
      /wasn’t confirmed in time/,
    );
    expect(t.service.requestsFor({ name: 'noodle.rest', task: 'domain.delete' })).toEqual([]);
  });
});

test('invalid values are all listed, and nothing is requested', async () => {
  const before = t.workspace.messages(DOMAINS).length;
  const answer = await told(t.alice, () => t.alice.command(DOMAINS, '/domain renew -bad-.rest café 99'));
  expect(answer).toContain('-bad-');
  expect(answer).toContain('café');
  expect(await told(t.alice, () => t.alice.command(DOMAINS, '/domain renew olive.rest 11'))).toMatch(/1.*10/);
  expect(t.workspace.messages(DOMAINS)).toHaveLength(before);
  const form = await openForm(t.workspace, t.alice, '/domain renew');
  expect(await t.alice.submit(form, { names: 'olive.rest', period: '0' })).toMatchObject({
    outcome: 'errors',
    errors: { period: expect.any(String) },
  });
});
