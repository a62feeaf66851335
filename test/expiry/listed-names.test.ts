import { describe, expect, test } from 'vitest';
import { createExpiryTracker } from '../../src/expiry/expiry.ts';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type { ListRange, ReminderKey, WatchedDomain } from '../../src/expiry/ports.ts';
import { namesContextWith } from '../support/names-context.ts';
import { newTeamSettings } from '../support/settings.ts';

const NOW = new Date('2027-06-14T09:00:00Z');
const inDays = (days: number) => new Date(NOW.getTime() + days * 86_400_000);

function createWatched(
  name: string,
  days: number | undefined,
  overrides: Partial<WatchedDomain> = {},
): WatchedDomain {
  const expiry = days === undefined ? undefined : ({ at: inDays(days), source: 'rdap' } as const);
  return { ...createWatchedDomain(name, 'U0ALICE', NOW), expiry, ...overrides };
}
const lapse = { reason: 'old', requestedBy: 'U0ALICE', confirmed: { by: 'U0BOB', at: NOW } };

/** A list that records the ranges and offsets read. */
function createList(known: readonly WatchedDomain[], claimed: readonly ReminderKey[] = []) {
  const listedRanges: { readonly range: ListRange; readonly offset: number }[] = [];
  const expiry = createExpiryTracker(
    namesContextWith({
      now: () => NOW,
      settings: async () => newTeamSettings(),
      watchList: {
        find: async (name) => known.find((domain) => domain.name === name),
        findMany: async (names) => known.filter(({ name }) => names.includes(name)),
        count: async () => ({ dated: known.length, deleted: 0, undated: 0 }),
        listPage: async (range, offset, limit) => {
          listedRanges.push({ range, offset });
          return range.until > NOW ? known.slice(offset, offset + limit) : [];
        },
      },
      reminders: { listReminderKeys: async () => claimed },
    }),
  );
  return { expiry, read: listedRanges };
}

test.each([
  ['the registry’s date', createWatched('a.rest', 6), { expiryDay: '2027-06-20', daysLeft: 6 }],
  [
    'only a deletion',
    createWatched('a.rest', undefined, { deletedAt: inDays(-3) }),
    { expiryDay: undefined, daysLeft: undefined },
  ],
  ['no date', createWatched('a.rest', undefined), { expiryDay: undefined, daysLeft: undefined }],
])('a name with %s has the expected day and days left', async (_what, domain, expected) => {
  expect(await createList([domain]).expiry.findListedName('a.rest')).toMatchObject(expected);
});

test('a list includes its last day and names that expired recently', async () => {
  const { expiry, read } = createList([]);
  await expiry.list(30, 0, 10);
  expect(read).toEqual([
    { range: { from: inDays(-80), until: inDays(31), deletedFrom: inDays(-35) }, offset: 0 },
  ]);
});

describe('names of a digest that can be renewed', () => {
  const claim = (name: string, days: number, threshold = 7) => ({
    ...{ name, threshold },
    expiry: inDays(days).toISOString().slice(0, 10),
  });

  test('are sorted by expiry, without renewed, lapsing and disputed names', async () => {
    const known = [
      ...[
        createWatched('b.rest', 6),
        createWatched('a.rest', 5),
        createWatched('moved.rest', 37),
        createWatched('near.rest', 34),
      ],
      ...[
        createWatched('lapsing.rest', 6, { lapse }),
        createWatched('undated.rest', undefined),
        createWatched('lost.rest', 300),
      ],
    ];
    const claimed = known.map(({ name }) => claim(name, 6)).filter(({ name }) => name !== 'lost.rest');
    const { expiry } = createList(known, [...claimed, claim('lost.rest', 300, 100_000)]);
    expect((await expiry.listRenewable('d')).map(({ domain }) => domain.name)).toEqual([
      'a.rest',
      'b.rest',
      'near.rest',
    ]);
  });
});

describe('the names that expire next', () => {
  const names = (count: number, overrides: Partial<WatchedDomain> = {}) =>
    Array.from({ length: count }, (_, index) =>
      createWatched(`n${index}-${overrides.lapse ? 1 : 0}.rest`, 20, overrides),
    );

  test.each([
    ['enough on the first page', names(150), 100, 100, [0]],
    ['enough after lapsing names', [...names(100, { lapse }), ...names(5)], 5, 5, [0, 100]],
    ['fewer than a page', names(99), 100, 99, [0]],
    ['exactly a page', names(100), 101, 100, [0, 100]],
    ['none with a date', [createWatched('undated.rest', undefined)], 5, 0, [0]],
  ])('are read in pages: %s', async (_what, known, limit, count, offsets) => {
    const { expiry, read } = createList(known);
    expect(await expiry.loadNextExpiring(limit)).toHaveLength(count);
    const futureRanges = read.filter(({ range }) => range.until > NOW);
    expect(futureRanges.map(({ offset }) => offset)).toEqual(offsets);
    expect(futureRanges[0]?.range).toMatchObject({ from: NOW, until: inDays(366) });
  });
});
