import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ProposalOf } from '../approvals/proposals/proposal.ts';
import type { TeamEventOf } from '../ledger/events.ts';
import { toLoggedChanges } from '../policy/change-log.ts';
import { getDraftBase } from '../policy/drafts.ts';
import type { Policy, PolicyRule } from '../policy/policy.ts';
import type { PolicyDraft, PolicyStore, PublishedPolicy } from '../policy/ports.ts';
import { createSharedRead } from './batch.ts';
import { acquireAdvisoryLock, createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';
import { policyRowSchema, storedRulesSchema, toStorableRules } from './policy-rows.ts';
import { addProposal, readProposal, withdrawOpenProposals } from './proposal-rows.ts';

const publishedRowSchema = policyRowSchema.extend({
  publishedBy: z.string(),
  confirmedBy: z.string(),
  confirmedAt: z.date(),
});
const draftRowSchema = z.object({
  revision: z.string(),
  rules: storedRulesSchema,
  changedBy: z.string(),
  changedAt: z.date(),
});
/** The policy before the first version is published. */
const EMPTY_POLICY: Policy = { version: 0, rules: [] };

type PolicyTables = Pick<Transaction, 'policyVersion' | 'policyDraft' | 'proposal'>;

async function readPublishedPolicy(tx: PolicyTables, teamId: string): Promise<PublishedPolicy | undefined> {
  const row = await tx.policyVersion.findFirst({ where: { teamId }, orderBy: { version: 'desc' } });
  return row === null ? undefined : publishedRowSchema.parse(row);
}

async function readCurrentPolicy(tx: PolicyTables, teamId: string): Promise<Policy> {
  return (await readPublishedPolicy(tx, teamId)) ?? EMPTY_POLICY;
}

async function readDraft(tx: PolicyTables, teamId: string): Promise<PolicyDraft | undefined> {
  const row = await tx.policyDraft.findUnique({ where: { teamId } });
  if (row === null) return undefined;
  const draft = draftRowSchema.parse(row);
  const where = { teamId, id: draft.revision, kind: 'policy', state: 'proposed' };
  const proposalRow = await tx.proposal.findFirst({ where });
  const proposal = proposalRow === null ? undefined : await readProposal(proposalRow, new Date(0));
  if (proposal?.kind !== 'policy') return { ...draft, proposal: undefined };
  // If confirmed, the proposal's rules take effect, because people were shown those.
  return { ...draft, rules: proposal.payload.rules, proposal };
}

/** Changes run one at a time, so that comparisons with the current policy are still true at the commit. */
const formatLockName = (teamId: string) => `policy ${teamId}`;

function logPolicyEvent(
  tx: Transaction,
  teamId: string,
  event: Omit<TeamEventOf<'policy_confirmed'>, 'subject'>,
) {
  return writeEvents(tx, [{ ...event, subject: { kind: 'policy', id: 'policy' } }], teamId);
}

/** Whether a rule requires signatures although passkeys aren't set up. */
function requiresUnavailableSignatures(rules: readonly PolicyRule[], canSign: boolean): boolean {
  return !canSign && rules.some(({ signed }) => signed);
}

/** Puts a published draft into force, unless the draft or the policy has changed since. */
export async function applyPolicy(
  tx: Transaction,
  teamId: string,
  canSign: boolean,
  { id, payload, proposer, proposedAt }: ProposalOf<'policy'>,
  { confirmedBy, at }: { readonly confirmedBy: string; readonly at: Date },
): Promise<'applied' | 'changed' | 'cannot_sign'> {
  await acquireAdvisoryLock(tx, formatLockName(teamId));
  const { version, before, rules } = payload;
  const [draft, current] = [await readDraft(tx, teamId), await readCurrentPolicy(tx, teamId)];
  if (draft?.revision !== id || current.version + 1 !== version) return 'changed';
  if (requiresUnavailableSignatures(rules, canSign)) return 'cannot_sign';
  const publication = { publishedBy: proposer, publishedAt: proposedAt, confirmedBy, confirmedAt: at };
  await tx.policyVersion.create({ data: { teamId, version, rules: toStorableRules(rules), ...publication } });
  await tx.policyDraft.delete({ where: { teamId } });
  const changes = toLoggedChanges(before, rules);
  await logPolicyEvent(tx, teamId, { kind: 'policy_confirmed', version, changes, actor: confirmedBy, at });
  return 'applied';
}

/** @param canSign whether passkeys are set up, so that rules may require signatures */
export function createPolicyStore({ prisma }: Database, teamId: string, canSign: boolean): PolicyStore {
  const runExclusively = createExclusiveRunner(prisma, formatLockName(teamId));

  return wrapStore('policies', {
    loadCurrentPolicy: createSharedRead(async () => {
      const { version, rules } = await readCurrentPolicy(prisma, teamId);
      return { version, rules };
    }),
    findPublished: () => readPublishedPolicy(prisma, teamId),
    findDraft: () => readDraft(prisma, teamId),

    saveDraft: (rules, expectedRevision, by, at) =>
      runExclusively(async (tx) => {
        const base = getDraftBase(await readCurrentPolicy(tx, teamId), await readDraft(tx, teamId));
        if (base.revision !== expectedRevision) return undefined;
        const changes = toLoggedChanges(base.rules, rules);
        const draftFields = { revision: randomUUID(), changedBy: by, changedAt: at };
        const columns = { ...draftFields, rules: toStorableRules(rules) };
        await tx.policyDraft.upsert({ where: { teamId }, create: { teamId, ...columns }, update: columns });
        await logPolicyEvent(tx, teamId, { kind: 'policy_draft_changed', changes, actor: by, at });
        await withdrawOpenProposals(tx, teamId, { kind: 'policy' }, by, at);
        return { ...draftFields, rules, proposal: undefined };
      }),

    discardDraft: (revision, by, at) =>
      runExclusively(async (tx) => {
        const draft = await readDraft(tx, teamId);
        if (draft?.revision !== revision) return false;
        const { rules } = await readCurrentPolicy(tx, teamId);
        await tx.policyDraft.delete({ where: { teamId } });
        await withdrawOpenProposals(tx, teamId, { kind: 'policy' }, by, at);
        const changes = toLoggedChanges(rules, draft.rules);
        await logPolicyEvent(tx, teamId, { kind: 'policy_draft_discarded', changes, actor: by, at });
        return true;
      }),

    publish: (revision, by, at) =>
      runExclusively(async (tx) => {
        const draft = await readDraft(tx, teamId);
        if (draft?.revision !== revision) return { kind: 'stale' };
        const { rules } = draft;
        if (draft.proposal !== undefined)
          return { kind: 'already_published', proposer: draft.proposal.proposer };
        if (requiresUnavailableSignatures(rules, canSign)) return { kind: 'cannot_sign' };
        const current = await readCurrentPolicy(tx, teamId);
        const changes = toLoggedChanges(current.rules, rules);
        if (changes.length === 0) return { kind: 'no_difference' };
        await logPolicyEvent(tx, teamId, { kind: 'policy_published', changes, actor: by, at });
        const payload = { version: current.version + 1, before: current.rules, rules };
        const newProposal = { id: revision, kind: 'policy', payload, proposer: by, proposedAt: at } as const;
        const proposal = await addProposal(tx, teamId, newProposal);
        if (proposal.kind !== 'policy') throw new Error(`unexpected kind of proposal: ${proposal.kind}`);
        return { kind: 'published', proposal };
      }),
  });
}
