import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { PendingChange, PendingChanges } from '../../src/policy/pending-changes.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import {
  createPendingChanges,
  type PendingKind,
  purgePendingChanges,
} from '../../src/store/pending-changes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const NOON = new Date('2026-11-23T12:00:00Z');
const EXPIRY = new Date('2026-11-26T12:00:00Z');
const WEEK_MS = 7 * 86_400_000;
const BEFORE_EXPIRY = new Date(EXPIRY.getTime() - 1);

/** What was applied, with who confirmed it. */
let applied: { readonly pending: PendingChange<string>; readonly by: string }[];
let isStale: boolean;
beforeEach(async () => {
  await database.prisma.pendingChange.deleteMany();
  applied = [];
  isStale = false;
});

function changesOf(kind: PendingKind<string>['kind'] = 'facts', teamId = 'T1'): PendingChanges<string> {
  return createPendingChanges(database, teamId, {
    kind,
    schema: z.string(),
    stored: (change) => change,
    apply: async (_tx, pending, by) => {
      if (!isStale) applied.push({ pending, by });
      return !isStale;
    },
    rebase: async (_tx, change) => (change === 'nothing left' ? undefined : `${change} again`),
  });
}
const changes = () => changesOf();
const request = (change = 'cafe.rest') => changes().request(change, 'U0ADA', NOON, EXPIRY);

test('a change waits until another person confirms it, and is applied once', async () => {
  const pending = await request();
  expect(pending).toMatchObject({ change: 'cafe.rest', askedBy: 'U0ADA', askedAt: NOON, expiresAt: EXPIRY });
  expect(await changes().list(NOON)).toEqual([pending]);
  expect(await changes().find(pending.id, NOON)).toEqual(pending);
  const outcomes = await Promise.all(
    ['U0BOB', 'U0CAROL', 'U0BOB'].map((by) => changes().confirm(pending.id, by, BEFORE_EXPIRY)),
  );
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['confirmed', 'gone', 'gone']);
  expect(applied).toHaveLength(1);
  expect(applied[0]).toMatchObject({ pending });
  expect(await changes().list(NOON)).toEqual([]);
});

test('who asked for it does not confirm it', async () => {
  const { id } = await request();
  expect(await changes().confirm(id, 'U0ADA', NOON)).toEqual({ kind: 'own' });
  expect(applied).toEqual([]);
  expect(await changes().list(NOON)).toHaveLength(1);
});

test('what has expired is not confirmed, and is purged a week later', async () => {
  const { id } = await request();
  expect(await changes().find(id, EXPIRY)).toBeUndefined();
  expect(await changes().confirm(id, 'U0BOB', EXPIRY)).toEqual({ kind: 'gone' });
  expect(await purgePendingChanges(database, new Date(BEFORE_EXPIRY.getTime() + WEEK_MS))).toBe(0);
  expect(await purgePendingChanges(database, new Date(EXPIRY.getTime() + WEEK_MS))).toBe(1);
  expect(applied).toEqual([]);
});

test('what does not fit any more waits no longer, and what is left of it is asked again by the same person', async () => {
  const pending = await request();
  isStale = true;
  const again = { ...pending, id: expect.any(String), change: 'cafe.rest again' };
  expect(await changes().confirm(pending.id, 'U0BOB', NOON)).toEqual({ kind: 'stale', again });
  expect(await changes().list(NOON)).toEqual([again]);
  const { id } = await request('nothing left');
  expect(await changes().confirm(id, 'U0BOB', NOON)).toEqual({ kind: 'stale', again: undefined });
  expect(await changes().list(NOON)).toEqual([again]);
});

test('what could not be applied goes on waiting', async () => {
  const { id } = await request();
  const broken = createPendingChanges<string>(database, 'T1', {
    kind: 'facts',
    schema: z.string(),
    stored: (change) => change,
    apply: () => Promise.reject(new Error('broken')),
    rebase: async () => undefined,
  });
  await expect(broken.confirm(id, 'U0BOB', NOON)).rejects.toThrow();
  expect(await changes().list(NOON)).toHaveLength(1);
});

test('what is dismissed is gone', async () => {
  const pending = await request();
  expect(await changes().dismiss(pending.id, 'U0BOB', NOON)).toEqual(pending);
  expect(await changes().dismiss(pending.id, 'U0BOB', NOON)).toBeUndefined();
  expect(await changes().confirm(pending.id, 'U0BOB', NOON)).toEqual({ kind: 'gone' });
});

test('the same request waits once; others, other kinds and other teams wait beside it', async () => {
  const first = await request();
  expect(await request()).toEqual(first);
  const other = await request('tavern.rest');
  expect(await changes().list(NOON)).toHaveLength(2);
  for (const elsewhere of [changesOf('prices'), changesOf('facts', 'T2')]) {
    expect(await elsewhere.find(other.id, NOON)).toBeUndefined();
    expect(await elsewhere.confirm(other.id, 'U0BOB', NOON)).toEqual({ kind: 'gone' });
    expect(await elsewhere.dismiss(other.id, 'U0BOB', NOON)).toBeUndefined();
  }
});
