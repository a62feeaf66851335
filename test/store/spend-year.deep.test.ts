import { expect, test } from 'vitest';
import { formatDecimal } from '../../src/money/amount.ts';
import { diffPrices } from '../../src/money/prices.ts';
import { parsePrices } from '../../src/money/read-prices.ts';
import { calculateSpend } from '../../src/money/spend.ts';
import { spendRows } from '../../src/slack/money/spend.view.ts';
import type { Database } from '../../src/store/database.ts';
import { createPriceStore } from '../../src/store/prices.ts';
import { createSpendStore } from '../../src/store/spend.ts';
import { useTestDatabase } from '../support/database.ts';

/*
 * Compares the spend of a year with an independent spreadsheet, which uses no product code, has its own
 * price table, and counts in cents.
 */

let database: Database;
useTestDatabase((opened) => {
  database = opened;
});

const PRICES = `zone,task,period,amount,valid_from,source
rest,renew,1,18.10,2025-01-01,Contract 6
rest,renew,5,81.99,2025-01-01,Contract 6
rest,renew,1,19.29,2026-05-01,Contract 7
rest,create,1,9.07,2025-01-01,Contract 6
rest,transfer,1,7.77,2025-01-01,Contract 6
rest,restore,1,80.01,2025-01-01,Contract 6
cafe,renew,1,33.33,2026-03-15,Contract 7
`;

/** The price of one name in cents, as a person would enter it in the sheet; undefined if it has no price. */
function computeCents(zone: string, task: string, years: number, date: string): number | undefined {
  if (zone === 'rest' && task === 'renew') {
    if (years === 5) return 8199;
    return years * (date >= '2026-05-01' ? 1929 : 1810);
  }
  if (zone === 'rest' && task === 'create') return years * 907;
  if (zone === 'rest' && task === 'transfer') return 777;
  if (zone === 'rest' && task === 'restore') return 8001;
  if (zone === 'cafe' && task === 'renew' && date >= '2026-03-15') return years * 3333;
  return undefined;
}

/** The columns are date, name, task, years, person, outcome and context. */
function createSheet(): string[][] {
  let seed = 2026;
  const nextRandom = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor(seed / 65536) % below;
  };
  const pick = <T>(values: readonly T[]): T => values[nextRandom(values.length)] as T;
  return Array.from({ length: 600 }, (_, n) => {
    const day = new Date(Date.UTC(2026, 0, 1 + nextRandom(365))).toISOString().slice(0, 10);
    const task = pick(['renew', 'renew', 'renew', 'create', 'transfer', 'restore']);
    const years = task === 'renew' || task === 'create' ? pick([1, 1, 2, 5, 10]) : 1;
    return [
      day,
      `n${n}.${pick(['rest', 'rest', 'cafe', 'example'])}`,
      task,
      String(years),
      pick(['U0ALICE', 'U0BOB', 'U0CAROL']),
      pick(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED', 'UNKNOWN']),
      pick(['4', '4', '4', '1']),
    ];
  });
}

/** Sums up the sheet as a person does, with a filter and a sum. */
function sumSheet(
  sheet: readonly string[][],
  section: string,
  getKey: (row: string[]) => string,
): string[][] {
  const lines = new Map<string, { names: number; open: number; cents: number }>();
  for (const row of sheet) {
    const [date = '', name = '', task = '', years = '', , outcome, context] = row;
    if (outcome !== 'SUCCEEDED' || context === '1') continue;
    const cents = computeCents(name.split('.')[1] ?? '', task, Number(years), date);
    const line = lines.get(getKey(row)) ?? { names: 0, open: 0, cents: 0 };
    line.names += 1;
    if (cents === undefined) line.open += 1;
    else line.cents += cents;
    lines.set(getKey(row), line);
  }
  return [...lines]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { names, open, cents }]) => {
      const text = String(cents).padStart(3, '0');
      const amount = names === open ? ['', ''] : [`${text.slice(0, -2)}.${text.slice(-2)}`, 'EUR'];
      return [section, key, String(names), String(open), ...amount];
    });
}

test('the spend of a year matches the spreadsheet, line by line', async () => {
  const sheet = createSheet();
  for (const [
    index,
    [date = '', name = '', task = '', years, person = '', state = '', context],
  ] of sheet.entries()) {
    const at = new Date(`${date}T23:30:00Z`);
    const id = `order${index}`;
    await database.prisma.order.create({
      data: {
        id,
        task,
        state,
        version: 1,
        requesterId: person,
        accountId: 'a',
        accountLogin: 'a',
        accountMethod: 'password',
        context: Number(context),
        names: [name],
        input: task === 'renew' || task === 'create' ? { period: Number(years) } : {},
        statementHash: '',
        channelId: 'C1',
        approvalsRequired: 1,
        policyVersion: 0,
        requirements: {},
        deliveryId: id,
        createdAt: at,
        updatedAt: at,
        closedAt: at,
        items: { create: [{ n: 1, name, ctid: id, state, sentAt: at, answeredAt: at }] },
      },
    });
  }
  const prices = createPriceStore(database, 'T');
  const parsed = await parsePrices(PRICES, 'EUR');
  if (!parsed.ok) throw new Error('the price list cannot be read');
  await prices.save(diffPrices([], parsed.prices), 'U0ADA', new Date());
  const year = [new Date('2026-01-01T00:00:00Z'), new Date('2027-01-01T00:00:00Z')] as const;
  const spend = calculateSpend(await prices.list(), await createSpendStore(database).listPurchases(...year));
  const rows = spendRows(
    { spend, forecast: [], unused: { nameCount: 0, unpricedCount: 0, sums: [] } },
    (id) => id,
    formatDecimal,
  );
  expect(rows).toEqual([
    ...sumSheet(sheet, 'total', () => ''),
    ...sumSheet(sheet, 'month', ([date = '']) => date.slice(0, 7)),
    ...sumSheet(sheet, 'task', ([, , task = '']) => task),
    ...sumSheet(sheet, 'zone', ([, name = '']) => name.split('.')[1] ?? ''),
    ...sumSheet(sheet, 'person', ([, , , , person = '']) => person),
  ]);
});
