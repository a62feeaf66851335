import { expect, test } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { createMoneyReportStore } from '../../src/store/money-reports.ts';
import { useTestDatabase } from '../support/database.ts';

let database: Database;
useTestDatabase((opened) => {
  database = opened;
});

test('a lapsed name counts in the month when its lapse was confirmed', async () => {
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
        nextDnsLookupAt: at('2027-01-01'),
        nextRegistryLookupAt: at('2027-01-01'),
        lapseReason: 'over',
        lapseConfirmedAt: day === undefined ? null : at(day),
      },
    });
  const month = [new Date('2026-11-01T00:00:00Z'), new Date('2026-12-01T00:00:00Z')] as const;
  expect(await store.listLapsedNames(...month)).toEqual(['in.rest']);
});
