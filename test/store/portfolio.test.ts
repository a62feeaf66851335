import { afterAll, beforeAll, expect, test } from 'vitest';
import { newlyWatched } from '../../src/expiry/change.ts';
import type { PortfolioChange, PortfolioStore } from '../../src/names/ports.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createWatchListStore } from '../../src/store/domains.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const NOW = new Date('2027-06-14T12:00:00Z');
let testDatabase: TestDatabase;
let database: Database;
let store: PortfolioStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url });
  store = createPortfolioStore(database, 'T0TEAM');
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

async function watch(...names: string[]): Promise<void> {
  const list = createWatchListStore(database);
  for (const name of names) await list.add(newlyWatched(name, 'U0ALICE', NOW));
}

async function changesOf(name: string): Promise<PortfolioChange[]> {
  const found: PortfolioChange[] = [];
  for await (const change of store.changes(NOW, new Date(NOW.getTime() + 1))) {
    if (change.subject === name) found.push(change);
  }
  return found;
}

test('tells the tags of every name that is asked for, watched or not', async () => {
  await watch('tagged.rest', 'plain.rest');
  await store.change(new Map([['tagged.rest', { tags: ['guarded', 'brand'] }]]), 'U0ALICE', NOW);
  expect(await store.tagsOf(['tagged.rest', 'plain.rest', 'unwatched.rest'])).toEqual(
    new Map([
      ['tagged.rest', ['brand', 'guarded']],
      ['plain.rest', []],
      ['unwatched.rest', []],
    ]),
  );
});

test('sets, keeps and clears, with what stood there before in the audit log', async () => {
  await watch('cafe.rest');
  const change = (
    given: Parameters<typeof store.change>[0] extends ReadonlyMap<string, infer T> ? T : never,
  ) => store.change(new Map([['cafe.rest', given]]), 'U0ALICE', NOW);
  await change({ owner: 'U0BOB', tags: ['brand'], channel: 'C0BRAND', note: 'Ask “legal”' });
  await change({ addTags: ['client'], removeTags: ['brand'], channel: null });
  expect(await change({ owner: 'U0BOB' }), 'what stands there already').toEqual({ changed: [] });
  expect(await store.find('cafe.rest')).toEqual({
    owner: 'U0BOB',
    tags: ['client'],
    channel: undefined,
    note: 'Ask “legal”',
  });
  const set = { owner: 'U0BOB', tags: 'brand', channel: 'C0BRAND', note: 'Ask “legal”' };
  expect((await changesOf('cafe.rest')).map(({ before, after, by }) => ({ before, after, by }))).toEqual([
    { before: {}, after: set, by: 'U0ALICE' },
    { before: set, after: { owner: 'U0BOB', tags: 'client', note: 'Ask “legal”' }, by: 'U0ALICE' },
  ]);
});

test('changes nothing at all when one of the changes is not allowed', async () => {
  await watch('one.rest', 'two.rest');
  await store.change(new Map([['two.rest', { tags: ['guarded'] }]]), 'U0BOB', NOW);
  const both = new Map([
    ['one.rest', { tags: ['x'] }],
    ['two.rest', { tags: [] }],
  ]);
  const outcome = await store.change(both, 'U0ALICE', NOW, (before) => !before.tags.includes('guarded'));
  expect(outcome).toEqual({ refused: 'two.rest' });
  expect([...(await store.tagsOf(['one.rest', 'two.rest'])).values()]).toEqual([[], ['guarded']]);
});

test('does not know what is not watched', async () => {
  expect(await store.find('nobody.rest')).toBeUndefined();
  expect(await store.change(new Map([['nobody.rest', { note: 'x' }]]), 'U0ALICE', NOW)).toEqual({
    changed: [],
  });
});
