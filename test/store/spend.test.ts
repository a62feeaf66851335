import { beforeAll, expect, test } from 'vitest';
import type { SpendStore } from '../../src/money/ports.ts';
import type { Database } from '../../src/store/database.ts';
import { createSpendStore } from '../../src/store/spend.ts';
import { useTestDatabase } from '../support/database.ts';

let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
let store: SpendStore;

const LIVE_CONTEXT = 4;
const DEMO_CONTEXT = 1;
const JULY = new Date('2026-07-01T00:00:00Z');
const AUGUST = new Date('2026-08-01T00:00:00Z');
const END_OF_JULY = new Date('2026-07-31T23:59:59.999Z');

let orderCount = 0;
async function saveOrder(
  task: string,
  context: number | null,
  items: readonly {
    readonly name: string;
    readonly state: string;
    readonly answeredAt?: Date | null;
    readonly input?: { readonly period: number };
  }[],
  closedAt: Date | null = END_OF_JULY,
  overrides: { readonly isPrivate?: boolean; readonly earlierRequesters?: string[] } = {},
): Promise<void> {
  orderCount += 1;
  const id = `order${orderCount}`;
  await database.prisma.order.create({
    data: {
      id,
      task,
      state: 'SUCCEEDED',
      version: 1,
      requesterId: 'U0ALICE',
      accountId: 'a',
      accountLogin: 'alice',
      accountMethod: 'password',
      context,
      names: items.map(({ name }) => name),
      input: { period: 2 },
      statementHash: '',
      channelId: 'C1',
      approvalsRequired: 1,
      policyVersion: 0,
      requirements: {},
      deliveryId: id,
      createdAt: JULY,
      updatedAt: JULY,
      closedAt,
      ...overrides,
      items: {
        create: items.map(({ name, state, answeredAt = END_OF_JULY, input }, index) => ({
          n: index + 1,
          name,
          ctid: `${id}.${index + 1}`,
          state,
          sentAt: END_OF_JULY,
          answeredAt,
          ...(input === undefined ? {} : { input }),
        })),
      },
    },
  });
}

beforeAll(async () => {
  store = createSpendStore(database);
  await saveOrder('renew', LIVE_CONTEXT, [
    { name: 'done.rest', state: 'SUCCEEDED' },
    { name: 'failed.rest', state: 'FAILED' },
    { name: 'unknown.rest', state: 'UNKNOWN', answeredAt: null },
    { name: 'settled.rest', state: 'SUCCEEDED', answeredAt: null },
    { name: 'early.rest', state: 'SUCCEEDED', answeredAt: new Date(JULY.getTime() - 1) },
    { name: 'late.rest', state: 'SUCCEEDED', answeredAt: AUGUST },
  ]);
  await saveOrder('create', null, [{ name: 'application.rest', state: 'SUCCEEDED', input: { period: 5 } }]);
  await saveOrder('create', LIVE_CONTEXT, [{ name: 'private.rest', state: 'SUCCEEDED' }], END_OF_JULY, {
    isPrivate: true,
    earlierRequesters: ['U0BOB'],
  });
  await saveOrder('renew', DEMO_CONTEXT, [
    { name: 'demo.rest', state: 'SUCCEEDED' },
    { name: 'demo-unknown.rest', state: 'UNKNOWN' },
  ]);
  await saveOrder('delete', LIVE_CONTEXT, [{ name: 'free.rest', state: 'SUCCEEDED' }]);
});

test('purchases are the names that succeeded on a live system in the period', async () => {
  expect(await store.listPurchases(JULY, AUGUST)).toEqual([
    { name: 'done.rest', task: 'renew', period: 2, requesterId: 'U0ALICE', at: END_OF_JULY },
    { name: 'settled.rest', task: 'renew', period: 2, requesterId: 'U0ALICE', at: END_OF_JULY },
    { name: 'application.rest', task: 'create', period: 5, requesterId: 'U0ALICE', at: END_OF_JULY },
    {
      name: 'private.rest',
      task: 'create',
      period: 2,
      requesterId: 'U0ALICE',
      at: END_OF_JULY,
      privateTo: ['U0ALICE', 'U0BOB'],
    },
  ]);
});

test('names with an unknown outcome on live systems are counted', async () => {
  expect(await store.countUnknownOutcomes(JULY, AUGUST)).toBe(1);
  expect(await store.countUnknownOutcomes(AUGUST, new Date('2026-09-01'))).toBe(0);
});

test('upcoming renewals are counted by month and zone, without names that lapse or are deleted', async () => {
  const createDomainRow = (name: string, expiresAt: string, overrides = {}) => ({
    name,
    expiresAt: new Date(expiresAt),
    addedBy: 'U0ALICE',
    addedAt: JULY,
    nextDnsLookupAt: JULY,
    nextRegistryLookupAt: JULY,
    ...overrides,
  });
  await database.prisma.domain.createMany({
    data: [
      createDomainRow('a.rest', '2026-07-15T00:00:00Z'),
      createDomainRow('b.rest', '2026-07-31T23:00:00Z'),
      createDomainRow('c.co.uk', '2026-07-20T00:00:00Z'),
      createDomainRow('gone.rest', '2026-07-20T00:00:00Z', { lapseConfirmedAt: JULY }),
      createDomainRow('was-deleted.rest', '2026-07-20T00:00:00Z', { deletedAt: JULY }),
      createDomainRow('later.rest', '2026-08-01T00:00:00Z'),
    ],
  });
  expect(await store.countRenewals(JULY, AUGUST, 'Europe/Berlin')).toEqual([
    { month: '2026-07', zone: 'co.uk', count: 1 },
    { month: '2026-07', zone: 'rest', count: 1 },
    { month: '2026-08', zone: 'rest', count: 1 },
  ]);
});

test('names count as unused if a lookup found no use and they neither lapse nor are deleted', async () => {
  const names = ['empty.rest', 'bare.co.uk', 'lives.rest', 'unseen.rest', 'let-go.rest', 'deleted.rest'];
  await database.prisma.domain.createMany({
    data: names.map((name) => ({
      name,
      addedBy: 'U0ALICE',
      addedAt: JULY,
      nextDnsLookupAt: JULY,
      nextRegistryLookupAt: JULY,
      inUse: name === 'unseen.rest' ? null : name === 'lives.rest',
      ...(name === 'let-go.rest' ? { lapseConfirmedAt: JULY } : {}),
      ...(name === 'deleted.rest' ? { deletedAt: JULY } : {}),
    })),
  });
  expect(await store.countUnusedNames()).toEqual([
    { zone: 'co.uk', count: 1 },
    { zone: 'rest', count: 1 },
  ]);
});
