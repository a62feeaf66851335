import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { PriceStore } from '../../src/money/ports.ts';
import { diffPrices, type Price, type PriceEdit } from '../../src/money/prices.ts';
import type { Database } from '../../src/store/database.ts';
import { createPriceStore } from '../../src/store/prices.ts';
import { useTestDatabase } from '../support/database.ts';
import { clearLog, teamEvents } from '../support/log.ts';
import { confirmProposal, proposalsOf } from '../support/proposals.ts';

let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
let store: PriceStore;
beforeAll(async () => {
  store = createPriceStore(database, 'T1');
});
beforeEach(async () => {
  await database.prisma.price.deleteMany();
  await clearLog(database);
});

const AT = new Date('2026-11-22T08:00:00Z');
const LATER = new Date('2026-11-22T09:00:00Z');
const EXPIRY = new Date('2026-11-25T08:00:00Z');
const price = (given: Partial<Price> = {}): Price => ({
  zone: 'rest',
  task: 'renew',
  period: 1,
  amount: { currency: 'EUR', minor: 1_800 },
  validFrom: '2026-11-01',
  source: 'Contract 7',
  ...given,
});
const higher = price({ amount: { currency: 'EUR', minor: 2_000 } });

async function loadLog(teamId = 'T1') {
  return (await teamEvents(database, teamId)).flatMap((event) =>
    event.kind === 'price_changed' ? event : [],
  );
}
/** Common fields of every price change. */
const CHANGED = { kind: 'price_changed', subject: { kind: 'price', id: 'rest' } };

/** Adds prices to the current list. */
async function savePrices(prices: readonly Price[], by = 'U0ADA'): Promise<void> {
  expect(await store.save(diffPrices(await store.list(), prices), by, AT)).toBe(true);
}

test('saved prices are listed with every digit, newest first', async () => {
  const largest = price({ validFrom: '2026-12-01', amount: { currency: 'EUR', minor: 1_000_000_000_000 } });
  await savePrices([price(), largest]);
  expect(await store.list()).toEqual([
    { id: expect.any(String), ...largest },
    { id: expect.any(String), ...price() },
  ]);
});

test('the price of the same zone, task, period and day is replaced, and logged if it changed', async () => {
  await savePrices([price()]);
  await savePrices([higher], 'U0BOB');
  await savePrices([higher], 'U0BOB');
  expect((await store.list()).map(({ amount }) => amount.minor)).toEqual([2_000]);
  expect(await loadLog()).toEqual([
    { ...CHANGED, before: undefined, after: price(), actor: 'U0ADA', confirmedBy: undefined, at: AT },
    { ...CHANGED, before: price(), after: higher, actor: 'U0BOB', confirmedBy: undefined, at: AT },
  ]);
});

test('an edit is saved only if the list is the one it was made for', async () => {
  const later = price({ validFrom: '2026-12-01' });
  await savePrices([price(), later]);
  const refused: PriceEdit[] = [
    { before: price(), after: later },
    { before: higher, after: price() },
    { before: undefined, after: price() },
  ];
  for (const edit of refused) {
    const other = { before: undefined, after: price({ zone: 'example' }) };
    expect(await store.save([other, edit], 'U0BOB', AT)).toBe(false);
  }
  expect(await loadLog()).toHaveLength(2);
  const earlier = price({ validFrom: '2026-10-01' });
  expect(await store.save([{ before: price(), after: earlier }], 'U0BOB', AT)).toBe(true);
  expect((await store.list()).map(({ validFrom }) => validFrom)).toEqual(['2026-12-01', '2026-10-01']);
  expect((await loadLog()).at(-1)).toMatchObject({ before: price(), after: earlier, actor: 'U0BOB' });
});

test('only one of several concurrent edits of a price is saved', async () => {
  const edits = Array.from({ length: 8 }, (_, n) => price({ amount: { currency: 'EUR', minor: n } }));
  const saved = await Promise.all(
    edits.map((after) => store.save([{ before: undefined, after }], 'U0ADA', AT)),
  );
  expect(saved.filter(Boolean)).toHaveLength(1);
  expect(await loadLog()).toHaveLength(1);
});

test('a confirmed proposal is applied with both people in the log, if the list is unchanged', async () => {
  const proposals = proposalsOf(database, 'T1');
  const propose = (payload: readonly PriceEdit[]) =>
    proposals.propose({ kind: 'prices', payload, proposer: 'U0ADA', proposedAt: AT, expiresAt: EXPIRY });
  await savePrices([higher]);
  const edit = { before: higher, after: price() };
  const first = await propose([edit]);
  const second = await propose([edit, { before: undefined, after: price({ zone: 'example' }) }]);
  expect(await confirmProposal(proposals, first.id, 'U0BOB', LATER)).toMatchObject({ kind: 'applied' });
  expect((await loadLog()).at(-1)).toEqual({
    ...CHANGED,
    before: higher,
    after: price(),
    actor: 'U0ADA',
    confirmedBy: 'U0BOB',
    at: LATER,
  });
  expect(await confirmProposal(proposals, second.id, 'U0BOB', LATER)).toMatchObject({
    kind: 'changed',
    current: { proposedAt: LATER, payload: [{ before: undefined, after: price({ zone: 'example' }) }] },
  });
  expect(await store.list()).toEqual([{ id: expect.any(String), ...price() }]);
});

test('concurrent reads get the prices of their own zones', async () => {
  const [rest, cafe, coUk] = [price(), price({ zone: 'cafe', task: 'create' }), price({ zone: 'co.uk' })];
  await savePrices([rest, cafe, coUk, price({ zone: 'uk' })]);
  await createPriceStore(database, 'T2').save(diffPrices([], [higher]), 'U0EVE', AT);
  const reads = [['rest', 'cafe'], ['co.uk'], ['com'], []].map((zones) => store.listForZones(zones));
  const listed = (each: Price) => ({ id: expect.any(String), ...each });
  const [first, ...others] = await Promise.all(reads);
  expect(first).toHaveLength(2);
  expect(first).toEqual(expect.arrayContaining([listed(rest), listed(cafe)]));
  expect(others).toEqual([[listed(coUk)], [], []]);
});

test('another team has its own list and log', async () => {
  const other = createPriceStore(database, 'T2');
  await savePrices([price()]);
  expect(await other.list()).toEqual([]);
  expect(await loadLog('T2')).toEqual([]);
  expect(await other.save(diffPrices([], [higher]), 'U0EVE', AT)).toBe(true);
  expect((await store.list()).map(({ amount }) => amount.minor)).toEqual([1_800]);
});
