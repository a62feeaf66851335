import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newlyWatched } from '../../src/expiry/change.ts';
import type { WatchedDomain } from '../../src/expiry/ports.ts';
import { Rig } from '../expiry/rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await Rig.start();
});
afterAll(() => rig?.stop());
beforeEach(async () => {
  await rig.database.prisma.domain.deleteMany();
});

/** A moment of its own for each field. */
const at = (hour: number) => new Date(Date.UTC(2027, 2, 28, hour, 59, 59, 123));

const bare = newlyWatched('cafe.rest', 'U0ALICE', at(0));
const full: WatchedDomain = {
  ...bare,
  expiry: { at: at(1), source: 'person' },
  registeredBy: 'U0BOB',
  renewed: { until: at(2), at: at(3) },
  record: { expiresAt: at(4), registrar: 'Régistrar “One”', secure: true, seenAt: at(5) },
  recordBefore: { expiresAt: at(11), registrar: undefined, secure: false, seenAt: at(12) },
  deletedAt: at(6),
  checkedAt: at(7),
  nextCheckAt: at(8),
  checkProblem: 'it cannot be read',
  snooze: { until: at(9), by: 'U0CAROL', reason: 'busy' },
  lapse: { reason: 'old', requestedBy: 'U0DAVE', confirmed: { by: 'U0ERIN', at: at(10) } },
};

test.each([
  ['added', full, undefined],
  ['added with nothing known', bare, undefined],
  ['filled in', bare, full],
  ['emptied', full, { ...bare, nextCheckAt: full.nextCheckAt }],
])('a name that is %s is read as it was kept, alone and among others', async (_what, first, then) => {
  expect(await rig.store.add(first)).toBe(true);
  if (then !== undefined) expect(await rig.store.change(first, then)).toBe(true);
  const kept = then === undefined ? first : { ...then, version: first.version + 1 };
  expect(await rig.store.find('cafe.rest')).toEqual(kept);
  expect(await rig.store.findMany(['cafe.rest', 'bistro.rest'])).toEqual([kept]);
});

test('a name that is on the list is not added again', async () => {
  await rig.store.add(full);
  expect(await rig.store.add(bare)).toBe(false);
  expect(await rig.store.find('cafe.rest')).toEqual(full);
});

test.each([
  ['a date', { expiry: { at: at(20), source: 'rdap' } }],
  ['anything else', { checkedAt: at(20) }],
] as const)('of two who change %s at once the second reads again', async (_what, change) => {
  await rig.store.add(bare);
  expect(
    (await Promise.all([1, 2].map(() => rig.store.change(bare, { ...bare, ...change })))).toSorted(),
  ).toEqual([false, true]);
  expect(await rig.store.find('cafe.rest')).toMatchObject({ ...change, version: 1 });
});

test('a name that is not on the list is neither found nor changed', async () => {
  expect(await rig.store.find('cafe.rest')).toBeUndefined();
  expect(await rig.store.change(bare, full)).toBe(false);
  expect(await rig.store.find('cafe.rest')).toBeUndefined();
});

test('of the names whose look-up is due the longest due are taken, first those, and by one alone', async () => {
  const due = [3, 1, 4, 2].map((hour) => ({
    ...newlyWatched(`due-${hour}.rest`, 'U0ALICE', at(0)),
    nextCheckAt: at(hour),
  }));
  for (const domain of due) await rig.store.add(domain);
  const claim = async (limit: number) =>
    (await rig.store.claimDueChecks(at(3), at(10), limit)).map(({ name, nextCheckAt }) => [
      name,
      nextCheckAt,
    ]);
  expect(await claim(2)).toEqual([
    ['due-1.rest', at(10)],
    ['due-2.rest', at(10)],
  ]);
  expect(await claim(2)).toEqual([['due-3.rest', at(10)]]);
  expect(await claim(2)).toEqual([]);
});

test('a page has what expires first, then what was deleted early, then what has no date', async () => {
  const day = (n: number) => new Date(at(0).getTime() + n * 86_400_000);
  const expiring = (n: number) => ({ at: day(n), source: 'rdap' }) as const;
  const names: Readonly<Record<string, Partial<WatchedDomain>>> = {
    'deleted-2-days-ago.rest': { expiry: expiring(300), deletedAt: day(-2) },
    'deleted-9-days-ago.rest': { expiry: expiring(200), deletedAt: day(-9) },
    'deleted-long-ago.rest': { expiry: expiring(200), deletedAt: day(-40) },
    'deleted-after-its-expiry.rest': { expiry: expiring(-50), deletedAt: day(-5) },
    'in-3-days.rest': { expiry: expiring(3) },
    'in-2-days.rest': { expiry: expiring(2) },
    'in-300-days.rest': { expiry: expiring(300) },
    'without-a-date.rest': {},
  };
  for (const [name, known] of Object.entries(names))
    await rig.store.add({ ...newlyWatched(name, 'U0ALICE', at(0)), ...known });
  const range = { from: day(-80), until: day(31), deletedFrom: day(-35) };
  const expected = [
    'deleted-after-its-expiry.rest',
    'in-2-days.rest',
    'in-3-days.rest',
    'deleted-9-days-ago.rest',
    'deleted-2-days-ago.rest',
    'without-a-date.rest',
  ];
  expect(await rig.store.count(range)).toEqual({ deleted: 2, dated: 3, undated: 1 });
  for (const limit of [1, 2, 3, 4, 20]) {
    const found: string[] = [];
    for (let offset = 0; offset < expected.length; offset += limit)
      found.push(...(await rig.store.page(range, offset, limit)).map(({ name }) => name));
    expect(found, `in pages of ${limit}`).toEqual(expected);
  }
});
