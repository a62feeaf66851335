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
import { confirmProposal, newProposalStore } from '../support/proposals.ts';
import { applyImportPlan } from '../support/unprotected.ts';

/* Imports as many names as the watch list accepts at once. */

const NOW = new Date('2027-06-15T09:00:00Z');
const NAME_COUNT = 20_000;
let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
let store: PortfolioStore;

beforeAll(async () => {
  store = createPortfolioStore(database, 'T0TEAM');
  await database.run(Prisma.sql`
    INSERT INTO domains (name, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, tags, team_id)
    SELECT 'name' || n || '.rest', 'U0ALICE', ${NOW}, ${NOW}, ${NOW}, ARRAY['old'], 'T0TEAM' FROM generate_series(1, ${NAME_COUNT}) n`);
}, 60_000);

/** Measures the time of work and of each turn of the event loop, longest first, in milliseconds. */
async function measureTurns<T>(work: () => Promise<T>) {
  const turns: number[] = [];
  const startedAt = performance.now();
  let turnStartedAt = startedAt;
  const endTurn = () => {
    turns.push(Math.round(performance.now() - turnStartedAt));
    turnStartedAt = performance.now();
  };
  const timer = setInterval(endTurn, 1);
  try {
    const result = await work();
    endTurn();
    return { result, totalMs: Math.round(performance.now() - startedAt), turns: turns.sort((a, b) => b - a) };
  } finally {
    clearInterval(timer);
  }
}

/** Measures steps, and expects that none blocks the event loop for long. */
function createStepTimer() {
  const steps: { readonly name: string; readonly totalMs: number; readonly turns: readonly number[] }[] = [];
  return {
    async measureStep<T>(name: string, work: () => Promise<T>): Promise<T> {
      const { result, totalMs, turns } = await measureTurns(work);
      steps.push({ name, totalMs, turns });
      return result;
    },
    expectShortTurns() {
      // Garbage collection can prolong one turn, and another process on the same core all turns.
      for (const { name, totalMs, turns } of steps) {
        const longTurns = turns.filter((turn) => turn > Math.max(50, totalMs / 12));
        const blockedMs = longTurns.reduce((sum, turn) => sum + turn, 0);
        const message = `ms of ${totalMs} ms were blocked, in turns of ${longTurns} ms, at the step “${name}”`;
        expect(blockedMs, message).toBeLessThanOrEqual(totalMs / 2);
      }
    },
  };
}

const NOTE = 'Ask U0NOTED before anything is changed here, and the agency as well. '.repeat(2);

test(`importing ${NAME_COUNT} names doesn’t block other work`, async () => {
  const rows = Array.from(
    { length: NAME_COUNT },
    (_, n) => `name${n + 1}.rest,U0ADA,"brand client-acme",C0BRAND,"${NOTE}"`,
  );
  const bytes = Buffer.from(['name,owner,tags,channel,note', ...rows].join('\n'));
  const { measureStep, expectShortTurns } = createStepTimer();
  const reportedCounts: number[] = [];
  const reportProgress = (done: number) => void reportedCounts.push(done);

  const parsed = await measureStep('parse', async () => {
    const decoded = decodeFile(bytes);
    if (!decoded.ok) throw new Error(JSON.stringify(decoded.issue));
    return parseDetailsImport(decoded.text);
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues.slice(0, 3)));
  const plan = await measureStep('plan', () => store.planImport(parsed.rows, 'U0ALICE', NOW, reportProgress));
  expect(plan.changedNames).toHaveLength(NAME_COUNT);
  expect(reportedCounts.at(-1)).toBe(NAME_COUNT);
  expect(reportedCounts.length).toBeGreaterThan(20);
  const file = await measureStep('export', () => createChangesFile(plan.changedNames));
  expect(file.text.split('\r\n')).toHaveLength(NAME_COUNT + 2);
  await measureStep('create the message', async () => importPlanMessage(plan));
  const applied = await measureStep('apply', () =>
    applyImportPlan(store, plan.hash, 'U0ALICE', NOW, reportProgress),
  );
  expect(applied).toBe('written');
  expect(await store.find('name20000.rest')).toMatchObject({
    owner: 'U0ADA',
    tags: ['brand', 'client-acme'],
  });
  expectShortTurns();
}, 60_000);

/** Lists the IDs of pending proposals that name a person. */
async function listProposalsNaming(person: string): Promise<readonly string[]> {
  const rows = await database.run(
    Prisma.sql`SELECT id FROM proposals WHERE state = 'proposed' AND strpos(payload::text, ${person}) > 0`,
  );
  return z
    .array(z.object({ id: z.string() }))
    .parse(rows)
    .map(({ id }) => id);
}

test(`proposing and confirming ${NAME_COUNT} changes doesn’t block other work`, async () => {
  const proposals = newProposalStore(database, 'T0TEAM');
  const before = await store.find('name1.rest');
  if (before?.note === undefined) throw new Error('the import test imported nothing');
  const names = Array.from({ length: NAME_COUNT }, (_, n) => {
    return { name: `name${n + 1}.rest`, before, after: { ...before, tags: ['brand'] } };
  });
  const { measureStep, expectShortTurns } = createStepTimer();
  const propose = (proposedNames: typeof names, proposer = 'U0ALICE') =>
    proposals.propose({ kind: 'facts', payload: { names: proposedNames }, proposer, proposedAt: NOW });
  // This isn't measured, because Prisma compiles its queries at their first use in a process.
  await proposals.withdraw(await propose(names.slice(0, 1), 'U0BOB'), 'U0BOB', NOW);
  const { id } = await measureStep('propose', () => propose(names));
  expect(await listProposalsNaming('U0ADA'), 'proposals that name the person').toEqual([id]);
  expect(await listProposalsNaming('U0NOTED')).toEqual([id]);
  expect(await listProposalsNaming('U0OTHER')).toEqual([]);
  const same = await measureStep('propose again', () => propose(names));
  expect(same.id).toBe(id);
  const found = await measureStep('find', () => proposals.find(['facts'], id, NOW));
  expect(found?.payload.names).toEqual(names);
  const confirmed = await measureStep('confirm', () => confirmProposal(proposals, id, 'U0BOB', NOW));
  expect(confirmed.kind).toBe('applied');
  expect(await store.find('name20000.rest')).toMatchObject({ tags: ['brand'] });
  expectShortTurns();
}, 60_000);
