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
let linkedAccounts: PersonAccount[];
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
  linkedAccounts = [ALICE, { ...ALICE, id: 'account-bob', userId: 'U0BOB' }];
  memberships = new Map();
});
afterAll(() => rig.end());

/** Starts the check as the bot does, and waits for its first run. */
async function startCheck() {
  const deps: DepartureCheckContext = {
    store: rig.store,
    advance: () => undefined,
    accounts: {
      listUserIds: async () => linkedAccounts.map(({ userId }) => userId),
      list: async (userId) => linkedAccounts.filter((account) => account.userId === userId),
      unlink: async (userId) => {
        const unlinked = linkedAccounts.filter((account) => account.userId === userId);
        linkedAccounts = linkedAccounts.filter((account) => account.userId !== userId);
        return unlinked;
      },
      team: { find: async () => teamAccount },
    },
    alertTeamAccountOwnerLeft: async (account, userId) => void alerts.push(`${account.id} of ${userId}`),
    feeds: { listUserIds: async () => ['U0FEED', 'U0BOB'], remove: async () => undefined },
    keys: { listOwners: async () => [], revoke: async () => 0 },
    owners: {
      listOwners: async () => owners,
      recordDeparture: async (userId) => void markChanges.push(`${userId} left`),
      recordReturn: async (userId) => void markChanges.push(`${userId} returned`),
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
  const firstResult = await checkIfDue().catch((error: unknown) => error);
  return { checkIfDue, first: firstResult };
}

test('the check runs at each start and once a day, for everyone with stored data', async () => {
  const { checkIfDue } = await startCheck();
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
  const { checkIfDue } = await startCheck();
  expect(linkedAccounts, 'accounts while a person’s membership is unknown').toHaveLength(2);
  memberships.set('U0BOB', 'left');
  await checkIfDue();
  expect(linkedAccounts.map(({ userId }) => userId)).toEqual(['U0ALICE']);
  const checkCount = checkedIds.length;
  await checkIfDue();
  expect(checkedIds).toHaveLength(checkCount);
});

test('the check continues with the next person after a failure', async () => {
  memberships.set('U0ALICE', new Error('the database is away'));
  memberships.set('U0BOB', 'left');
  expect((await startCheck()).first, 'the reported failure').toBeInstanceOf(AggregateError);
  expect(linkedAccounts.map(({ userId }) => userId)).toEqual(['U0ALICE']);
});

test('the check stops only the orders that depend on the person', async () => {
  const ownOrder = await rig.requestAccepted('renew', { names: ['own.rest'], period: 1 });
  const orderWithTheirAccount = await rig.requestAccepted(
    'renew',
    { names: ['theirs.rest'], period: 1 },
    { requesterId: 'U0ERIN' },
  );
  const unrelatedOrder = await rig.requestAccepted(
    'renew',
    { names: ['other.rest'], period: 1 },
    {
      requesterId: 'U0BOB',
      account: { ...ALICE, id: 'account-bob', userId: 'U0BOB' },
    },
  );
  const cancelledOrder = await rig.requestAccepted('renew', { names: ['over.rest'], period: 1 });
  await cancelOrder(rig.orders, cancelledOrder.id, 'U0ALICE');
  memberships.set('U0ALICE', 'left');
  await startCheck();
  expect(linkedAccounts.map(({ userId }) => userId)).toEqual(['U0BOB']);
  expect(renderResult((await rig.read(ownOrder.id)).items[0])).toMatch(/^The requester is no longer/);
  expect(renderResult((await rig.read(orderWithTheirAccount.id)).items[0])).toMatch(
    /^The account’s owner is no longer/,
  );
  expect((await rig.read(unrelatedOrder.id)).state).toBe('PENDING');
  expect((await rig.read(cancelledOrder.id)).state).toBe('CANCELLED');
  expect((await rig.readDueTimes(ownOrder.id)).notifications).toBeInstanceOf(Date);
});

test('the team’s account is kept when the admin who linked it has left, and admins are notified', async () => {
  linkedAccounts = [ALICE];
  teamAccount = { ...ALICE, id: 'account-team', userId: undefined, linkedBy: 'U0ADA' };
  const order = await rig.requestAccepted(
    'renew',
    { names: ['team.rest'], period: 1 },
    { requesterId: 'U0DAVE', account: teamAccount },
  );
  await startCheck();
  expect(checkedIds, 'checked people, including the admin who linked it').toContain('U0ADA');
  expect(alerts).toEqual([]);
  memberships.set('U0ADA', 'left');
  await startCheck();
  expect(alerts).toEqual(['account-team of U0ADA']);
  expect((await rig.read(order.id)).state).toBe('PENDING');
});

test('the names of owners who left are marked until they return', async () => {
  linkedAccounts = [];
  owners = [
    { id: 'U0GONE', hasLeft: false },
    { id: 'U0BACK', hasLeft: true },
    { id: 'U0HERE', hasLeft: false },
  ];
  memberships.set('U0GONE', 'left');
  await startCheck();
  expect(markChanges).toEqual(['U0GONE left', 'U0BACK returned']);
});
