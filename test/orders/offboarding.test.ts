import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Account, PersonAccount } from '../../src/accounts/account.ts';
import { cancelOrder } from '../../src/approvals/pending.ts';
import { createLog } from '../../src/lib/log.ts';
import type { KnownOwner } from '../../src/names/ports.ts';
import { createDepartureCheck, type DepartureCheckContext } from '../../src/orders/offboarding.ts';
import type { Membership } from '../../src/orders/ports.ts';
import { ALICE, HOUR_MS, type Rig, startRig } from './rig.ts';
import { renderResult } from './sample.ts';

/* The daily check for people who have left. */

let rig: Rig;
let linked: PersonAccount[];
let teamAccount: Account | undefined;
let alerts: string[];
let owners: readonly KnownOwner[];
let markChanges: string[];
let checkedIds: string[];
let memberships: Map<string, Membership | Error>;

beforeAll(async () => {
  rig = await startRig();
});
beforeEach(async () => {
  await rig.reset();
  checkedIds = [];
  teamAccount = undefined;
  alerts = [];
  owners = [];
  markChanges = [];
  linked = [ALICE, { ...ALICE, id: 'account-bob', userId: 'U0BOB' }];
  memberships = new Map();
});
afterAll(() => rig.end());

/** Starts the check, like a bot, and waits for its first run. */
async function start() {
  const deps: DepartureCheckContext = {
    store: rig.store,
    advance: () => undefined,
    accounts: {
      listPeople: async () => linked.map(({ userId }) => userId),
      list: async (userId) => linked.filter((account) => account.userId === userId),
      unlink: async (userId) => {
        const gone = linked.filter((account) => account.userId === userId);
        linked = linked.filter((account) => account.userId !== userId);
        return gone;
      },
      team: { current: async () => teamAccount },
    },
    alertTeamAccountOwnerLeft: async (account, userId) => void alerts.push(`${account.id} of ${userId}`),
    feeds: { listUserIds: async () => ['U0FEED', 'U0BOB'], remove: async () => undefined },
    keys: { listOwners: async () => [], revoke: async () => 0 },
    owners: {
      listOwners: async () => owners,
      recordLeft: async (userId) => void markChanges.push(`${userId} left`),
      recordReturned: async (userId) => void markChanges.push(`${userId} returned`),
    },
    directory: {
      ...rig.directory,
      findMembership: async (userId) => {
        checkedIds.push(userId);
        const membership = memberships.get(userId) ?? 'member';
        if (membership instanceof Error) throw membership;
        return membership;
      },
    },
    now: () => rig.now,
    log: createLog('silent'),
    pauseMs: 0,
    signal: new AbortController().signal,
  };
  const checkIfDue = createDepartureCheck(deps);
  const first = await checkIfDue().catch((error: unknown) => error);
  return { checkIfDue, first };
}

test('the check runs at each start and once a day, for everyone with stored data', async () => {
  const { checkIfDue } = await start();
  expect(checkedIds).toEqual(['U0ALICE', 'U0BOB', 'U0FEED']);
  rig.advanceClock(24 * HOUR_MS - 1);
  await checkIfDue();
  expect(checkedIds).toHaveLength(3);
  rig.advanceClock(1);
  await checkIfDue();
  expect(checkedIds).toHaveLength(6);
});

test('the check is repeated within the day while Slack doesn’t return a person', async () => {
  memberships.set('U0BOB', 'unknown');
  const { checkIfDue } = await start();
  expect(linked, 'accounts while a person’s membership is unknown').toHaveLength(2);
  memberships.set('U0BOB', 'left');
  await checkIfDue();
  expect(linked.map(({ userId }) => userId)).toEqual(['U0ALICE']);
  const times = checkedIds.length;
  await checkIfDue();
  expect(checkedIds).toHaveLength(times);
});

test('the check continues with the next person after a failure', async () => {
  memberships.set('U0ALICE', new Error('the database is away'));
  memberships.set('U0BOB', 'left');
  expect((await start()).first, 'the reported failure').toBeInstanceOf(AggregateError);
  expect(linked.map(({ userId }) => userId)).toEqual(['U0ALICE']);
});

test('the check stops only the orders that depend on the person', async () => {
  const own = await rig.requestAccepted('renew', { names: ['own.rest'], period: 1 });
  const theirs = await rig.requestAccepted(
    'renew',
    { names: ['theirs.rest'], period: 1 },
    { requesterId: 'U0ERIN' },
  );
  const other = await rig.requestAccepted(
    'renew',
    { names: ['other.rest'], period: 1 },
    {
      requesterId: 'U0BOB',
      account: { ...ALICE, id: 'account-bob', userId: 'U0BOB' },
    },
  );
  const over = await rig.requestAccepted('renew', { names: ['over.rest'], period: 1 });
  await cancelOrder(rig.orders, over.id, 'U0ALICE');
  memberships.set('U0ALICE', 'left');
  await start();
  expect(linked.map(({ userId }) => userId)).toEqual(['U0BOB']);
  expect(renderResult((await rig.read(own.id)).items[0])).toMatch(/^The requester is no longer/);
  expect(renderResult((await rig.read(theirs.id)).items[0])).toMatch(/^The account’s owner is no longer/);
  expect((await rig.read(other.id)).state).toBe('PENDING');
  expect((await rig.read(over.id)).state).toBe('CANCELLED');
  expect((await rig.readDueTimes(own.id)).notifications).toBeInstanceOf(Date);
});

test('the team’s account is kept when the admin who linked it has left, and admins are notified', async () => {
  linked = [ALICE];
  teamAccount = { ...ALICE, id: 'account-team', userId: undefined, linkedBy: 'U0ADA' };
  const order = await rig.requestAccepted(
    'renew',
    { names: ['team.rest'], period: 1 },
    { requesterId: 'U0DAVE', account: teamAccount },
  );
  await start();
  expect(checkedIds, 'checked people, with the admin who linked it').toContain('U0ADA');
  expect(alerts).toEqual([]);
  memberships.set('U0ADA', 'left');
  await start();
  expect(alerts).toEqual(['account-team of U0ADA']);
  expect((await rig.read(order.id)).state).toBe('PENDING');
});

test('the names of owners who left are marked until they are back', async () => {
  linked = [];
  owners = [
    { id: 'U0GONE', hasLeft: false },
    { id: 'U0BACK', hasLeft: true },
    { id: 'U0HERE', hasLeft: false },
  ];
  memberships.set('U0GONE', 'left');
  await start();
  expect(markChanges).toEqual(['U0GONE left', 'U0BACK returned']);
});
