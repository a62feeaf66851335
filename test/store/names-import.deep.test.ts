import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { decodeFile } from '../../src/lib/csv.ts';
import { parseDetailsImport } from '../../src/names/details-import.ts';
import type { PortfolioStore } from '../../src/names/ports.ts';
import { createChangesFile } from '../../src/slack/names/name-changes.ts';
import { importPlanMessage } from '../../src/slack/names/names-import.view.ts';
import { type Database, Prisma } from '../../src/store/database.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { useTestDatabase } from '../support/database.ts';
import { confirmProposal, proposalsOf } from '../support/proposals.ts';
import { applyPlan } from '../support/unprotected.ts';

/* Imports as many names as the watch list accepts at once. */

const NOW = new Date('2027-06-15T09:00:00Z');
const NAMES = 20_000;
let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
let store: PortfolioStore;

beforeAll(async () => {
  store = createPortfolioStore(database, 'T0TEAM');
  await database.run(Prisma.sql`
    INSERT INTO domains (name, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, tags, team_id)
    SELECT 'name' || n || '.rest', 'U0ALICE', ${NOW}, ${NOW}, ${NOW}, ARRAY['old'], 'T0TEAM' FROM generate_series(1, ${NAMES}) n`);
}, 60_000);

/** Measures work and how long each of its turns blocked the event loop, longest first; in milliseconds. */
async function measureTurns<T>(work: () => Promise<T>) {
  const turns: number[] = [];
  const startedAt = performance.now();
  let at = startedAt;
  const endTurn = () => {
    turns.push(Math.round(performance.now() - at));
    at = performance.now();
  };
  const beat = setInterval(endTurn, 1);
  try {
    const result = await work();
    endTurn();
    return { result, whole: Math.round(performance.now() - startedAt), turns: turns.sort((a, b) => b - a) };
  } finally {
    clearInterval(beat);
  }
}

/** Measures steps. None may block the event loop for long. */
function createSteps() {
  const steps: { readonly name: string; readonly whole: number; readonly turns: readonly number[] }[] = [];
  return {
    async step<T>(name: string, work: () => Promise<T>): Promise<T> {
      const { result, whole, turns } = await measureTurns(work);
      steps.push({ name, whole, turns });
      return result;
    },
    expectTurns() {
      // A garbage collection may prolong a turn, and another process on the core all of them.
      for (const { name, whole, turns } of steps) {
        const long = turns.filter((turn) => turn > Math.max(50, whole / 12));
        const blockedMs = long.reduce((sum, turn) => sum + turn, 0);
        expect(blockedMs, `ms of ${whole} in turns of ${long} while names were ${name}`).toBeLessThanOrEqual(
          whole / 2,
        );
      }
    },
  };
}

const NOTE = 'Ask U0NOTED before anything is changed here, and the agency as well. '.repeat(2);

test(`importing ${NAMES} names doesn’t block other work`, async () => {
  const rows = Array.from(
    { length: NAMES },
    (_, n) => `name${n + 1}.rest,U0ADA,"brand client-acme",C0BRAND,"${NOTE}"`,
  );
  const bytes = Buffer.from(['name,owner,tags,channel,note', ...rows].join('\n'));
  const { step, expectTurns } = createSteps();
  const seen: number[] = [];
  const progress = (done: number) => void seen.push(done);

  const read = await step('read', async () => {
    const decoded = decodeFile(bytes);
    if (!decoded.ok) throw new Error(JSON.stringify(decoded.issue));
    return parseDetailsImport(decoded.text);
  });
  if (!read.ok) throw new Error(JSON.stringify(read.issues.slice(0, 3)));
  const plan = await step('compared', () => store.planImport(read.rows, 'U0ALICE', NOW, progress));
  expect(plan.changedNames).toHaveLength(NAMES);
  expect(seen.at(-1)).toBe(NAMES);
  expect(seen.length).toBeGreaterThan(20);
  const file = await step('exported', () => createChangesFile(plan.changedNames));
  expect(file.text.split('\r\n')).toHaveLength(NAMES + 2);
  await step('shown', async () => importPlanMessage(plan));
  const applied = await step('changed', () => applyPlan(store, plan.hash, 'U0ALICE', NOW, progress));
  expect(applied).toBe('written');
  expect(await store.find('name20000.rest')).toMatchObject({
    owner: 'U0ADA',
    tags: ['brand', 'client-acme'],
  });
  expectTurns();
}, 60_000);

/** Ids of the pending changes that name a person. */
async function listProposalsNaming(person: string): Promise<readonly string[]> {
  const rows = await database.run(
    Prisma.sql`SELECT id FROM proposals WHERE state = 'proposed' AND strpos(payload::text, ${person}) > 0`,
  );
  return z
    .array(z.object({ id: z.string() }))
    .parse(rows)
    .map(({ id }) => id);
}

test(`proposing and confirming ${NAMES} changes doesn’t block other work`, async () => {
  const proposals = proposalsOf(database, 'T0TEAM');
  const before = await store.find('name1.rest');
  if (before?.note === undefined) throw new Error('nothing was imported');
  const names = Array.from({ length: NAMES }, (_, n) => {
    return { name: `name${n + 1}.rest`, before, after: { ...before, tags: ['brand'] } };
  });
  const { step, expectTurns } = createSteps();
  const propose = (some: typeof names, proposer = 'U0ALICE') =>
    proposals.propose({ kind: 'facts', payload: { names: some }, proposer, proposedAt: NOW });
  // The first use of Prisma in a process compiles its queries.
  await proposals.withdraw(await propose(names.slice(0, 1), 'U0BOB'), 'U0BOB', NOW);
  const { id } = await step('proposed', () => propose(names));
  expect(await listProposalsNaming('U0ADA'), 'changes that name the person').toEqual([id]);
  expect(await listProposalsNaming('U0NOTED')).toEqual([id]);
  expect(await listProposalsNaming('U0OTHER')).toEqual([]);
  const same = await step('proposed again', () => propose(names));
  expect(same.id).toBe(id);
  const found = await step('found', () => proposals.find(['facts'], id, NOW));
  expect(found?.payload.names).toEqual(names);
  const confirmed = await step('confirmed', () => confirmProposal(proposals, id, 'U0BOB', NOW));
  expect(confirmed.kind).toBe('applied');
  expect(await store.find('name20000.rest')).toMatchObject({ tags: ['brand'] });
  expectTurns();
}, 60_000);
