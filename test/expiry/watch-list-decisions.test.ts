import { describe, expect, test } from 'vitest';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type { WatchedDomain } from '../../src/expiry/ports.ts';
import {
  addName,
  buildDateChange,
  importNames,
  isTooFarAhead,
  recordRenewal,
  type SaveChanges,
  snoozeName,
} from '../../src/expiry/watch-list.ts';
import { NO_DETAILS, type ReminderChange } from '../../src/names/portfolio.ts';
import { namesContextWith } from '../support/names-context.ts';

const NOW = new Date('2027-06-14T00:00:00Z');
const FUTURE = new Date('2027-07-14T00:00:00Z');
const LATER = new Date('2027-08-14T00:00:00Z');
type Source = NonNullable<WatchedDomain['expiry']>['source'];

function createWatched(name: string, source?: Source, at = FUTURE): WatchedDomain {
  const by = source === 'person' ? { enteredBy: 'U0BOB' } : {};
  return { ...createWatchedDomain(name, 'U0ALICE', NOW), expiry: source && { at, source, ...by } };
}

/** Creates a list, and a gate that records changes and requires confirmation for one name. */
function createList(
  known: readonly WatchedDomain[],
  { size = known.length, waiting: nameToConfirm = '' } = {},
) {
  const recordedChanges: (readonly ReminderChange[])[] = [];
  const context = namesContextWith({
    now: () => NOW,
    watchList: {
      find: async (name) => known.find((domain) => domain.name === name),
      findMany: async (names) => known.filter(({ name }) => names.includes(name)),
      countWatched: async () => size,
    },
  });
  const gate: SaveChanges = async (changes) => {
    recordedChanges.push(changes);
    const names = changes.filter(({ name }) => name === nameToConfirm);
    const proposal = {
      ...({ kind: 'facts', state: 'proposed', hash: '', id: 'p', version: 1, proposer: 'U0ALICE' } as const),
      ...{ subject: undefined, proposedAt: NOW, expiresAt: undefined, origin: undefined, endedBy: undefined },
      confirmations: [],
      payload: { names: names.map(({ name }) => ({ name, before: NO_DETAILS, after: NO_DETAILS })) },
    };
    return {
      changedNames: changes.filter((each) => !names.includes(each)).map(({ name }) => name),
      proposal: names.length > 0 ? proposal : undefined,
    };
  };
  const importList = (text: string) => importNames(context, text, gate, async () => undefined);
  return { asked: recordedChanges, context, gate, importList };
}

test.each<[known: string, domain: WatchedDomain, date: ReminderChange['date']]>([
  ['no date', createWatched('a.rest'), { after: LATER }],
  ['a registry’s date', createWatched('a.rest', 'rdap'), undefined],
  ['an order’s date', createWatched('a.rest', 'order'), undefined],
  ['an earlier WHOIS date', createWatched('a.rest', 'whois'), undefined],
  ['the same WHOIS date', createWatched('a.rest', 'whois', LATER), undefined],
  [
    'a later WHOIS date',
    createWatched('a.rest', 'whois', new Date('2028-01-01')),
    { before: { at: new Date('2028-01-01') }, after: LATER },
  ],
  ['the same person’s date', createWatched('a.rest', 'person', LATER), undefined],
  [
    'another person’s date',
    createWatched('a.rest', 'person'),
    { before: { at: FUTURE, by: 'U0BOB' }, after: LATER },
  ],
])('a person’s date replaces no better date: %s', (_known, domain, date) => {
  expect(buildDateChange(domain, LATER)?.date).toEqual(date);
});

test('a date can be up to ten years ahead', async () => {
  const limit = new Date('2037-06-14T00:00:00Z');
  expect([isTooFarAhead(limit, NOW), isTooFarAhead(new Date(limit.getTime() + 1), NOW)]).toEqual([
    false,
    true,
  ]);
  const { context, gate, asked, importList } = createList([createWatched('a.rest')]);
  const date = '2037-06-15';
  const refused = { ok: false, refusal: { code: 'date_too_far_ahead', text: date } };
  expect(await addName(context, { text: 'a.rest', date }, gate)).toEqual(refused);
  expect(await recordRenewal(context, { name: 'a.rest', reason: undefined }, date, gate)).toEqual(refused);
  expect(await importList(`a.rest,${date}\nb.rest`)).toMatchObject({ tooFarAheadCount: 1, addedCount: 1 });
  expect(asked).toEqual([[{ name: 'b.rest', isNew: true }]]);
});

describe('an import', () => {
  test('counts names that changed, wait for confirmation or were kept', async () => {
    const known = ['mine.rest', 'guarded.rest'].map((name) => createWatched(name, 'person'));
    const { asked, importList } = createList([...known, createWatched('registry.rest', 'rdap')], {
      waiting: 'guarded.rest',
    });
    const lines = ['mine.rest', 'guarded.rest', 'registry.rest'].map((name) => `${name},2027-08-14`);
    expect(await importList(lines.join('\n'))).toMatchObject({
      addedCount: 0,
      datedCount: 1,
      unchangedCount: 1,
      beyondLimitCount: 0,
    });
    expect(asked.map((changes) => changes.map(({ name }) => name))).toEqual([['mine.rest', 'guarded.rest']]);
  });

  test.each([
    [24_998, 2, 0],
    [24_999, 1, 1],
    [25_000, 0, 2],
    [25_001, 0, 2],
  ])('into a list of %i names adds %i of two', async (size, addedCount, beyondLimitCount) => {
    const { asked, importList } = createList([], { size });
    expect(await importList('a.rest\nb.rest')).toMatchObject({
      addedCount,
      beyondLimitCount,
      unchangedCount: 0,
    });
    expect(asked.flat()).toHaveLength(addedCount);
    expect(asked).toHaveLength(addedCount === 0 ? 0 : 1);
  });
});

test.each([1, 365])('a snooze of %i days is accepted', async (days) => {
  const { context, gate } = createList([createWatched('a.rest')]);
  expect(await snoozeName(context, { name: 'a.rest', reason: undefined }, days, gate)).toMatchObject({
    ok: true,
  });
});

describe('a renewal elsewhere', () => {
  test.each<[known: string, until: string, domain: WatchedDomain, isValid: boolean]>([
    ['no known date', '2027-06-15', createWatched('a.rest'), true],
    ['no known date, until now', '2027-06-14', createWatched('a.rest'), false],
    ['a later known date', '2027-07-13', createWatched('a.rest', 'rdap'), false],
    ['the known date', '2027-07-14', createWatched('a.rest', 'rdap'), false],
    ['an earlier known date', '2027-07-15', createWatched('a.rest', 'rdap'), true],
    ['a past known date', '2027-06-13', createWatched('a.rest', 'rdap', new Date('2027-06-01')), false],
  ])('must end after the known date and today: %s, until %s', async (_known, until, domain, isValid) => {
    const { context, gate } = createList([domain]);
    const outcome = await recordRenewal(context, { name: 'a.rest', reason: undefined }, until, gate);
    expect(outcome).toMatchObject(isValid ? { ok: true } : { ok: false, refusal: { code: 'not_renewed' } });
  });

  test.each<[source: Source | undefined, date: ReminderChange['date']]>([
    ['person', { before: { at: FUTURE, by: 'U0BOB' }, after: LATER }],
    ['rdap', undefined],
    ['whois', undefined],
    [undefined, undefined],
  ])('replaces only a person’s date: %s', async (source, date) => {
    const { asked, context, gate } = createList([createWatched('a.rest', source)]);
    await recordRenewal(context, { name: 'a.rest', reason: undefined }, '2027-08-14', gate);
    expect(asked.flat().map((change) => change.date)).toEqual([date]);
  });
});
