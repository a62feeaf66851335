import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { MessagePlace } from '../../../src/outbox/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import { createEventPlanner } from '../../../src/slack/ledger/event-notifications.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createWatchListStore } from '../../../src/store/domains.ts';
import { createEventLog } from '../../../src/store/events.ts';
import { createInstallationStore } from '../../../src/store/installation.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { createPortfolioStore } from '../../../src/store/portfolio.ts';
import { createPriceStore } from '../../../src/store/prices.ts';
import { createStandInStore } from '../../../src/store/stand-ins.ts';
import { silentLog } from '../../expiry/rig.ts';
import { slackContextWith } from '../../support/context.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { buttonsOf, DOMAINS, textOf } from '../../support/demo.ts';
import { notifierDeps, notifyDue } from '../../support/notifier.ts';
import { newTeamSettings } from '../../support/settings.ts';
import { confirmLapse, requestLapse, snoozeName, watchName } from '../../support/unprotected.ts';

/* Decisions are announced once, even if calls fail after the commit. */

const TEAM = 'T0TEAM';
const HOUR_MS = 3_600_000;
const CHANNELS = ['D0ALICE', 'D0BOB', 'D0CAROL', 'D0ADA', DOMAINS];

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let nowMs = Date.parse('2027-06-14T12:00:00Z');
let before: ReadonlyMap<string, number>;
let origin: MessagePlace;
const now = () => new Date(nowMs);

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
  await createInstallationStore(db).assignWorkspace(TEAM);
  await watchName(watchList(), async () => undefined, 'cafe.rest', '2027-06-20', 'U0ALICE');
});
beforeEach(async () => {
  workspace.faults.clear();
  nowMs += HOUR_MS;
  await db.prisma.notification.deleteMany();
  const { ts } = workspace.as('U0ALICE').say(DOMAINS, 'a digest');
  origin = { channelId: DOMAINS, threadTs: ts };
  before = new Map(CHANNELS.map((channel) => [channel, workspace.messages(channel).length]));
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

const posted = (channel: string) => workspace.messages(channel).slice(before.get(channel));
const watchList = () => ({
  portfolio: createPortfolioStore(db, TEAM),
  store: createWatchListStore(db),
  rdap: { lookup: async () => ({ kind: 'unavailable', reason: 'no order was created' }) as const },
  now,
  log: silentLog,
});
const standIns = () => createStandInStore(db, TEAM);
const inADay = () => new Date(nowMs + 24 * HOUR_MS);

/** Sends due notifications, like a process started after the one that committed. */
function sendDue() {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const planner = createEventPlanner(
    slackContextWith({
      adminsToNotify: async () => [],
      directory: createDirectory(web, workspace.teamId),
      events: createEventLog(db, TEAM),
      expiry: { find: createWatchListStore(db).find },
      prices: createPriceStore(db, TEAM),
      names: { impacts: { assessName: () => Promise.reject(new Error('no lookups here')) } },
      loadSettings: async () => newTeamSettings(),
      now,
      log: silentLog,
    }),
  );
  const notifications = createNotificationStore(db, TEAM);
  return notifyDue(notifierDeps({ notifications, web, now }, { event: planner }));
}

test('a snooze and a confirmed lapse are posted in the thread, once each', async () => {
  await snoozeName(watchList(), 'cafe.rest', 3, 'U0BOB', 'busy', origin);
  await sendDue();
  await requestLapse(watchList(), 'cafe.rest', 'U0ALICE', 'not needed', origin);
  await confirmLapse(watchList(), 'cafe.rest', 'U0BOB', origin);
  await sendDue();
  expect(await sendDue()).toEqual([]);
  expect(posted(DOMAINS).map(textOf)).toEqual([
    expect.stringMatching(/cafe\.rest is snoozed until .*17.* by <@U0BOB>: “busy”/),
    expect.stringMatching(
      /cafe\.rest will lapse\. Requested by <@U0ALICE>: “not needed”, confirmed by <@U0BOB>/,
    ),
  ]);
  expect(posted(DOMAINS).map(buttonsOf)).toEqual([[], []]);
  expect(posted(DOMAINS).map(({ thread_ts }) => thread_ts)).toEqual(Array(2).fill(origin.threadTs));
});

test('the person who decided is notified if the thread accepts no posts', async () => {
  workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'is_archived', times: 1 });
  await snoozeName(watchList(), 'cafe.rest', 3, 'U0BOB', undefined, origin);
  await sendDue();
  expect(posted('D0BOB').map(textOf)).toEqual([expect.stringContaining('cafe.rest is snoozed until')]);
  expect(posted(DOMAINS)).toEqual([]);
});

test('other decisions are not announced', async () => {
  await watchName(watchList(), async () => undefined, 'bar.rest', undefined, 'U0ALICE');
  expect(await sendDue()).toEqual([]);
});

test('the absent person, the new stand-in and the former one are notified', async () => {
  await standIns().begin('U0ADA', { userId: 'U0BOB', until: inADay() }, now());
  await sendDue();
  await standIns().begin('U0ADA', { userId: 'U0CAROL', until: inADay() }, now());
  await sendDue();
  await standIns().end('U0ADA', now());
  await sendDue();
  const texts = (channel: string) => posted(channel).map(({ text }) => text);
  expect(texts('D0BOB')).toEqual([
    expect.stringContaining('You are <@U0ADA>’s stand-in until'),
    'You are no longer <@U0ADA>’s stand-in.',
  ]);
  expect(texts('D0CAROL')).toEqual([
    expect.stringContaining('You are <@U0ADA>’s stand-in until'),
    'You are no longer <@U0ADA>’s stand-in.',
  ]);
  expect(texts('D0ADA')).toEqual([
    expect.stringContaining('<@U0BOB> is your stand-in until'),
    expect.stringContaining('<@U0CAROL> is your stand-in until'),
    'Welcome back. <@U0CAROL> is no longer your stand-in.',
  ]);
});

test('extending an absence doesn’t notify the stand-in of an end', async () => {
  for (const days of [1, 2])
    await standIns().begin('U0ADA', { userId: 'U0BOB', until: new Date(nowMs + days * 24 * HOUR_MS) }, now());
  await sendDue();
  expect(posted('D0BOB').map(textOf)).toEqual(Array(2).fill(expect.stringContaining('’s stand-in until')));
});
