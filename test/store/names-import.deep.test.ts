import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeFile } from '../../src/csv.ts';
import { readImport } from '../../src/names/details-import.ts';
import type { PortfolioStore } from '../../src/names/ports.ts';
import { changesFile } from '../../src/slack/names/fact-changes.ts';
import { importPlan } from '../../src/slack/names/names-import.view.ts';
import { type Database, openDatabase, Prisma } from '../../src/store/database.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/*
 * An import of as many names as the watch list takes at a time: everybody else has their turns meanwhile.
 */

const NOW = new Date('2027-06-15T09:00:00Z');
const NAMES = 20_000;
let testDatabase: TestDatabase;
let database: Database;
let store: PortfolioStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url });
  store = createPortfolioStore(database, 'T0TEAM');
  await database.run(Prisma.sql`
    INSERT INTO domains (name, added_by, added_at, next_dns_at, next_registry_at, tags, team_id)
    SELECT 'name' || n || '.rest', 'U0ALICE', ${NOW}, ${NOW}, ${NOW}, ARRAY['old'], 'T0TEAM' FROM generate_series(1, ${NAMES}) n`);
}, 60_000);
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** The times for which work let nothing else run, the longest first: of a busy machine only what this process computed counts. */
async function turnsOf<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly turns: readonly number[] }> {
  const turns: number[] = [];
  let [at, cpu] = [performance.now(), process.cpuUsage()];
  const beat = setInterval(() => {
    const used = process.cpuUsage(cpu);
    turns.push(Math.round(Math.min(performance.now() - at, (used.user + used.system) / 1_000)));
    [at, cpu] = [performance.now(), process.cpuUsage()];
  }, 1);
  try {
    return { result: await work(), turns: turns.sort((a, b) => b - a) };
  } finally {
    clearInterval(beat);
  }
}

const NOTE = 'Ask legal before anything is changed here, and the agency in any case. '.repeat(2);

test(`${NAMES} names are read, compared, handed over and changed, without holding anybody up`, async () => {
  const rows = Array.from(
    { length: NAMES },
    (_, n) => `name${n + 1}.rest,U0ADA,"brand client-acme",C0BRAND,${NOTE}`,
  );
  const bytes = Buffer.from(['name,owner,tags,channel,note', ...rows].join('\n'));
  const longest: Record<string, readonly number[]> = {};
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const { result, turns } = await turnsOf(work);
    longest[name] = turns.slice(0, 3);
    return result;
  };
  const seen: number[] = [];
  const progress = (done: number) => void seen.push(done);

  const read = await step('read', async () => {
    const decoded = decodeFile(bytes);
    if (!decoded.ok) throw new Error(JSON.stringify(decoded.issue));
    return readImport(decoded.text);
  });
  if (!read.ok) throw new Error(JSON.stringify(read.issues.slice(0, 3)));
  const plan = await step('compared', () => store.planImport(read.rows, 'U0ALICE', NOW, progress));
  expect(plan.changed).toHaveLength(NAMES);
  expect(seen.at(-1)).toBe(NAMES);
  expect(seen.length).toBeGreaterThan(20);
  const file = await step('file', () => changesFile(plan.changed));
  expect(file.text.split('\r\n')).toHaveLength(NAMES + 2);
  await step('shown', async () => importPlan(plan));
  const applied = await step('changed', () =>
    store.applyImport(plan.hash, 'U0ALICE', NOW, () => false, progress),
  );
  expect(applied).toMatchObject({ deciding: [] });
  expect(await store.find('name20000.rest')).toMatchObject({
    owner: 'U0ADA',
    tags: ['brand', 'client-acme'],
  });
  // The third longest: a collection of garbage and another process on the core may each make one longer.
  for (const [name, turns] of Object.entries(longest)) {
    expect(turns[2] ?? 0, `${name}: ${JSON.stringify(longest)}`).toBeLessThan(50);
    expect(turns[0] ?? 0, `${name}: ${JSON.stringify(longest)}`).toBeLessThan(250);
  }
}, 60_000);
