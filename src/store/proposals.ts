import { z } from 'zod';
import type { ValidConfirmation } from '../approvals/proposals/decide-confirmation.ts';
import type { ApplyOutcome, ProposalStore } from '../approvals/proposals/ports.ts';
import type {
  Proposal,
  ProposalObstacle,
  ProposalOf,
  ProposedChange,
} from '../approvals/proposals/proposal.ts';
import type { SignedCharter } from '../approvals/signing/ports.ts';
import { DAY_MS } from '../lib/duration.ts';
import { type ChangeAuthor, createRunStatement } from './changes.ts';
import { type Database, type Transaction, withStoreError, wrapStore } from './database.ts';
import { applyPolicy } from './policies.ts';
import { applyNameChanges, rebaseNameChanges } from './portfolio.ts';
import { applyPrices, rebasePrices } from './prices.ts';
import { addProposal, buildOpenProposalFilter, changeOpenProposal, readProposal } from './proposal-rows.ts';
import { applySettings, rebaseSettings, type SavedSettingsFormatter } from './settings.ts';
import { lockAndCheckNextCharter, writeCharter } from './signing.ts';

export interface ProposalStoreOptions {
  readonly teamId: string;
  readonly formatSavedSettings: SavedSettingsFormatter;
  /** Whether passkeys are set up, so that a policy may require signatures. */
  readonly canSign: boolean;
}

class RollbackError extends Error {
  readonly reason: ProposalObstacle | 'conflict';
  constructor(reason: RollbackError['reason']) {
    super(reason);
    this.reason = reason;
  }
}

export function createProposalStore({ prisma }: Database, options: ProposalStoreOptions): ProposalStore {
  const { teamId } = options;

  return wrapStore('proposals', {
    propose: (proposal) => prisma.$transaction((tx) => addProposal(tx, teamId, proposal)),

    list: async (kinds, now) => {
      const rows = await prisma.proposal.findMany({
        where: buildOpenProposalFilter(teamId, kinds, now),
        orderBy: [{ proposedAt: 'asc' }, { id: 'asc' }],
      });
      const proposals = await Promise.all(rows.map((row) => readProposal(row, now)));
      return proposals.filter((proposal) => hasKind(proposal, kinds));
    },

    find: async (kinds, key, now) => {
      const openFilter = buildOpenProposalFilter(teamId, kinds, now);
      const where = { AND: [openFilter, { OR: [{ id: key }, { subject: key }] }] };
      const row = await prisma.proposal.findFirst({ where });
      const proposal = row === null ? undefined : await readProposal(row, now);
      return hasKind(proposal, kinds) ? proposal : undefined;
    },

    load: async (id, now) => {
      const row = await prisma.proposal.findFirst({ where: { id, teamId } });
      return row === null ? undefined : readProposal(row, now);
    },

    addConfirmation: ({ proposal }, at) =>
      prisma.$transaction((tx) =>
        changeOpenProposal(tx, teamId, proposal, { confirmations: toStorableConfirmations(proposal) }, at),
      ),

    apply: async (confirmation, at, charter) => {
      try {
        return await prisma.$transaction((tx) =>
          applyConfirmedProposal(tx, options, confirmation, at, charter),
        );
      } catch (error) {
        if (!(error instanceof RollbackError)) throw error;
        return error.reason === 'conflict' ? undefined : { kind: 'blocked', obstacle: error.reason };
      }
    },

    withdraw: (proposal, by, at) =>
      prisma.$transaction((tx) =>
        changeOpenProposal(tx, teamId, proposal, { state: 'withdrawn', endedBy: by, endedAt: at }, at),
      ),
  });
}

async function applyConfirmedProposal(
  tx: Transaction,
  options: ProposalStoreOptions,
  { proposal, by }: ValidConfirmation,
  at: Date,
  charter: SignedCharter | undefined,
): Promise<ApplyOutcome> {
  const { teamId } = options;
  if (charter !== undefined && !(await lockAndCheckNextCharter(tx, teamId, charter)))
    return { kind: 'changed', current: proposal };
  const outcome = await applyChange(tx, options, proposal, { by: proposal.proposer, confirmedBy: by, at });
  if (outcome !== 'applied' && outcome !== 'changed') throw new RollbackError(outcome);
  const state = outcome === 'applied' ? 'confirmed' : 'superseded';
  const confirmations = toStorableConfirmations(proposal);
  const columns = { state, endedBy: by, endedAt: at, confirmations } as const;
  if (!(await changeOpenProposal(tx, teamId, proposal, columns, at))) throw new RollbackError('conflict');
  if (outcome === 'changed')
    return { kind: 'changed', current: await proposeAgain(tx, options, proposal, at) };
  if (charter !== undefined) await writeCharter(tx, teamId, charter, at);
  return { kind: 'applied', proposal: { ...proposal, state, endedBy: by } };
}

/** Proposes the remaining changes of a superseded proposal. */
async function proposeAgain(
  tx: Transaction,
  options: ProposalStoreOptions,
  proposal: Proposal,
  proposedAt: Date,
): Promise<Proposal | undefined> {
  const change = await rebaseChange(tx, options, proposal);
  if (change === undefined) return undefined;
  const { expiresAt, subject, origin, proposer } = proposal;
  const lifetimeMs = expiresAt && expiresAt.getTime() - proposal.proposedAt.getTime();
  return addProposal(tx, options.teamId, {
    ...{ ...change, proposer, origin, proposedAt },
    ...(subject !== undefined && { subject }),
    ...(lifetimeMs !== undefined && { expiresAt: new Date(proposedAt.getTime() + lifetimeMs) }),
  });
}

function toStorableConfirmations({ confirmations }: Proposal) {
  return z.json().parse(JSON.parse(JSON.stringify(confirmations))) ?? [];
}

/** Applies the payload that people decided on, even if the row has changed since it was loaded. */
function applyChange(
  tx: Transaction,
  { teamId, formatSavedSettings, canSign }: ProposalStoreOptions,
  proposal: Proposal,
  author: Required<ChangeAuthor>,
): Promise<'applied' | 'changed' | ProposalObstacle> {
  switch (proposal.kind) {
    case 'settings':
      return applySettings(tx, formatSavedSettings, proposal.payload, author);
    case 'prices':
      return applyPrices(tx, teamId, proposal.payload, author);
    case 'policy':
      return applyPolicy(tx, teamId, canSign, proposal, author);
    case 'facts':
    case 'lapse':
      return applyNameChanges(createRunStatement(tx), teamId, proposal.payload, {
        ...author,
        actor: author.by,
      });
  }
}

/** Returns the remaining changes of a superseded proposal. A policy must be published again. */
async function rebaseChange(
  tx: Transaction,
  { teamId, formatSavedSettings }: ProposalStoreOptions,
  proposal: Proposal,
): Promise<ProposedChange | undefined> {
  switch (proposal.kind) {
    case 'settings': {
      const payload = await rebaseSettings(tx, formatSavedSettings, proposal.payload);
      return payload && { kind: 'settings', payload };
    }
    case 'prices': {
      const payload = await rebasePrices(tx, teamId, proposal.payload);
      return payload && { kind: 'prices', payload };
    }
    case 'facts':
    case 'lapse': {
      const payload = await rebaseNameChanges(createRunStatement(tx), proposal.payload);
      return payload && { kind: proposal.kind, payload };
    }
    case 'policy':
      return undefined;
  }
}

/** Messages about a proposal can be updated for this long after the proposal has ended. */
const RETENTION_MS = 7 * DAY_MS;

/**
 * Deletes proposals that ended or expired at least a week ago.
 * @returns the number of deleted proposals
 */
export function purgeProposals({ prisma }: Database, now: Date): Promise<number> {
  const cutoffFilter = { lte: new Date(now.getTime() - RETENTION_MS) };
  return withStoreError('deleting old proposals', async () => {
    const where = { OR: [{ endedAt: cutoffFilter }, { expiresAt: cutoffFilter }] };
    return (await prisma.proposal.deleteMany({ where })).count;
  });
}

function hasKind<Kind extends Proposal['kind']>(
  proposal: Proposal | undefined,
  kinds: readonly Kind[],
): proposal is ProposalOf<Kind> {
  return kinds.some((kind) => kind === proposal?.kind);
}
