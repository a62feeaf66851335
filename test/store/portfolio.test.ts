import { beforeAll, describe, expect, test } from 'vitest';
import type { ProposalStore } from '../../src/approvals/proposals/ports.ts';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import { parseDetailsImport } from '../../src/names/details-import.ts';
import { parseFilter } from '../../src/names/filter.ts';
import type { DetailsChange } from '../../src/names/portfolio.ts';
import type { NameCursor, PortfolioEntry, PortfolioStore } from '../../src/names/ports.ts';
import type { FindingCode } from '../../src/names/posture.ts';
import type { Database } from '../../src/store/database.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { useTestDatabase } from '../support/database.ts';
import { readTeamEvents } from '../support/log.ts';
import { confirmProposal, newProposalStore } from '../support/proposals.ts';
import { applyImportPlan, createTestWatchList, editNames } from '../support/unprotected.ts';

const NOW = new Date('2027-06-14T12:00:00Z');
let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
let store: PortfolioStore;
let proposals: ProposalStore;

beforeAll(async () => {
  store = createPortfolioStore(database, 'T0TEAM');
  proposals = newProposalStore(database, 'T0TEAM');
});

async function watch(...names: string[]): Promise<void> {
  const list = createTestWatchList(database);
  for (const name of names) await list.add(createWatchedDomain(name, 'U0ALICE', NOW));
}

async function loadChanges(name: string) {
  const events = await readTeamEvents(database, 'T0TEAM', NOW, new Date(NOW.getTime() + 1));
  return events.flatMap((event) => (event.kind === 'name_changed' && event.subject.id === name ? event : []));
}

test('every requested name is returned with its tags, watched or not', async () => {
  await watch('tagged.rest', 'plain.rest');
  await editNames(store, new Map([['tagged.rest', { tags: ['guarded', 'brand'] }]]), 'U0ALICE', NOW);
  expect(await store.findTags(['tagged.rest', 'plain.rest', 'unwatched.rest'])).toEqual(
    new Map([
      ['tagged.rest', ['brand', 'guarded']],
      ['plain.rest', []],
      ['unwatched.rest', []],
    ]),
  );
});

test('an edit sets, keeps and clears fields, with their earlier values in the audit log', async () => {
  await watch('cafe.rest');
  const change = (detailsChange: DetailsChange) =>
    editNames(store, new Map([['cafe.rest', detailsChange]]), 'U0ALICE', NOW);
  await change({ owner: 'U0BOB', tags: ['brand'], channel: 'C0BRAND', note: 'Ask “legal”' });
  await change({ addTags: ['client'], removeTags: ['brand'], channel: null });
  expect(await change({ owner: 'U0BOB' }), 'an edit to the current value').toEqual([]);
  expect(await store.find('cafe.rest')).toEqual({
    owner: 'U0BOB',
    tags: ['client'],
    channel: undefined,
    note: 'Ask “legal”',
  });
  const set = { owner: 'U0BOB', tags: 'brand', channel: 'C0BRAND', note: 'Ask “legal”' };
  expect(
    (await loadChanges('cafe.rest')).map(({ before, after, actor }) => ({ before, after, actor })),
  ).toEqual([
    { before: {}, after: set, actor: 'U0ALICE' },
    { before: set, after: { owner: 'U0BOB', tags: 'client', note: 'Ask “legal”' }, actor: 'U0ALICE' },
  ]);
});

describe('a proposed change', () => {
  const details = (tags: readonly string[]) => ({
    owner: undefined,
    tags,
    channel: undefined,
    note: undefined,
  });
  const proposeChange = (name: string, before: readonly string[], after: readonly string[] | undefined) => {
    const names = [{ name, before: details(before), after: after && details(after) }];
    return proposals.propose({ kind: 'facts', payload: { names }, proposer: 'U0ALICE', proposedAt: NOW });
  };
  const confirmFacts = (id: string) => confirmProposal(proposals, id, 'U0BOB', NOW);

  test('takes effect when it is confirmed, with both people in the log', async () => {
    await watch('p1.rest', 'p2.rest');
    const edits = new Map(['p1.rest', 'p2.rest'].map((name) => [name, { tags: ['brand'] }]));
    await editNames(store, edits, 'U0BOB', NOW);
    const change = await proposeChange('p1.rest', ['brand'], []);
    const removal = await proposeChange('p2.rest', ['brand'], undefined);
    for (const { id } of [change, removal]) expect(await confirmFacts(id)).toMatchObject({ kind: 'applied' });
    expect((await store.find('p1.rest'))?.tags).toEqual([]);
    expect(await store.find('p2.rest')).toBeUndefined();
    expect((await loadChanges('p1.rest')).at(-1)).toMatchObject({ actor: 'U0ALICE', confirmedBy: 'U0BOB' });
    expect(
      await database.prisma.event.findMany({ where: { subjectId: 'p2.rest', kind: 'name_unwatched' } }),
    ).toMatchObject([{ actor: 'U0ALICE', data: { confirmedBy: 'U0BOB' } }]);
  });

  test('has a different hash if its row was modified', async () => {
    await watch('p4.rest', 'p5.rest');
    const proposal = await proposeChange('p4.rest', [], ['brand']);
    const other = await proposeChange('p5.rest', [], undefined);
    await database.prisma.$executeRaw`
      UPDATE proposals SET payload = (SELECT payload FROM proposals WHERE id = ${other.id}) WHERE id = ${proposal.id}`;
    expect(await proposals.find(['facts'], proposal.id, NOW)).toMatchObject({ hash: other.hash });
    expect(other.hash).not.toBe(proposal.hash);
  });

  test('is dropped if the name has changed since the request', async () => {
    await watch('p3.rest');
    const { id } = await proposeChange('p3.rest', ['brand'], []);
    expect(await confirmFacts(id)).toMatchObject({ kind: 'changed' });
    expect(await loadChanges('p3.rest')).toEqual([]);
    expect(await proposals.find(['facts'], id, NOW)).toBeUndefined();
  });
});

test('an edit ignores unwatched names', async () => {
  expect(await store.find('nobody.rest')).toBeUndefined();
  expect(await editNames(store, new Map([['nobody.rest', { note: 'x' }]]), 'U0ALICE', NOW)).toEqual([]);
});

describe('filtered names', () => {
  const DAY_MS = 86_400_000;
  const sampleNames = [
    { name: 'a.page', days: 10, tags: ['brand'], owner: 'U0ADA', registrar: 'Sandbox Registrar Ltd' },
    { name: 'b.page', days: 70, tags: ['brand', 'client'], owner: 'U0BOB', registrar: '100% Names' },
    { name: 'c.page', days: 70, tags: [], owner: 'U0ADA', registrar: undefined },
    { name: 'd.sub.page', days: -5, tags: ['client'], owner: undefined, registrar: 'Sandbox Registrar Ltd' },
    { name: 'e.page', days: undefined, tags: [], owner: undefined, registrar: undefined },
    { name: 'f.page', days: undefined, tags: ['brand'], owner: undefined, registrar: undefined },
  ] as const;

  beforeAll(async () => {
    const list = createTestWatchList(database);
    for (const { name, days, tags, owner, registrar } of sampleNames) {
      const at = days === undefined ? undefined : new Date(NOW.getTime() + days * DAY_MS);
      await list.add({
        ...createWatchedDomain(name, 'U0ALICE', NOW),
        expiry: at && { at, source: 'rdap' },
      });
      if (registrar !== undefined)
        await database.prisma.domain.updateMany({ where: { name }, data: { registrar } });
      if (name === 'b.page' || name === 'd.sub.page') {
        await database.prisma.domain.updateMany({ where: { name }, data: { deletedAt: NOW } });
      }
      const note = name === 'c.page' ? { note: 'Sold 50% to ACME' } : {};
      await editNames(store, new Map([[name, { tags, owner: owner ?? null, ...note }]]), 'U0ALICE', NOW);
    }
    const nameRecords = createNameRecordStore(database, 'T0TEAM');
    for (const [name, registrar, addresses] of [
      ['a.page', 'Sandbox Registrar Ltd', []],
      ['b.page', '100% Names', ['198.51.100.8']],
    ] as const) {
      const known = await nameRecords.find(name);
      if (known === undefined) throw new Error('missing name');
      const createFieldHistory = (value: readonly string[]) => ({
        current: { value, firstSeen: NOW, lastSeen: NOW },
        candidate: undefined,
        past: [],
        unseen: undefined,
      });
      const noAddresses = createFieldHistory([]);
      const updatedRecord = {
        ...known,
        history: {
          registrar: createFieldHistory([`name:${registrar}`]),
          a: createFieldHistory(addresses),
          aaaa: noAddresses,
          www_a: noAddresses,
          www_aaaa: noAddresses,
          mx: createFieldHistory(['0 .']),
        },
      };
      await nameRecords.save(known, { updatedRecord, observations: [], incident: undefined });
    }
  });

  function createQuery(
    text: string,
    page: { cursor?: NameCursor; isBackward?: boolean; limit?: number } = {},
  ) {
    const read = parseFilter(`zone:page ${text}`);
    if (!read.ok) throw new Error(JSON.stringify(read.issues));
    const { cursor, isBackward = false, limit = 100 } = page;
    return { filter: read.filter, owners: read.filter.owners, now: NOW, cursor, isBackward, limit };
  }

  const joinFirstLetters = (names: readonly PortfolioEntry[]) => names.map(({ name }) => name[0]).join('');

  test.each([
    ['', 'dabcef'],
    ['sort:-expiry', 'cbadfe'],
    ['sort:name', 'abcdef'],
    ['sort:-name', 'fedcba'],
    ['tag:brand', 'abf'],
    ['tag:brand tag:client', 'dabf'],
    ['tag:none', 'ce'],
    ['owner:U0ADA', 'ac'],
    ['owner:U0ADA owner:none', 'dacef'],
    ['owner:U0ADA tag:brand', 'a'],
    ['expiring<60', 'da'],
    ['expiring>0 expiring<60', 'a'],
    ['expiring<0', 'd'],
    ['registrar:sandbox', 'da'],
    ['registrar:100%', 'b'],
    ['registrar:1%n', ''],
    ['unused', 'a'],
    ['undated', 'ef'],
    ['undated sort:-name', 'fe'],
    ['acme', 'c'],
    ['50%', 'c'],
    ['sub', 'd'],
    ['tag:brand expiring<90 owner:U0BOB', 'b'],
  ])('match “%s”', async (text, expectedLetters) => {
    expect(joinFirstLetters(await store.listPage(createQuery(text)))).toBe(expectedLetters);
    const zones = await store.listZones(createQuery(text));
    expect(zones.reduce((sum, { count }) => sum + count, 0)).toBe(expectedLetters.length);
  });

  test.each(['', 'sort:-expiry', 'sort:name', 'sort:-name'])(
    'can be paged forwards and backwards: “%s”',
    async (text) => {
      const all = await store.listPage(createQuery(text));
      const pages: PortfolioEntry[][] = [];
      for (let cursor: NameCursor | undefined; ; ) {
        const page = await store.listPage(createQuery(text, { limit: 2, ...(cursor && { cursor }) }));
        if (page.length === 0) break;
        pages.push([...page]);
        cursor = page.at(-1);
      }
      expect(joinFirstLetters(pages.flat())).toBe(joinFirstLetters(all));
      for (const [index, page] of pages.entries()) {
        const [cursor] = page;
        if (cursor === undefined) throw new Error('an empty page');
        const before = await store.listPage(createQuery(text, { limit: 2, cursor, isBackward: true }));
        expect(joinFirstLetters(before.toReversed()), `before page ${index}`).toBe(
          joinFirstLetters(pages[index - 1] ?? []),
        );
      }
    },
  );

  test('are counted by zone', async () => {
    expect(await store.listZones(createQuery(''))).toEqual([
      { zone: 'page', count: 5, deletedCount: 1 },
      { zone: 'sub.page', count: 1, deletedCount: 1 },
    ]);
  });

  test('include deleted names, marked as deleted', async () => {
    const found = await store.listPage(createQuery(''));
    expect(joinFirstLetters(found.filter(({ deletedAt }) => deletedAt !== undefined))).toBe('db');
  });
});

describe('an import', () => {
  const parseRows = async (text: string) => {
    const read = await parseDetailsImport(text);
    if (!read.ok) throw new Error(JSON.stringify(read.issues));
    return read.rows;
  };
  const planImport = async (text: string) =>
    store.planImport(await parseRows(text), 'U0ALICE', NOW, ignoreProgress);
  const ignoreProgress = () => undefined;

  test('is planned without changing anything, then applied exactly as planned, once', async () => {
    await watch('i1.rest', 'i2.rest');
    await editNames(store, new Map([['i1.rest', { note: 'stays' }]]), 'U0ALICE', NOW);
    const planned = await planImport('name,tags,owner\ni1.rest,"b a",U0ADA\ni2.rest,,\nnobody.rest,x,');
    expect(planned).toMatchObject({ unchangedCount: 1, unwatchedNames: ['nobody.rest'] });
    expect(planned.changedNames.map(({ name, after }) => [name, after])).toEqual([
      ['i1.rest', { owner: 'U0ADA', tags: ['a', 'b'], channel: undefined, note: 'stays' }],
    ]);
    expect((await store.find('i1.rest'))?.tags).toEqual([]);
    expect(await applyImportPlan(store, planned.hash, 'U0BOB', NOW)).toBe('written');
    expect((await store.find('i1.rest'))?.tags).toEqual(['a', 'b']);
    expect(await applyImportPlan(store, planned.hash, 'U0BOB', NOW)).toBe('gone');
    expect((await loadChanges('i1.rest')).at(-1)).toMatchObject({ actor: 'U0BOB', after: { tags: 'a b' } });
  });

  test('is planned again if a name has changed meanwhile, and nothing is applied', async () => {
    await watch('i3.rest', 'i4.rest');
    const planned = await planImport('name,tags\ni3.rest,x\ni4.rest,x');
    await editNames(store, new Map([['i4.rest', { tags: ['y'] }]]), 'U0BOB', NOW);
    const outcome = await applyImportPlan(store, planned.hash, 'U0ALICE', NOW);
    if (typeof outcome === 'string' || !('stale' in outcome)) throw new Error(JSON.stringify(outcome));
    expect((await store.find('i3.rest'))?.tags).toEqual([]);
    expect(outcome.stale.changedNames.map(({ before }) => before.tags)).toEqual([[], ['y']]);
    expect(await applyImportPlan(store, outcome.stale.hash, 'U0ALICE', NOW)).toBe('written');
  });

  test.each([
    ['tags\nx', 'missing_name_column'],
    ['name,colour\ncafe.rest,red', 'unknown_column'],
    ['name,owner\ncafe.rest,Ada', 'invalid_owner'],
    ['name,channel\ncafe.rest,#brand', 'invalid_channel'],
    ['name,tags\ncafe.rest,a/b', 'tags'],
    ['name,tags\ncafe.rest,a\nCAFE.rest,b', 'repeated'],
    ['name\nno name at all', 'invalid_name'],
    ['name', 'empty'],
    ['name,tags\ncafe.rest,brand,client', 'too_many_cells'],
    ['name,note\ncafe.rest,"open', 'not_csv'],
  ])('of %j is refused: %s', async (text, code) => {
    expect(await parseDetailsImport(text)).toMatchObject({ ok: false, issues: [{ code }] });
  });
});

test('findings of a period are counted by the difference between its start and end', async () => {
  const at = (day: number) => new Date(Date.UTC(2027, 4, day));
  const records = createNameRecordStore(database, 'T0TEAM');
  const observe = async (name: string, day: number, opened: FindingCode[], closed: FindingCode[]) => {
    const known = await records.find(name);
    if (known === undefined) throw new Error('missing name');
    const observation = { origin: 'finding', at: at(day), opened, closed } as const;
    await records.save(known, { updatedRecord: known, observations: [observation], incident: undefined });
  };
  await watch('one.rest', 'two.rest', 'back.rest');
  await observe('one.rest', 0, ['lame'], []);
  await observe('one.rest', 1, ['unlocked', 'expires_soon'], []);
  await observe('one.rest', 2, ['expired'], ['expires_soon', 'lame']);
  await observe('two.rest', 3, ['unlocked', 'expired'], []);
  await observe('two.rest', 40, [], ['unlocked']);
  await observe('back.rest', 4, [], ['unlocked']);
  await observe('back.rest', 5, ['unlocked'], []);
  const changes = await store.listFindingChanges(at(1), at(32));
  expect(changes).toHaveLength(2);
  expect(changes).toContainEqual({ began: ['expired', 'unlocked'], ended: [], names: 1 });
  expect(changes).toContainEqual({ began: ['expired', 'unlocked'], ended: ['lame'], names: 1 });
});
