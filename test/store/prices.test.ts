import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { PriceChange, PriceStore } from '../../src/money/ports.ts';
import type { Price } from '../../src/money/prices.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createPriceStore } from '../../src/store/prices.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let testDatabase: TestDatabase;
let database: Database;
let store: PriceStore;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url });
  store = createPriceStore(database, 'T1');
});
beforeEach(async () => {
  await database.prisma.price.deleteMany();
  await database.prisma.priceChange.deleteMany();
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const AT = new Date('2026-11-22T08:00:00Z');
const price = (given: Partial<Price> = {}): Price => ({
  zone: 'rest',
  task: 'renew',
  period: 1,
  amount: { currency: 'EUR', minor: 1_800 },
  validFrom: '2026-11-01',
  source: 'Contract 7',
  ...given,
});
const dearer = price({ amount: { currency: 'EUR', minor: 2_000 } });

async function logged(of = store): Promise<PriceChange[]> {
  const found: PriceChange[] = [];
  for await (const each of of.changes(new Date(0), new Date('2027-01-01'))) found.push(each);
  return found;
}

async function idOf(wanted: Price): Promise<string> {
  const found = (await store.list()).find((each) => each.validFrom === wanted.validFrom);
  if (found === undefined) throw new Error('no such price is listed');
  return found.id;
}

test('what is saved is listed with every digit, the newest of a kind first', async () => {
  const largest = price({ validFrom: '2026-12-01', amount: { currency: 'EUR', minor: 1_000_000_000_000 } });
  expect(await store.save([price(), largest], 'U0ADA', AT)).toEqual({ added: 2, changed: 0 });
  expect(await store.list()).toEqual([
    { id: expect.any(String), ...largest },
    { id: expect.any(String), ...price() },
  ]);
});

test('the same zone, task, period and day is changed, and what is the same leaves no line in the log', async () => {
  await store.save([price()], 'U0ADA', AT);
  expect(await store.save([dearer], 'U0BOB', AT)).toEqual({ added: 0, changed: 1 });
  expect(await store.save([dearer], 'U0BOB', AT)).toEqual({ added: 0, changed: 0 });
  expect((await store.list()).map(({ amount }) => amount.minor)).toEqual([2_000]);
  expect(await logged()).toEqual([
    { before: undefined, after: price(), by: 'U0ADA', at: AT },
    { before: price(), after: dearer, by: 'U0BOB', at: AT },
  ]);
});

test('a price is replaced by another, but not by one that is listed already', async () => {
  const later = price({ validFrom: '2026-12-01' });
  await store.save([price(), later], 'U0ADA', AT);
  const id = await idOf(price());
  expect(await store.replace(id, later, 'U0BOB', AT)).toBe('taken');
  expect(await store.replace(id, price(), 'U0BOB', AT)).toBe('same');
  expect(await store.replace('nothing', price(), 'U0BOB', AT)).toBe('gone');
  const earlier = price({ validFrom: '2026-10-01' });
  expect(await store.replace(id, earlier, 'U0BOB', AT)).toBe('saved');
  expect((await store.list()).map(({ validFrom }) => validFrom)).toEqual(['2026-12-01', '2026-10-01']);
  expect((await logged()).at(-1)).toEqual({ before: price(), after: earlier, by: 'U0BOB', at: AT });
});

test('changes at the same time each log what stood there before', async () => {
  const amounts = Array.from({ length: 8 }, (_, n) => price({ amount: { currency: 'EUR', minor: n } }));
  await Promise.all(amounts.map((each) => store.save([each], 'U0ADA', AT)));
  const changes = await logged();
  expect(changes).toHaveLength(8);
  expect(changes.slice(1).map(({ before }) => before)).toEqual(
    changes.slice(0, -1).map(({ after }) => after),
  );
});

test('questions of one moment get the prices of their own zones', async () => {
  const [rest, cafe, coUk] = [price(), price({ zone: 'cafe', task: 'create' }), price({ zone: 'co.uk' })];
  await store.save([rest, cafe, coUk, price({ zone: 'uk' })], 'U0ADA', AT);
  await createPriceStore(database, 'T2').save([dearer], 'U0EVE', AT);
  const asked = [['rest', 'cafe'], ['co.uk'], ['com'], []].map((zones) => store.listOf(zones));
  const listed = (each: Price) => ({ id: expect.any(String), ...each });
  const [first, ...others] = await Promise.all(asked);
  expect(first).toHaveLength(2);
  expect(first).toEqual(expect.arrayContaining([listed(rest), listed(cafe)]));
  expect(others).toEqual([[listed(coUk)], [], []]);
});

test('another team has a list and a log of its own', async () => {
  const other = createPriceStore(database, 'T2');
  await store.save([price()], 'U0ADA', AT);
  expect(await other.list()).toEqual([]);
  expect(await logged(other)).toEqual([]);
  expect(await other.save([dearer], 'U0EVE', AT)).toEqual({ added: 1, changed: 0 });
  expect((await store.list()).map(({ amount }) => amount.minor)).toEqual([1_800]);
});
