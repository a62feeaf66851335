import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Secret } from '../../src/service/secret.ts';
import { createDirectory } from '../../src/slack/directory.ts';
import { createPendingChangePlanner } from '../../src/slack/pending-change-notifications.ts';
import { createSlackWeb } from '../../src/slack/platform/web.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createNotificationStore } from '../../src/store/notifications.ts';
import { createPendingChanges } from '../../src/store/pending-changes.ts';
import { pendingPrices } from '../../src/store/prices.ts';
import { pendingSettings } from '../../src/store/settings.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { buttonsOf, textOf } from '../support/demo.ts';
import { notifierDeps, notifyDue } from '../support/notifier.ts';

/* Who is asked to confirm a change is asked whatever breaks, and learns what became of it. */

const HOUR_MS = 3_600_000;

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let nowMs: number;
let before: ReadonlyMap<string, number>;
const now = () => new Date(nowMs);
const CHANNELS = ['D0ADA', 'D0BOB', 'D0CAROL'];

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
});
beforeEach(async () => {
  nowMs = Date.parse('2027-06-14T12:00:00Z');
  workspace.faults.clear();
  before = new Map(CHANNELS.map((channel) => [channel, workspace.messages(channel).length]));
  await db.prisma.notification.deleteMany();
  await db.prisma.pendingChange.deleteMany();
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

/** What stands in a direct message since the test began. */
const shown = (channel: string) => workspace.messages(channel).slice(before.get(channel));
const changes = () =>
  createPendingChanges(
    db,
    'T0TEAM',
    pendingSettings(() => ({ approvals_required: '2' })),
  );
const ask = () =>
  changes().request(
    [{ name: 'approvals_required', before: '2', after: '1' }],
    'U0ADA',
    now(),
    new Date(nowMs + 24 * HOUR_MS),
  );

function look() {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const pendingChanges = {
    settings: changes(),
    prices: createPendingChanges(db, 'T0TEAM', pendingPrices('T0TEAM')),
  };
  const planner = createPendingChangePlanner({
    directory: createDirectory(web, workspace.teamId),
    admins: ['U0ADA', 'U0BOB', 'U0CAROL'],
    pendingChanges,
    now,
  });
  const notifications = createNotificationStore(db, 'T0TEAM');
  return notifyDue(notifierDeps({ notifications, web, now }, { pending_change: planner }));
}

test('every other admin is asked once, and every question says what became of it', async () => {
  const { id } = await ask();
  await look();
  await ask();
  await look();
  expect(shown('D0ADA')).toEqual([]);
  for (const channel of ['D0BOB', 'D0CAROL'])
    expect(shown(channel).map(buttonsOf)).toEqual([['settings_confirm', 'settings_dismiss']]);
  expect(await changes().confirm(id, 'U0BOB', now())).toMatchObject({ kind: 'confirmed' });
  await look();
  for (const channel of CHANNELS) {
    expect(shown(channel).map(textOf)).toEqual([
      expect.stringContaining('<@U0ADA> asked for it, <@U0BOB> confirmed it'),
    ]);
    expect(shown(channel).flatMap(buttonsOf)).toEqual([]);
  }
});

test('who could not be asked is asked when Slack takes messages again', async () => {
  workspace.faults.set({ method: 'chat.postMessage', kind: 'http_500' });
  await ask();
  await look();
  expect(shown('D0BOB')).toEqual([]);
  workspace.faults.clear();
  nowMs += HOUR_MS;
  await look();
  expect(shown('D0BOB')).toHaveLength(1);
});

test('what nobody confirms in time says so', async () => {
  await ask();
  await look();
  expect(await look(), 'it is not looked at all the time').toEqual([]);
  for (let hour = 0; hour < 24; hour += 1) {
    nowMs += HOUR_MS;
    await look();
  }
  expect(shown('D0BOB').map(textOf)).toEqual([expect.stringContaining('Nobody confirmed it in time.')]);
  expect(shown('D0ADA')).toEqual([]);
});

test('a change that was dropped by who asked leaves no question behind', async () => {
  const { id } = await ask();
  await look();
  await changes().dismiss(id, 'U0ADA', now());
  await look();
  expect(shown('D0CAROL').map(textOf)).toEqual([expect.stringContaining('Dropped by <@U0ADA>.')]);
  expect(shown('D0ADA')).toEqual([]);
});
