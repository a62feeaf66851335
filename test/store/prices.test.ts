import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { PriceStore } from '../../src/money/ports.ts';
import { diffPrices, type Price, type PriceEdit } from '../../src/money/prices.ts';
import type { Database } from '../../src/store/database.ts';
import { createPriceStore } from '../../src/store/prices.ts';
import { useTestDatabase } from '../support/database.ts';
import { deleteTeamEvents, readTeamEvents } from '../support/log.ts';
import { confirmProposal, newProposalStore } from '../support/proposals.ts';

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
  await deleteTeamEvents(database);
});

const NOW = new Date('2026-11-22T08:00:00Z');
const LATER = new Date('2026-11-22T09:00:00Z');
const EXPIRY = new Date('2026-11-25T08:00:00Z');
const createPrice = (changes: Partial<Price> = {}): Price => ({
  zone: 'rest',
  task: 'renew',
  period: 1,
  amount: { currency: 'EUR', minor: 1_800 },
  validFrom: '2026-11-01',
  source: 'Contract 7',
  ...changes,
});
const higherPrice = createPrice({ amount: { currency: 'EUR', minor: 2_000 } });

async function loadLog(teamId = 'T1') {
  return (await readTeamEvents(database, teamId)).flatMap((event) =>
    event.kind === 'price_changed' ? event : [],
  );
}
/** Common fields of every price change. */
const PRICE_CHANGED_EVENT = { kind: 'price_changed', subject: { kind: 'price', id: 'rest' } };

/** Adds prices to the current list. */
async function savePrices(prices: readonly Price[], by = 'U0ADA'): Promise<void> {
  expect(await store.save(diffPrices(await store.list(), prices), by, NOW)).toBe(true);
}

test('saved prices are listed with every digit, newest first', async () => {
  const largest = createPrice({
    validFrom: '2026-12-01',
    amount: { currency: 'EUR', minor: 1_000_000_000_000 },
  });
  await savePrices([createPrice(), largest]);
  expect(await store.list()).toEqual([
    { id: expect.any(String), ...largest },
    { id: expect.any(String), ...createPrice() },
  ]);
});

test('the price of the same zone, task, period and day is replaced, and logged if it changed', async () => {
  await savePrices([createPrice()]);
  await savePrices([higherPrice], 'U0BOB');
  await savePrices([higherPrice], 'U0BOB');
  expect((await store.list()).map(({ amount }) => amount.minor)).toEqual([2_000]);
  expect(await loadLog()).toEqual([
    {
      ...PRICE_CHANGED_EVENT,
      before: undefined,
      after: createPrice(),
      actor: 'U0ADA',
      confirmedBy: undefined,
      at: NOW,
    },
    {
      ...PRICE_CHANGED_EVENT,
      before: createPrice(),
      after: higherPrice,
      actor: 'U0BOB',
      confirmedBy: undefined,
      at: NOW,
    },
  ]);
});

test('an edit is saved only if it matches the current list', async () => {
  const later = createPrice({ validFrom: '2026-12-01' });
  await savePrices([createPrice(), later]);
  const mismatchedEdits: PriceEdit[] = [
    { before: createPrice(), after: later },
    { before: higherPrice, after: createPrice() },
    { before: undefined, after: createPrice() },
  ];
  for (const edit of mismatchedEdits) {
    const other = { before: undefined, after: createPrice({ zone: 'example' }) };
    expect(await store.save([other, edit], 'U0BOB', NOW)).toBe(false);
  }
  expect(await loadLog()).toHaveLength(2);
  const earlier = createPrice({ validFrom: '2026-10-01' });
  expect(await store.save([{ before: createPrice(), after: earlier }], 'U0BOB', NOW)).toBe(true);
  expect((await store.list()).map(({ validFrom }) => validFrom)).toEqual(['2026-12-01', '2026-10-01']);
  expect((await loadLog()).at(-1)).toMatchObject({ before: createPrice(), after: earlier, actor: 'U0BOB' });
});

test('only one of several concurrent edits of a price is saved', async () => {
  const edits = Array.from({ length: 8 }, (_, n) => createPrice({ amount: { currency: 'EUR', minor: n } }));
  const saved = await Promise.all(
    edits.map((after) => store.save([{ before: undefined, after }], 'U0ADA', NOW)),
  );
  expect(saved.filter(Boolean)).toHaveLength(1);
  expect(await loadLog()).toHaveLength(1);
});

test('a confirmed proposal is applied with both people in the log, if the list is unchanged', async () => {
  const proposals = newProposalStore(database, 'T1');
  const propose = (payload: readonly PriceEdit[]) =>
    proposals.propose({ kind: 'prices', payload, proposer: 'U0ADA', proposedAt: NOW, expiresAt: EXPIRY });
  await savePrices([higherPrice]);
  const edit = { before: higherPrice, after: createPrice() };
  const first = await propose([edit]);
  const second = await propose([edit, { before: undefined, after: createPrice({ zone: 'example' }) }]);
  expect(await confirmProposal(proposals, first.id, 'U0BOB', LATER)).toMatchObject({ kind: 'applied' });
  expect((await loadLog()).at(-1)).toEqual({
    ...PRICE_CHANGED_EVENT,
    before: higherPrice,
    after: createPrice(),
    actor: 'U0ADA',
    confirmedBy: 'U0BOB',
    at: LATER,
  });
  expect(await confirmProposal(proposals, second.id, 'U0BOB', LATER)).toMatchObject({
    kind: 'changed',
    current: { proposedAt: LATER, payload: [{ before: undefined, after: createPrice({ zone: 'example' }) }] },
  });
  expect(await store.list()).toEqual([{ id: expect.any(String), ...createPrice() }]);
});

test('concurrent reads get the prices of their own zones', async () => {
  const [rest, cafe, coUk] = [
    createPrice(),
    createPrice({ zone: 'cafe', task: 'create' }),
    createPrice({ zone: 'co.uk' }),
  ];
  await savePrices([rest, cafe, coUk, createPrice({ zone: 'uk' })]);
  await createPriceStore(database, 'T2').save(diffPrices([], [higherPrice]), 'U0EVE', NOW);
  const reads = [['rest', 'cafe'], ['co.uk'], ['com'], []].map((zones) => store.listForZones(zones));
  const withId = (each: Price) => ({ id: expect.any(String), ...each });
  const [first, ...others] = await Promise.all(reads);
  expect(first).toHaveLength(2);
  expect(first).toEqual(expect.arrayContaining([withId(rest), withId(cafe)]));
  expect(others).toEqual([[withId(coUk)], [], []]);
});

test('another team has its own list and log', async () => {
  const other = createPriceStore(database, 'T2');
  await savePrices([createPrice()]);
  expect(await other.list()).toEqual([]);
  expect(await loadLog('T2')).toEqual([]);
  expect(await other.save(diffPrices([], [higherPrice]), 'U0EVE', NOW)).toBe(true);
  expect((await store.list()).map(({ amount }) => amount.minor)).toEqual([1_800]);
});
