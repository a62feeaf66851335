import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Secret } from '../../src/service/secret.ts';
import type { SettingsStore } from '../../src/settings.ts';
import { createDirectory } from '../../src/slack/directory.ts';
import { announceNewDefault, type NewDefaultDeps } from '../../src/slack/new-default.ts';
import { createSlackWeb } from '../../src/slack/platform/web.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createSettingsStore } from '../../src/store/settings.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { textOf } from '../support/demo.ts';

/*
 * Admins of an installation that worked with the former default hear once that more tasks wait for approval.
 */

const now = () => new Date('2026-12-01T09:00:00Z');

let workspace: Workspace;
let testDatabase: TestDatabase;
let database: Database;
let store: SettingsStore;
beforeAll(async () => {
  [workspace, testDatabase] = await Promise.all([startWorkspace(), createTestDatabase()]);
  database = openDatabase({ url: testDatabase.url });
  store = createSettingsStore(database);
});
beforeEach(async () => {
  workspace.faults.clear();
  await database.prisma.setting.deleteMany();
});
afterAll(async () => {
  await database.close();
  await Promise.all([testDatabase.drop(), workspace.close()]);
});

/** One start; with orders and without a setting unless told otherwise. @returns what Ada was told */
async function start(changes: Partial<NewDefaultDeps> = {}): Promise<string[]> {
  const before = workspace.messages('D0ADA').length;
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  await announceNewDefault({
    web,
    directory: createDirectory(web, workspace.teamId),
    admins: ['U0ADA'],
    store,
    isDefault: true,
    hasOrders: async () => true,
    now,
    log: pino({ level: 'silent' }),
    ...changes,
  });
  return workspace.messages('D0ADA').slice(before).map(textOf);
}

test('what is new and how to keep the old, at the first start alone', async () => {
  const [said, ...more] = await start();
  expect(said).toMatch(
    /can lose a name waits for approval too: `delete`, `authcode`, `owner-change`.*\/domain settings.*`APPROVAL_TASKS=create,transfer,renew,restore`/s,
  );
  expect(more).toEqual([]);
  expect(await start()).toEqual([]);
});

test.each<[string, Partial<NewDefaultDeps>]>([
  ['where the environment sets the tasks', { isDefault: false }],
  ['where nobody has ordered yet', { hasOrders: async () => false }],
])('nothing %s, nor later', async (_where, changes) => {
  expect(await start(changes)).toEqual([]);
  expect(await start()).toEqual([]);
});

test('nothing where an admin has saved the tasks', async () => {
  await store.save([{ name: 'approval_tasks', before: '', after: 'renew' }], 'U0ADA', now());
  expect(await start()).toEqual([]);
});

test('what Slack did not take is told at the next start', async () => {
  workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'channel_not_found', times: 1 });
  await expect(start()).rejects.toThrow();
  expect(await start()).toHaveLength(1);
});
