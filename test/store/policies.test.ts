import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { getDraftBase } from '../../src/policy/drafts.ts';
import type { PolicyRule } from '../../src/policy/policy.ts';
import type { PolicyDraft, PolicyStore } from '../../src/policy/ports.ts';
import type { Database } from '../../src/store/database.ts';
import { createPolicyStore } from '../../src/store/policies.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { useTestDatabase } from '../support/database.ts';
import { deleteTeamEvents, readTeamEvents } from '../support/log.ts';
import { confirmPolicy } from '../support/proposals.ts';

let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
let store: PolicyStore;
beforeAll(async () => {
  store = createPolicyStore(database, 'T1', true);
});
beforeEach(async () => {
  await database.prisma.policyVersion.deleteMany();
  await database.prisma.policyDraft.deleteMany();
  await database.prisma.proposal.deleteMany();
  await deleteTeamEvents(database);
});

const NOW = new Date('2026-11-22T08:00:00Z');
const LATER = new Date('2026-11-22T09:00:00Z');

const largeRenewalsRule = newPolicyRule({
  name: 'large renewals',
  tasks: ['renew'],
  names: ['*.rest', 'tag:brand'],
  by: ['S0MARKETING'],
  over: { currency: 'JPY', minor: 900_719_925_474 },
  approvers: ['S0MANAGERS', 'U0CFO'],
  needed: 2,
  ttlMs: 172_800_000,
  remindAfterMs: 3_600_000,
  escalateAfterMs: 7_200_000,
  escalateTo: ['U0BOSS'],
  breakGlass: true,
});
const redirectsRule = newPolicyRule({
  name: 'redirects',
  tasks: ['redirect'],
  decision: 'free',
  approvers: [],
});

async function saveDraft(rules: readonly PolicyRule[], at = NOW): Promise<PolicyDraft> {
  const { revision } = getDraftBase(await store.loadCurrentPolicy(), await store.findDraft());
  const saved = await store.saveDraft(rules, revision, 'U0ADA', at);
  if (saved === undefined) throw new Error('the draft was not saved');
  return saved;
}

const confirm = (revision: string, by: string) => confirmPolicy(database, 'T1', revision, by, LATER);

async function publishAndConfirm(rules: readonly PolicyRule[]): Promise<void> {
  const { revision } = await saveDraft(rules);
  await store.publish(revision, 'U0ADA', NOW);
  await confirm(revision, 'U0BOB');
}

async function loadLog(teamId = 'T1') {
  return (await readTeamEvents(database, teamId)).flatMap((event) => ('changes' in event ? event : []));
}

test('the policy starts as version 0, without rules or a draft', async () => {
  expect(await store.loadCurrentPolicy()).toEqual({ version: 0, rules: [] });
  expect(await store.findPublished()).toBeUndefined();
  expect(await store.findDraft()).toBeUndefined();
});

test('a draft is read back with every field of its rules, in order', async () => {
  const saved = await saveDraft([largeRenewalsRule, redirectsRule]);
  expect(await store.findDraft()).toEqual({
    revision: saved.revision,
    rules: [largeRenewalsRule, redirectsRule],
    changedBy: 'U0ADA',
    changedAt: NOW,
    proposal: undefined,
  });
  expect(await store.loadCurrentPolicy()).toEqual({ version: 0, rules: [] });
});

test('only one of two concurrent changes of a draft is saved', async () => {
  const { revision } = await saveDraft([largeRenewalsRule]);
  const both = await Promise.all([
    store.saveDraft([largeRenewalsRule, redirectsRule], revision, 'U0ADA', NOW),
    store.saveDraft([redirectsRule], revision, 'U0BOB', NOW),
  ]);
  expect(both.filter((saved) => saved === undefined)).toHaveLength(1);
  expect(await store.saveDraft([], 'version 0', 'U0BOB', NOW)).toBeUndefined();
  expect((await loadLog()).map(({ kind }) => kind)).toEqual(['policy_draft_changed', 'policy_draft_changed']);
});

test('a change based on an older version can’t overwrite a newer one', async () => {
  await publishAndConfirm([largeRenewalsRule]);
  expect(await store.saveDraft([redirectsRule], 'version 0', 'U0BOB', NOW)).toBeUndefined();
  expect(await store.saveDraft([redirectsRule], 'version 1', 'U0BOB', NOW)).toMatchObject({
    rules: [redirectsRule],
  });
});

describe('publishing', () => {
  test('takes effect as the next version when another admin confirms it', async () => {
    const { revision } = await saveDraft([largeRenewalsRule]);
    expect(await store.publish(revision, 'U0ADA', NOW)).toMatchObject({ kind: 'published' });
    expect((await store.loadCurrentPolicy()).version).toBe(0);
    expect(await confirm(revision, 'U0ADA')).toEqual({ kind: 'refused', code: 'own' });
    expect((await store.loadCurrentPolicy()).version).toBe(0);
    expect(await confirm(revision, 'U0BOB')).toMatchObject({
      kind: 'applied',
      proposal: { payload: { version: 1, before: [], rules: [largeRenewalsRule] } },
    });
    expect(await store.findPublished()).toEqual({
      version: 1,
      rules: [largeRenewalsRule],
      publishedBy: 'U0ADA',
      confirmedBy: 'U0BOB',
      confirmedAt: LATER,
    });
    expect(await store.loadCurrentPolicy()).toEqual({ version: 1, rules: [largeRenewalsRule] });
    expect(await store.findDraft()).toBeUndefined();
  });

  test('keeps every version, and the newest is in force', async () => {
    await publishAndConfirm([largeRenewalsRule]);
    await publishAndConfirm([largeRenewalsRule, redirectsRule]);
    expect(await store.loadCurrentPolicy()).toEqual({
      version: 2,
      rules: [largeRenewalsRule, redirectsRule],
    });
    expect(await database.prisma.policyVersion.count()).toBe(2);
  });

  test('is withdrawn by any change of the draft', async () => {
    const { revision } = await saveDraft([largeRenewalsRule]);
    await store.publish(revision, 'U0ADA', NOW);
    const changed = await saveDraft([largeRenewalsRule, redirectsRule]);
    expect(await confirm(revision, 'U0BOB')).toMatchObject({ code: 'gone' });
    expect(await confirm(changed.revision, 'U0BOB')).toMatchObject({ code: 'gone' });
    expect(await store.publish(revision, 'U0ADA', LATER)).toEqual({ kind: 'stale' });
    expect((await store.loadCurrentPolicy()).version).toBe(0);
  });

  test('happens once for concurrent confirmations', async () => {
    const { revision } = await saveDraft([largeRenewalsRule]);
    await store.publish(revision, 'U0ADA', NOW);
    const all = await Promise.all(['U0BOB', 'U0CAROL', 'U0DAVE'].map((by) => confirm(revision, by)));
    expect(all.filter(({ kind }) => kind === 'applied')).toHaveLength(1);
    expect((await store.loadCurrentPolicy()).version).toBe(1);
  });

  test('is refused if it changes nothing or is already published', async () => {
    await publishAndConfirm([largeRenewalsRule]);
    const same = await saveDraft([largeRenewalsRule]);
    expect(await store.publish(same.revision, 'U0ADA', NOW)).toEqual({ kind: 'no_difference' });
    const other = await saveDraft([redirectsRule]);
    await store.publish(other.revision, 'U0ADA', NOW);
    expect(await store.publish(other.revision, 'U0BOB', NOW)).toEqual({
      kind: 'already_published',
      proposer: 'U0ADA',
    });
  });
});

test('a changed draft isn’t discarded by a click on its former revision', async () => {
  const { revision } = await saveDraft([largeRenewalsRule]);
  const changed = await saveDraft([redirectsRule]);
  expect(await store.discardDraft(revision, 'U0BOB', NOW)).toBe(false);
  expect(await store.discardDraft(changed.revision, 'U0BOB', NOW)).toBe(true);
  expect(await store.findDraft()).toBeUndefined();
});

test('the audit log has the author and changed rules of each event, and the currency of amounts', async () => {
  await publishAndConfirm([largeRenewalsRule]);
  await saveDraft([redirectsRule], LATER);
  const { revision = '' } = (await store.findDraft()) ?? {};
  await store.discardDraft(revision, 'U0BOB', LATER);
  const lines = await loadLog();
  expect(lines.map(({ kind, actor, version }) => [kind, actor, version])).toEqual([
    ['policy_draft_changed', 'U0ADA', undefined],
    ['policy_published', 'U0ADA', undefined],
    ['policy_confirmed', 'U0BOB', 1],
    ['policy_draft_changed', 'U0ADA', undefined],
    ['policy_draft_discarded', 'U0BOB', undefined],
  ]);
  expect(lines[2]?.changes).toMatchObject([{ kind: 'added', rule: 'large renewals', to: 1 }]);
  expect(lines[2]?.changes[0]?.fields).toContainEqual({
    field: 'over',
    before: [],
    after: ['900719925474 JPY'],
  });
  expect(lines[4]?.changes.map(({ kind, rule: name }) => [kind, name])).toEqual([
    ['removed', 'large renewals'],
    ['added', 'redirects'],
  ]);
});

test('a team sees only its own policy', async () => {
  await publishAndConfirm([largeRenewalsRule]);
  const otherTeamStore = createPolicyStore(database, 'T2', true);
  expect(await otherTeamStore.loadCurrentPolicy()).toEqual({ version: 0, rules: [] });
  expect(await loadLog('T2')).toEqual([]);
});
