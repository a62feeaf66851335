import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
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

/** Every field has a different time. */
const at = (hour: number) => new Date(Date.UTC(2027, 2, 28, hour, 59, 59, 123));

const minimalDomain = createWatchedDomain('cafe.rest', 'U0ALICE', at(0));
const completeDomain: WatchedDomain = {
  ...minimalDomain,
  expiry: { at: at(1), source: 'person' },
  registeredBy: 'U0BOB',
  unpublishedRenewal: { until: at(2), at: at(3) },
  trusted: { registrar: 'Régistrar “One”', at: at(4), transferExpectedAt: at(5) },
  deletedAt: at(6),
  lastLookupAt: at(7),
  nextRegistryLookupAt: at(8),
  doubt: {
    code: 'distrusted',
    distrust: { code: 'transferred', at: at(11) },
    newDate: at(12),
  },
  snooze: { until: at(9), by: 'U0CAROL', reason: 'busy' },
  lapse: { reason: 'old', requestedBy: 'U0DAVE', confirmed: { by: 'U0ERIN', at: at(10) } },
};

test.each([
  ['added', completeDomain, undefined],
  ['added without optional fields', minimalDomain, undefined],
  ['changed to have all fields', minimalDomain, completeDomain],
  [
    'changed to have no optional fields',
    completeDomain,
    { ...minimalDomain, nextRegistryLookupAt: completeDomain.nextRegistryLookupAt },
  ],
])('a name that is %s is read back unchanged, alone and among others', async (_what, initial, changed) => {
  expect(await rig.store.add(initial)).toBe(true);
  if (changed !== undefined) expect(await rig.store.change(initial, changed)).toBe(true);
  const saved = changed === undefined ? initial : { ...changed, version: initial.version + 1 };
  expect(await rig.store.find('cafe.rest')).toEqual(saved);
  expect(await rig.store.findMany(['cafe.rest', 'bistro.rest'])).toEqual([saved]);
});

test('a watched name is not added again', async () => {
  await rig.store.add(completeDomain);
  expect(await rig.store.add(minimalDomain)).toBe(false);
  expect(await rig.store.find('cafe.rest')).toEqual(completeDomain);
});

test.each([
  ['the expiry date', { expiry: { at: at(20), source: 'rdap' } }],
  ['another field', { lastLookupAt: at(20) }],
] as const)('of two concurrent changes of %s, only one is saved', async (_what, change) => {
  await rig.store.add(minimalDomain);
  expect(
    (
      await Promise.all([1, 2].map(() => rig.store.change(minimalDomain, { ...minimalDomain, ...change })))
    ).toSorted(),
  ).toEqual([false, true]);
  expect(await rig.store.find('cafe.rest')).toMatchObject({ ...change, version: 1 });
});

test('an unwatched name is neither found nor changed', async () => {
  expect(await rig.store.find('cafe.rest')).toBeUndefined();
  expect(await rig.store.change(minimalDomain, completeDomain)).toBe(false);
  expect(await rig.store.find('cafe.rest')).toBeUndefined();
});

test('a page lists names by expiry, then names deleted early, then names without a date', async () => {
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
  for (const [name, fields] of Object.entries(names))
    await rig.store.add({ ...createWatchedDomain(name, 'U0ALICE', at(0)), ...fields });
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
      found.push(...(await rig.store.listPage(range, offset, limit)).map(({ name }) => name));
    expect(found, `in pages of ${limit}`).toEqual(expected);
  }
});
