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

const LIVE = 4;
const DEMO = 1;
const JULY = new Date('2026-07-01T00:00:00Z');
const AUGUST = new Date('2026-08-01T00:00:00Z');
const IN_JULY = new Date('2026-07-31T23:59:59.999Z');

let orders = 0;
async function order(
  task: string,
  context: number | null,
  items: readonly {
    readonly name: string;
    readonly state: string;
    readonly answeredAt?: Date | null;
    readonly input?: { readonly period: number };
  }[],
  closedAt: Date | null = IN_JULY,
  more: { readonly isPrivate?: boolean; readonly earlierRequesters?: string[] } = {},
): Promise<void> {
  orders += 1;
  const id = `order${orders}`;
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
      ...more,
      items: {
        create: items.map(({ name, state, answeredAt = IN_JULY, input }, index) => ({
          n: index + 1,
          name,
          ctid: `${id}.${index + 1}`,
          state,
          sentAt: IN_JULY,
          answeredAt,
          ...(input === undefined ? {} : { input }),
        })),
      },
    },
  });
}

beforeAll(async () => {
  store = createSpendStore(database);
  await order('renew', LIVE, [
    { name: 'done.rest', state: 'SUCCEEDED' },
    { name: 'failed.rest', state: 'FAILED' },
    { name: 'unknown.rest', state: 'UNKNOWN', answeredAt: null },
    { name: 'settled.rest', state: 'SUCCEEDED', answeredAt: null },
    { name: 'early.rest', state: 'SUCCEEDED', answeredAt: new Date(JULY.getTime() - 1) },
    { name: 'late.rest', state: 'SUCCEEDED', answeredAt: AUGUST },
  ]);
  await order('create', null, [{ name: 'application.rest', state: 'SUCCEEDED', input: { period: 5 } }]);
  await order('create', LIVE, [{ name: 'private.rest', state: 'SUCCEEDED' }], IN_JULY, {
    isPrivate: true,
    earlierRequesters: ['U0BOB'],
  });
  await order('renew', DEMO, [
    { name: 'demo.rest', state: 'SUCCEEDED' },
    { name: 'demo-unknown.rest', state: 'UNKNOWN' },
  ]);
  await order('delete', LIVE, [{ name: 'free.rest', state: 'SUCCEEDED' }]);
});

test('purchases are the names that succeeded on a live system in the period', async () => {
  expect(await store.listPurchases(JULY, AUGUST)).toEqual([
    { name: 'done.rest', task: 'renew', period: 2, requesterId: 'U0ALICE', at: IN_JULY },
    { name: 'settled.rest', task: 'renew', period: 2, requesterId: 'U0ALICE', at: IN_JULY },
    { name: 'application.rest', task: 'create', period: 5, requesterId: 'U0ALICE', at: IN_JULY },
    {
      name: 'private.rest',
      task: 'create',
      period: 2,
      requesterId: 'U0ALICE',
      at: IN_JULY,
      privateTo: ['U0ALICE', 'U0BOB'],
    },
  ]);
});

test('names with an unknown outcome on live systems are counted', async () => {
  expect(await store.countUnknownOutcomes(JULY, AUGUST)).toBe(1);
  expect(await store.countUnknownOutcomes(AUGUST, new Date('2026-09-01'))).toBe(0);
});

test('upcoming renewals are counted by month and zone, without names that lapse or are deleted', async () => {
  const domain = (name: string, expiresAt: string, more = {}) => ({
    name,
    expiresAt: new Date(expiresAt),
    addedBy: 'U0ALICE',
    addedAt: JULY,
    nextDnsLookupAt: JULY,
    nextRegistryLookupAt: JULY,
    ...more,
  });
  await database.prisma.domain.createMany({
    data: [
      domain('a.rest', '2026-07-15T00:00:00Z'),
      domain('b.rest', '2026-07-31T23:00:00Z'),
      domain('c.co.uk', '2026-07-20T00:00:00Z'),
      domain('gone.rest', '2026-07-20T00:00:00Z', { lapseConfirmedAt: JULY }),
      domain('was-deleted.rest', '2026-07-20T00:00:00Z', { deletedAt: JULY }),
      domain('later.rest', '2026-08-01T00:00:00Z'),
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
  expect(await store.listUnused()).toEqual([
    { zone: 'co.uk', count: 1 },
    { zone: 'rest', count: 1 },
  ]);
});
