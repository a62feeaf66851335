import { beforeAll, expect, test } from 'vitest';
import { parseFilter } from '../../src/names/filter.ts';
import type { NameCursor, NameQuery } from '../../src/names/ports.ts';
import { type Database, Prisma } from '../../src/store/database.ts';
import { selectPage, selectZoneCounts } from '../../src/store/portfolio-statements.ts';
import { useTestDatabase } from '../support/database.ts';

/* The portfolio has 100,000 names. No page scans the whole table, not even the last one. */

const NOW = new Date('2027-06-15T09:00:00Z');
let database: Database;
useTestDatabase((opened) => {
  database = opened;
});

beforeAll(async () => {
  await database.run(Prisma.sql`
    INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, tags, owner_id, team_id)
    SELECT 'name' || n || '.rest', ${NOW}::timestamptz + interval '5 minutes' * n, 'rdap', 'U0ALICE', ${NOW}, ${NOW}, ${NOW},
      CASE WHEN n % 1000 = 0 THEN ARRAY['brand'] ELSE ARRAY['t' || n % 100] END, 'U' || n % 500, 'T0TEAM'
    FROM generate_series(1, 100000) n`);
  await database.run(Prisma.sql`VACUUM ANALYZE domains`);
}, 60_000);

const PAGE_LIMIT = 51;

function createQuery(text: string): NameQuery {
  const parsed = parseFilter(text);
  if (!parsed.ok) throw new Error('invalid filter');
  const { filter } = parsed;
  return { filter, owners: filter.owners, now: NOW, cursor: undefined, isBackward: false, limit: PAGE_LIMIT };
}

const lastPageCursor: NameCursor = {
  name: 'name99900.rest',
  expiresAt: new Date(NOW.getTime() + 99_900 * 300_000),
};

test.each<[string, Partial<NameQuery>]>([
  ['', {}],
  ['', { cursor: lastPageCursor }],
  ['', { cursor: lastPageCursor, isBackward: true }],
  ['sort:-expiry', {}],
  ['sort:name', { cursor: lastPageCursor }],
  ['tag:brand', {}],
  ['owner:U7', {}],
  ['expiring<60 tag:brand', {}],
])('a page uses an index: “%s” %j', async (text, overrides) => {
  const plan = JSON.stringify(
    await database.run(Prisma.sql`EXPLAIN ${selectPage({ ...createQuery(text), ...overrides })}`),
  );
  expect(plan).toContain('Index');
  expect(plan).not.toContain('Seq Scan on domains');
});

test('the first page of a zone is one index scan, which reads only the rows of the page', async () => {
  const plan = JSON.stringify(
    await database.run(Prisma.sql`EXPLAIN ANALYZE ${selectPage(createQuery('zone:rest'))}`),
  );
  const scanMatch =
    /Index Only Scan using domains_expires_at_name\S* on domains[^"]*actual[^"]*rows=([\d.]+)/.exec(plan);
  expect(Number(scanMatch?.[1]), 'the number of rows that the scan read').toBe(PAGE_LIMIT);
  expect(plan).not.toContain('Seq Scan');
});

test('names without an expiry date aren’t searched if names with one fill the page', async () => {
  const query = createQuery('zone:rest sort:-expiry');
  const plan = JSON.stringify(await database.run(Prisma.sql`EXPLAIN ANALYZE ${selectPage(query)}`));
  expect(plan).toContain('domains_undated');
  expect(plan).toMatch(/domains_undated on domains[^"]*never executed/);
});

test('names are counted by zone without sorting them', async () => {
  const plan = JSON.stringify(await database.run(Prisma.sql`EXPLAIN ${selectZoneCounts(createQuery(''))}`));
  expect(plan).toContain('HashAggregate');
  expect(plan).toContain('Index Only Scan');
  expect(plan, 'deleted names aren’t counted with their index').toContain('domains_deleted_at_idx');
});
