import type { PersonChanges } from '@domain-steward/slack-workspace';
import { afterEach, describe, expect, test } from 'vitest';
import {
  actAndReadReply,
  link,
  openForm,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand, requestsOf, type VisibleOrder } from '../support/orders.ts';
import { linkTwoFactor } from '../support/people.ts';

/*
 * People leave the workspace or become guests while they have pending work, also while Slack can't confirm it.
 */

const t = useTestDemo({ speedup: 8, settings: { APPROVAL_TASKS: 'create,transfer,renew,restore' } });

const PRESENT = { deleted: false, is_restricted: false, is_ultra_restricted: false, is_admin: false };
const SLACK_SILENT = { method: 'users.info', kind: 'http_500' } as const;

afterEach(async () => {
  t.workspace.faults.clear();
  t.service.faults.clear();
  for (const id of ['U0ALICE', 'U0BOB', 'U0CAROL']) await t.workspace.changePerson(id, PRESENT);
  if (!(await rows('accounts')).some((row) => row.includes('"U0ALICE"'))) await link(t.workspace, t.alice);
});

/** Sends an event that clears the bot's cache of a person. */
const clearCachedPerson = (id: string) => t.workspace.changePerson(id, PRESENT);

/** Changes a person; Slack's event is lost. */
async function changeWithoutEvent(id: string, changes: PersonChanges): Promise<void> {
  await clearCachedPerson(id);
  await t.workspace.changePerson(id, changes, false);
}

async function rows(table: string): Promise<string[]> {
  return (await t.dump()).split('\n').filter((row) => row.startsWith(`public.${table} `));
}

/** Rows with sealed values of Alice: her credentials, her calendar, her secret inputs and results. */
async function sealedForAlice(): Promise<string[]> {
  const orders = (await rows('orders')).filter((row) => row.includes('"U0ALICE"'));
  const ids = orders.map((row) => /"id": ?"([^"]+)"/.exec(row)?.[1] ?? '');
  const all = [
    ...(await rows('accounts')).filter((row) => row.includes('"U0ALICE"')),
    ...(await rows('calendar_feeds')).filter((row) => row.includes('"U0ALICE"')),
    ...(await rows('revealable_secrets')).filter((row) => ids.some((id) => row.includes(id))),
    ...orders,
  ];
  return all.filter((row) => /"(sealed|sealed_input)": ?"/.test(row));
}

async function expectStopped(order: VisibleOrder): Promise<void> {
  const reply = textOf(await order.waitForResult('FAILED'));
  expect(reply).toContain('The requester is no longer a full member of this workspace, so nothing was sent.');
  expect(requestsOf(t.service, order), 'requests to the service').toEqual([]);
}

const requestRenewal = (name: string) => requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
const reply = (person: typeof t.alice, act: () => Promise<unknown>) =>
  actAndReadReply(t.workspace, person, act);

describe('when Slack sends the event', () => {
  test.each<[what: string, changes: PersonChanges]>([
    ['is deactivated', { deleted: true }],
    ['becomes a guest of one channel', { is_ultra_restricted: true }],
  ])('the order of a person who %s is stopped', async (_what, changes) => {
    const order = await requestRenewal('cafe.rest');
    await t.workspace.changePerson('U0ALICE', changes);
    await expectStopped(order);
    expect(await sealedForAlice()).toEqual([]);
    expect(await reply(t.alice, () => t.alice.command('C0DOMAINS', '/domain renew cafe.rest'))).toContain(
      'Only members of this workspace',
    );
  });

  test('everything sealed for them is deleted before the event is acknowledged', async () => {
    const authcode = await requestByCommand(t.workspace, t.alice, '/domain authcode tavern.rest');
    await authcode.waitForResult('SUCCEEDED');
    const transfer = await openForm(t.workspace, t.alice, '/domain transfer bistro.rest');
    const before = new Set(await rows('orders'));
    await t.alice.submit(transfer, {
      ownerc: '1001',
      adminc: '1002',
      techc: '1003',
      nameServers: 'ns1.dns.example\nns2.dns.example',
      auth: 'an auth code',
    });
    await until('the transfer’s row', async () => (await rows('orders')).some((row) => !before.has(row)));
    const [, path] =
      /(\/calendar\/\S+\.ics)/.exec(await readCommandReply(t.workspace, t.alice, '/domain calendar')) ?? [];
    expect((await fetch(`${t.botUrl}${path}`)).status).toBe(200);
    expect(await reply(t.alice, () => t.alice.command('C0DOMAINS', '/domain delete mezze.rest'))).toMatch(
      /Delete/,
    );
    expect(await sealedForAlice()).toHaveLength(4);
    expect((await rows('orders')).some((row) => row.includes('"DRAFT"'))).toBe(true);

    await t.workspace.changePerson('U0ALICE', { deleted: true });
    expect(await sealedForAlice()).toEqual([]);
    expect((await rows('orders')).some((row) => row.includes('"DRAFT"'))).toBe(false);
    expect((await fetch(`${t.botUrl}${path}`)).status).toBe(404);
  });

  test('their sessions end, and a slow service doesn’t delay the acknowledgement', async () => {
    await linkTwoFactor(t.workspace, t.alice);
    await until('the session is open', () => t.service.sessions.count() === 1);
    t.service.faults.set({ kind: 'slow', delayMs: 4_000, match: { task: 'session.delete' } });
    await t.workspace.changePerson('U0ALICE', { deleted: true });
    expect(t.workspace.deliveries.at(-1)).toMatchObject({
      payload: { event: { type: 'user_change' } },
      answer: { acked: true },
    });
    expect(await sealedForAlice()).toEqual([]);
    await until('the session has ended', () => t.service.sessions.count() === 0);
  });

  test('concurrent events stop an order once', async () => {
    const order = await requestRenewal('cafe.rest');
    const leave = () => t.workspace.changePerson('U0ALICE', { deleted: true });
    await Promise.all([leave(), leave(), leave()]);
    await expectStopped(order);
    expect(await sealedForAlice()).toEqual([]);
    expect(order.replies(), 'one reply').toHaveLength(1);
  });
});

describe('when the event is lost', () => {
  test('the daily check stops their orders and deletes what is sealed for them', async () => {
    const order = await requestRenewal('cafe.rest');
    await changeWithoutEvent('U0ALICE', { deleted: true });
    await t.demo.moveTime(23 * 60 * 60_000);
    expect(order.state).toBe('PENDING');
    expect(await sealedForAlice()).not.toEqual([]);
    await t.demo.moveTime(2 * 60 * 60_000);
    await expectStopped(order);
    expect(await sealedForAlice()).toEqual([]);
  });
});

describe('while Slack can’t return a person', () => {
  test('they can request orders, but not decide or use admin commands until Slack is back', async () => {
    await clearCachedPerson('U0ALICE');
    t.workspace.faults.set(SLACK_SILENT);
    const order = await requestRenewal('cafe.rest');
    await clearCachedPerson('U0BOB');
    for (const button of ['order_approve', 'order_deny']) {
      expect(await reply(t.bob, () => t.bob.click(order.card, button)), button).toContain(
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

  test('a cached person isn’t looked up again between the click and the request', async () => {
    await readCommandReply(t.workspace, t.bob, '/domain whoami');
    const order = await requestRenewal('cafe.rest');
    const before = t.workspace.calls.length;
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED');
    const methods = new Set(t.workspace.calls.slice(before).map(({ method }) => method));
    expect([...methods].sort()).toEqual(['chat.postMessage', 'chat.update']);
  });
});
