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

test('a lapsed name counts in its month, and by its decision', async () => {
  const store = createMoneyReportStore(database);
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
        nextDnsAt: at('2027-01-01'),
        nextRegistryAt: at('2027-01-01'),
        lapseReason: 'over',
        lapseConfirmedAt: day === undefined ? null : at(day),
      },
    });
  const month = [new Date('2026-11-01T00:00:00Z'), new Date('2026-12-01T00:00:00Z')] as const;
  expect(await store.lapsed(...month)).toEqual(['in.rest']);
});
