import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Account } from '../../../src/accounts/account.ts';
import type { NotificationStore } from '../../../src/outbox/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import {
  createDeparturePlanner,
  createUnreadableGroupPlanner,
  recordUnreadableGroup,
  toDepartureSubject,
} from '../../../src/slack/admins/admins.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { createSlackWeb, SlackApiError } from '../../../src/slack/outbound/web.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { slackContextWith } from '../../support/context.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { textOf } from '../../support/demo.ts';
import { notifierDeps, notifyDue } from '../../support/notifier.ts';

/* Admins are notified once, even if calls fail in between. */

const DAY_MS = 24 * 3_600_000;

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let notifications: NotificationStore;
let nowMs: number;
let before: number;
const now = () => new Date(nowMs);
const log = pino({ level: 'silent' });

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
  notifications = createNotificationStore(db, 'T0TEAM');
});
beforeEach(async () => {
  nowMs = Date.parse('2027-06-14T12:00:00Z');
  workspace.faults.clear();
  before = workspace.messages('D0ADA').length;
  await db.prisma.notification.deleteMany();
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

const listTextsToAda = () => workspace.messages('D0ADA').slice(before).map(textOf);

const ACCOUNT: Account = {
  id: 'account-team',
  teamId: 'T0TEAM',
  userId: undefined,
  linkedBy: 'U0BOB',
  method: 'password',
  slot: '1',
  context: 1,
  login: 'team',
  application: undefined,
  isActive: true,
  verifiedAt: undefined,
};

function sendDue(teamAccount = ACCOUNT) {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const planning = slackContextWith({
    directory: createDirectory(web, workspace.teamId),
    adminsToNotify: async () => ['U0BOB', 'U0ADA'],
    accounts: { team: { find: async () => teamAccount } },
  });
  return notifyDue(
    notifierDeps(
      { notifications, web, now },
      {
        group: createUnreadableGroupPlanner(planning),
        departure: createDeparturePlanner(planning),
      },
    ),
  );
}

/** As if a bot, one of several or a restarted one, couldn't read the group. */
async function recordUnreadable(code: string): Promise<void> {
  const recorded = new Promise<void>((resolve, reject) => {
    const markSubjectRefused: NotificationStore['markSubjectRefused'] = (...args) =>
      notifications.markSubjectRefused(...args).then(resolve, reject);
    recordUnreadableGroup(
      { notifications: { ...notifications, markSubjectRefused }, now, log },
      'S0OPS',
      new SlackApiError('refused', 'usergroups.users.list', { code }),
    );
  });
  await recorded;
}

test('an unreadable group is reported once a day, however many bots can’t read it', async () => {
  await Promise.all([recordUnreadable('missing_scope'), recordUnreadable('missing_scope')]);
  await sendDue();
  await recordUnreadable('missing_scope');
  await sendDue();
  expect(listTextsToAda()).toEqual([expect.stringContaining('Slack says `missing_scope`.')]);
  nowMs += DAY_MS;
  await recordUnreadable('missing_scope');
  await sendDue();
  expect(listTextsToAda()).toHaveLength(2);
});

test('other admins learn that the linker of the team’s account left, once Slack responds', async () => {
  workspace.faults.set({ method: 'chat.postMessage', kind: 'http_500' });
  await notifications.addSubjectIfMissing(toDepartureSubject(ACCOUNT, 'U0BOB'), now());
  await sendDue();
  expect(listTextsToAda()).toEqual([]);
  workspace.faults.clear();
  nowMs += DAY_MS;
  const toBob = workspace.messages('D0BOB').length;
  await sendDue();
  await notifications.addSubjectIfMissing(toDepartureSubject(ACCOUNT, 'U0BOB'), now());
  await sendDue();
  expect(listTextsToAda()).toEqual([expect.stringContaining('<@U0BOB> left the workspace')]);
  expect(workspace.messages('D0BOB')).toHaveLength(toBob);
});

test('a departure isn’t reported if another admin has linked the account since', async () => {
  await notifications.addSubjectIfMissing(toDepartureSubject(ACCOUNT, 'U0BOB'), now());
  await sendDue({ ...ACCOUNT, linkedBy: 'U0CAROL' });
  expect(listTextsToAda()).toEqual([]);
});
