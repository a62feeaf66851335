import { beforeEach, expect, test } from 'vitest';
import type { ProposalStore } from '../../src/approvals/proposals/ports.ts';
import type { Database } from '../../src/store/database.ts';
import { createProposalStore, purgeProposals } from '../../src/store/proposals.ts';
import { useTestDatabase } from '../support/database.ts';
import { confirmProposal } from '../support/proposals.ts';

let database: Database;
useTestDatabase((opened) => {
  database = opened;
});

const NOON = new Date('2026-11-23T12:00:00Z');
const EXPIRY = new Date('2026-11-26T12:00:00Z');
const WEEK_MS = 7 * 86_400_000;
const BEFORE_EXPIRY = new Date(EXPIRY.getTime() - 1);

/** The current value of `approval_ttl`. */
let currentTtl: string;
beforeEach(async () => {
  await database.prisma.proposal.deleteMany();
  await database.prisma.setting.deleteMany();
  currentTtl = '72h';
});

function createStore(teamId = 'T1'): ProposalStore {
  const formatSavedSettings = () => ({ approval_ttl: currentTtl });
  return createProposalStore(database, { teamId, formatSavedSettings, canSign: false });
}
const store = () => createStore();
const ttlChange = (after: string) => [{ name: 'approval_ttl', before: '72h', after }];
const propose = (after = '48h', proposer = 'U0ADA') =>
  store().propose({
    ...{ kind: 'settings', payload: ttlChange(after) },
    ...{ proposer, proposedAt: NOON, expiresAt: EXPIRY },
  });
const listOpen = (at = NOON) => store().list(['settings'], at);
const countSavedSettings = () => database.prisma.setting.count();

test('a proposal stays open until another person confirms it, and is applied once', async () => {
  const proposal = await propose();
  expect(proposal).toMatchObject({ payload: ttlChange('48h'), proposer: 'U0ADA', state: 'proposed' });
  expect(await listOpen()).toEqual([proposal]);
  const outcomes = await Promise.all(
    ['U0BOB', 'U0CAROL', 'U0BOB'].map((by) => confirmProposal(store(), proposal.id, by, BEFORE_EXPIRY)),
  );
  expect(outcomes.filter(({ kind }) => kind === 'applied')).toHaveLength(1);
  expect(await database.prisma.event.count({ where: { kind: 'setting_changed' } })).toBe(1);
  expect(await listOpen()).toEqual([]);
  expect(await store().load(proposal.id, NOON)).toMatchObject({ state: 'confirmed' });
});

test('the proposer can’t confirm a proposal', async () => {
  const { id } = await propose();
  expect(await confirmProposal(store(), id, 'U0ADA', NOON)).toMatchObject({ code: 'own' });
  expect(await countSavedSettings()).toBe(0);
});

test('an expired proposal can’t be confirmed, and is purged a week later', async () => {
  const { id } = await propose();
  expect(await store().find(['settings'], id, EXPIRY)).toBeUndefined();
  expect(await confirmProposal(store(), id, 'U0BOB', EXPIRY)).toMatchObject({ code: 'gone' });
  expect(await store().load(id, EXPIRY)).toMatchObject({ state: 'expired' });
  expect(await purgeProposals(database, new Date(BEFORE_EXPIRY.getTime() + WEEK_MS))).toBe(0);
  expect(await purgeProposals(database, new Date(EXPIRY.getTime() + WEEK_MS))).toBe(1);
});

test('an outdated proposal is superseded, and its remaining changes are proposed again', async () => {
  const proposal = await propose();
  currentTtl = '24h';
  const newProposal = {
    state: 'proposed',
    payload: [{ ...ttlChange('48h')[0], before: '24h' }],
    proposer: 'U0ADA',
  };
  expect(await confirmProposal(store(), proposal.id, 'U0BOB', NOON)).toMatchObject({
    kind: 'changed',
    current: newProposal,
  });
  expect(await store().load(proposal.id, NOON)).toMatchObject({ state: 'superseded' });
  const [remaining] = await listOpen();
  expect(remaining).toMatchObject(newProposal);
  expect(remaining?.hash).not.toBe(proposal.hash);
  currentTtl = '48h';
  expect(await confirmProposal(store(), remaining?.id ?? '', 'U0BOB', NOON)).toEqual({
    kind: 'changed',
    current: undefined,
  });
  expect(await countSavedSettings()).toBe(0);
});

test('a withdrawn proposal can’t be confirmed or withdrawn again', async () => {
  const proposal = await propose();
  expect(await store().withdraw(proposal, 'U0BOB', NOON)).toBe(true);
  expect(await store().withdraw(proposal, 'U0BOB', NOON)).toBe(false);
  expect(await confirmProposal(store(), proposal.id, 'U0BOB', NOON)).toMatchObject({ code: 'gone' });
});

test('the same change is proposed once, separately from other changes, people and teams', async () => {
  const first = await propose();
  expect(await propose()).toEqual(first);
  const other = await propose('24h');
  await propose('48h', 'U0EVE');
  expect(await listOpen()).toHaveLength(3);
  expect(await store().find(['facts'], other.id, NOON)).toBeUndefined();
  expect(await createStore('T2').load(other.id, NOON)).toBeUndefined();
  expect(await createStore('T2').withdraw(other, 'U0BOB', NOON)).toBe(false);
});

test('any change of a proposal’s row changes its hash', async () => {
  const { id, hash } = await propose();
  const loadHash = async () => (await store().load(id, NOON))?.hash;
  expect(await loadHash()).toBe(hash);
  for (const [column, value] of [
    ['payload', JSON.stringify(ttlChange('1h'))],
    ['proposed_by', 'U0EVE'],
    ['kind', 'prices'],
  ] as const) {
    await database.prisma.$transaction(async (tx) => {
      const cast = column === 'payload' ? '::jsonb' : '';
      await tx.$executeRawUnsafe(`UPDATE proposals SET ${column} = $1${cast} WHERE id = $2`, value, id);
    });
    // A row with a wrong kind can't be parsed.
    const now = await loadHash().catch(() => 'unreadable');
    expect(now, column).not.toBe(hash);
  }
});

test('a subject has only one open proposal, the newest', async () => {
  const details = { owner: undefined, tags: [], channel: undefined, note: undefined };
  const proposeLapse = (reason: string, proposer: string) => {
    const decision = { kind: 'lapse_confirmed', reason, askedBy: proposer } as const;
    const names = [{ name: 'cafe.rest', before: details, after: details, decision }];
    const proposed = { kind: 'lapse', subject: 'cafe.rest', payload: { names } } as const;
    return store().propose({ ...proposed, proposer, proposedAt: NOON });
  };
  const first = await proposeLapse('old', 'U0ADA');
  const second = await proposeLapse('sold', 'U0BOB');
  expect(await store().find(['lapse'], 'cafe.rest', NOON)).toEqual(second);
  expect(await store().load(first.id, NOON)).toMatchObject({ state: 'withdrawn', endedBy: 'U0BOB' });
});
