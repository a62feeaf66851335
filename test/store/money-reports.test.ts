import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createMoneyReportStore } from '../../src/store/money-reports.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const NOW = new Date('2026-12-01T09:00:00Z');
const LEASE_MS = 600_000;

test('of ten processes one reports a month, another one when it has died, and nobody when it is posted', async () => {
  const store = createMoneyReportStore(database, 'T');
  const claims = await Promise.all(Array.from({ length: 10 }, () => store.claim('2026-11', NOW, LEASE_MS)));
  expect(claims.filter((isClaimed) => isClaimed)).toHaveLength(1);
  const later = new Date(NOW.getTime() + LEASE_MS);
  expect(await store.claim('2026-11', new Date(later.getTime() - 1), LEASE_MS)).toBe(false);
  expect(await store.claim('2026-11', later, LEASE_MS)).toBe(true);
  await store.posted('2026-11', later);
  expect(await store.claim('2026-11', new Date(later.getTime() + LEASE_MS), LEASE_MS)).toBe(false);
  expect(await store.claim('2026-12', later, LEASE_MS)).toBe(true);
  expect(await createMoneyReportStore(database, 'OTHER').claim('2026-11', NOW, LEASE_MS)).toBe(true);
});

test('what was let go counts in its month, and by its decision', async () => {
  const store = createMoneyReportStore(database, 'T');
  const at = (day: string) => new Date(`${day}T12:00:00Z`);
  for (const [name, day] of [
    ['in.rest', '2026-11-30'],
    ['before.rest', '2026-10-31'],
    ['asked.rest', undefined],
  ] as const)
    await database.prisma.domain.create({
      data: {
        name,
        addedBy: 'U0ALICE',
        addedAt: at('2026-01-01'),
        nextCheckAt: at('2027-01-01'),
        lapseReason: 'over',
        lapseConfirmedAt: day === undefined ? null : at(day),
      },
    });
  const month = [new Date('2026-11-01T00:00:00Z'), new Date('2026-12-01T00:00:00Z')] as const;
  expect(await store.letGo(...month)).toEqual(['in.rest']);
});
