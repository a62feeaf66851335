import type { PersonChanges } from '@domain-steward/slack-workspace';
import { afterEach, describe, expect, test } from 'vitest';
import {
  link,
  openForm,
  performAndReadReply,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, requestsOf, type VisibleOrder } from '../support/orders.ts';
import { linkTwoFactor } from '../support/people.ts';

/*
 * People leave the workspace or become guests while their orders are pending, also if Slack can't be asked.
 */

const t = useTestDemo({ speedup: 8, settings: { APPROVAL_TASKS: 'create,transfer,renew,restore' } });

const FULL_MEMBER = { deleted: false, is_restricted: false, is_ultra_restricted: false, is_admin: false };
const USER_LOOKUP_FAULT = { method: 'users.info', kind: 'http_500' } as const;

afterEach(async () => {
  t.workspace.faults.clear();
  t.service.faults.clear();
  for (const id of ['U0ALICE', 'U0BOB', 'U0CAROL']) await t.workspace.changePerson(id, FULL_MEMBER);
  if (!(await dumpRows('accounts')).some((row) => row.includes('"U0ALICE"')))
    await link(t.workspace, t.alice);
});

/** Sends an event that clears the bot's cache of a person. */
const clearCachedPerson = (id: string) => t.workspace.changePerson(id, FULL_MEMBER);

/** Changes a person, but Slack sends no event. */
async function changeWithoutEvent(id: string, changes: PersonChanges): Promise<void> {
  await clearCachedPerson(id);
  await t.workspace.changePerson(id, changes, false);
}

async function dumpRows(table: string): Promise<string[]> {
  return (await t.dump()).split('\n').filter((row) => row.startsWith(`public.${table} `));
}

/** Alice's rows with sealed values: her credentials, calendar, secret inputs and results. */
async function listSealedRowsOfAlice(): Promise<string[]> {
  const orders = (await dumpRows('orders')).filter((row) => row.includes('"U0ALICE"'));
  const ids = orders.map((row) => /"id": ?"([^"]+)"/.exec(row)?.[1] ?? '');
  const all = [
    ...(await dumpRows('accounts')).filter((row) => row.includes('"U0ALICE"')),
    ...(await dumpRows('calendar_feeds')).filter((row) => row.includes('"U0ALICE"')),
    ...(await dumpRows('revealable_secrets')).filter((row) => ids.some((id) => row.includes(id))),
    ...orders,
  ];
  return all.filter((row) => /"(sealed|sealed_input)": ?"/.test(row));
}

async function expectOrderStopped(order: VisibleOrder): Promise<void> {
  const reply = textOf(await order.waitForResult('FAILED'));
  expect(reply).toContain('The requester is no longer a full member of this workspace, so nothing was sent.');
  expect(requestsOf(t.service, order), 'requests to the service').toEqual([]);
}

const requestRenewal = (name: string) => requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
const readReplyTo = (person: typeof t.alice, act: () => Promise<unknown>) =>
  performAndReadReply(t.workspace, person, act);

describe('when Slack sends an event about a person', () => {
  test.each<[what: string, changes: PersonChanges]>([
    ['is deactivated', { deleted: true }],
    ['becomes a guest of one channel', { is_ultra_restricted: true }],
  ])('the order of a person who %s is stopped', async (_what, changes) => {
    const order = await requestRenewal('cafe.rest');
    await t.workspace.changePerson('U0ALICE', changes);
    await expectOrderStopped(order);
    expect(await listSealedRowsOfAlice()).toEqual([]);
    expect(
      await readReplyTo(t.alice, () => t.alice.command('C0DOMAINS', '/domain renew cafe.rest')),
    ).toContain('Only members of this workspace');
  });

  test('all sealed data of the person is deleted before the event is acknowledged', async () => {
    const authcode = await requestByCommand(t.workspace, t.alice, '/domain authcode tavern.rest');
    await authcode.waitForResult('SUCCEEDED');
    const transfer = await openForm(t.workspace, t.alice, '/domain transfer bistro.rest');
    const before = new Set(await dumpRows('orders'));
    await t.alice.submit(transfer, {
      ownerc: '1001',
      adminc: '1002',
      techc: '1003',
      nameServers: 'ns1.dns.example\nns2.dns.example',
      auth: 'an auth code',
    });
    await until('the transfer’s row', async () => (await dumpRows('orders')).some((row) => !before.has(row)));
    const [, feedPath] =
      /(\/calendar\/\S+\.ics)/.exec(await readCommandReply(t.workspace, t.alice, '/domain calendar')) ?? [];
    expect((await fetch(`${t.botUrl}${feedPath}`)).status).toBe(200);
    expect(
      await readReplyTo(t.alice, () => t.alice.command('C0DOMAINS', '/domain delete mezze.rest')),
    ).toMatch(/Delete/);
    expect(await listSealedRowsOfAlice()).toHaveLength(4);
    expect((await dumpRows('orders')).some((row) => row.includes('"DRAFT"'))).toBe(true);

    await t.workspace.changePerson('U0ALICE', { deleted: true });
    expect(await listSealedRowsOfAlice()).toEqual([]);
    expect((await dumpRows('orders')).some((row) => row.includes('"DRAFT"'))).toBe(false);
    expect((await fetch(`${t.botUrl}${feedPath}`)).status).toBe(404);
  });

  test('the person’s sessions end, and a slow service doesn’t delay the acknowledgement', async () => {
    await linkTwoFactor(t.workspace, t.alice);
    await until('the session is open', () => t.service.sessions.countActive() === 1);
    t.service.faults.set({ kind: 'slow', delayMs: 4_000, match: { task: 'session.delete' } });
    await t.workspace.changePerson('U0ALICE', { deleted: true });
    expect(t.workspace.deliveries.at(-1)).toMatchObject({
      payload: { event: { type: 'user_change' } },
      answer: { acked: true },
    });
    expect(await listSealedRowsOfAlice()).toEqual([]);
    await until('the session has ended', () => t.service.sessions.countActive() === 0);
  });

  test('concurrent events stop an order once', async () => {
    const order = await requestRenewal('cafe.rest');
    const deactivateAlice = () => t.workspace.changePerson('U0ALICE', { deleted: true });
    await Promise.all([deactivateAlice(), deactivateAlice(), deactivateAlice()]);
    await expectOrderStopped(order);
    expect(await listSealedRowsOfAlice()).toEqual([]);
    expect(order.replies(), 'one reply').toHaveLength(1);
  });
});

describe('when the event about a person is lost', () => {
  test('the daily check stops the person’s orders and deletes their sealed data', async () => {
    const order = await requestRenewal('cafe.rest');
    await changeWithoutEvent('U0ALICE', { deleted: true });
    await t.demo.moveTime(23 * 60 * 60_000);
    expect(order.state).toBe('PENDING');
    expect(await listSealedRowsOfAlice()).not.toEqual([]);
    await t.demo.moveTime(2 * 60 * 60_000);
    await expectOrderStopped(order);
    expect(await listSealedRowsOfAlice()).toEqual([]);
  });
});

describe('when the bot looks up people in Slack', () => {
  test('while lookups fail, people can request orders, but not decide or use admin commands', async () => {
    await clearCachedPerson('U0ALICE');
    t.workspace.faults.set(USER_LOOKUP_FAULT);
    const order = await requestRenewal('cafe.rest');
    await clearCachedPerson('U0BOB');
    for (const button of ['order_approve', 'order_deny']) {
      expect(await readReplyTo(t.bob, () => t.bob.click(order.card, button)), button).toContain(
        'Slack can’t confirm right now that you’re still a member. Try again in a minute.',
      );
    }
    await t.workspace.changePerson('U0ADA', { is_admin: true });
    expect(await readCommandReply(t.workspace, t.ada, '/domain settings')).toContain(
      'Slack can’t confirm right now that you’re an admin. Try again in a minute.',
    );
    t.workspace.faults.clear();
    expect((await openForm(t.workspace, t.ada, '/domain settings')).callback_id).toBe('settings');
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
  });

  test('a cached person isn’t looked up again between a click and the request to the service', async () => {
    await readCommandReply(t.workspace, t.bob, '/domain whoami');
    const order = await requestRenewal('cafe.rest');
    const before = t.workspace.calls.length;
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    const methods = new Set(t.workspace.calls.slice(before).map(({ method }) => method));
    expect([...methods].sort()).toEqual(['chat.postMessage', 'chat.update']);
  });
});
