import { z } from 'zod';
import type { Confirmed } from '../approvals/proposals/decide-confirmation.ts';
import type { Applied, ProposalStore } from '../approvals/proposals/ports.ts';
import type { Obstacle, Proposal, ProposalOf, ProposedChange } from '../approvals/proposals/proposal.ts';
import type { SignedCharter } from '../approvals/signing/ports.ts';
import { DAY_MS } from '../lib/duration.ts';
import { runIn } from './changes.ts';
import { type Database, storeOf, type Transaction, withStoreError } from './database.ts';
import { applyPolicy } from './policies.ts';
import { applyFacts, rebasedFacts } from './portfolio.ts';
import { applyPrices, rebasedPrices } from './prices.ts';
import { changeProposal, openProposals, propose, readProposal } from './proposal-rows.ts';
import { applySettings, rebasedSettings, type SettingTexts } from './settings.ts';
import { isNextCharter, writeCharter } from './signing.ts';

export interface ProposalStoreOptions {
  readonly teamId: string;
  readonly settingTexts: SettingTexts;
  /** Passkeys are set up: a policy may ask for signatures. */
  readonly canSign: boolean;
}

/** Rolls back a transaction. */
class Undone extends Error {
  readonly why: Obstacle | 'conflict';
  constructor(why: Undone['why']) {
    super(why);
    this.why = why;
  }
}

export function createProposalStore({ prisma }: Database, options: ProposalStoreOptions): ProposalStore {
  const { teamId } = options;

  return storeOf('proposals', {
    propose: (proposal) => prisma.$transaction((tx) => propose(tx, teamId, proposal)),

    list: async (kinds, now) => {
      const rows = await prisma.proposal.findMany({
        where: openProposals(teamId, kinds, now),
        orderBy: [{ proposedAt: 'asc' }, { id: 'asc' }],
      });
      const found = await Promise.all(rows.map((row) => readProposal(row, now)));
      return found.filter((proposal) => isOfKind(proposal, kinds));
    },

    find: async (kinds, key, now) => {
      const { OR: isOpen, ...open } = openProposals(teamId, kinds, now);
      const where = { ...open, AND: [{ OR: isOpen }, { OR: [{ id: key }, { subject: key }] }] };
      const row = await prisma.proposal.findFirst({ where });
      const proposal = row === null ? undefined : await readProposal(row, now);
      return isOfKind(proposal, kinds) ? proposal : undefined;
    },

    read: async (id, now) => {
      const row = await prisma.proposal.findFirst({ where: { id, teamId } });
      return row === null ? undefined : readProposal(row, now);
    },

    addConfirmation: ({ proposal }, at) =>
      prisma.$transaction((tx) =>
        changeProposal(tx, teamId, proposal, { confirmations: storableConfirmations(proposal) }, at),
      ),

    apply: async (confirmed, at, charter) => {
      try {
        return await prisma.$transaction((tx) => applyConfirmed(tx, options, confirmed, at, charter));
      } catch (error) {
        if (!(error instanceof Undone)) throw error;
        return error.why === 'conflict' ? undefined : { kind: 'blocked', by: error.why };
      }
    },

    withdraw: (proposal, by, at) =>
      prisma.$transaction((tx) =>
        changeProposal(tx, teamId, proposal, { state: 'withdrawn', endedBy: by, endedAt: at }, at),
      ),
  });
}

async function applyConfirmed(
  tx: Transaction,
  options: ProposalStoreOptions,
  { proposal, by }: Confirmed,
  at: Date,
  charter: SignedCharter | undefined,
): Promise<Applied> {
  const { teamId } = options;
  if (charter !== undefined && !(await isNextCharter(tx, teamId, charter)))
    return { kind: 'changed', current: proposal };
  const applied = await apply(tx, options, proposal, { by: proposal.proposer, confirmedBy: by, at });
  if (applied !== 'applied' && applied !== 'changed') throw new Undone(applied);
  const state = applied === 'applied' ? 'confirmed' : 'superseded';
  const ended = { state, endedBy: by, endedAt: at, confirmations: storableConfirmations(proposal) } as const;
  if (!(await changeProposal(tx, teamId, proposal, ended, at))) throw new Undone('conflict');
  if (applied === 'changed')
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
  const changed = await rebased(tx, options, proposal);
  if (changed === undefined) return undefined;
  const { expiresAt, subject, origin, proposer } = proposal;
  const leftMs = expiresAt && expiresAt.getTime() - proposal.proposedAt.getTime();
  return propose(tx, options.teamId, {
    ...{ ...changed, proposer, origin, proposedAt },
    ...(subject !== undefined && { subject }),
    ...(leftMs !== undefined && { expiresAt: new Date(proposedAt.getTime() + leftMs) }),
  });
}

function storableConfirmations({ confirmations }: Proposal) {
  return z.json().parse(JSON.parse(JSON.stringify(confirmations))) ?? [];
}

interface Who {
  readonly by: string;
  readonly confirmedBy: string;
  readonly at: Date;
}

/** Applies the payload that was decided on, as loaded, even if the row has changed since. */
function apply(
  tx: Transaction,
  { teamId, settingTexts, canSign }: ProposalStoreOptions,
  proposal: Proposal,
  who: Who,
): Promise<'applied' | 'changed' | Obstacle> {
  switch (proposal.kind) {
    case 'settings':
      return applySettings(tx, settingTexts, proposal.payload, who);
    case 'prices':
      return applyPrices(tx, teamId, proposal.payload, who);
    case 'policy':
      return applyPolicy(tx, teamId, canSign, proposal, who);
    case 'facts':
    case 'lapse':
      return applyFacts(runIn(tx), teamId, proposal.payload, { ...who, actor: who.by });
  }
}

/** The remaining changes of a superseded proposal. Policies aren't proposed again: people publish those themselves. */
async function rebased(
  tx: Transaction,
  { teamId, settingTexts }: ProposalStoreOptions,
  proposal: Proposal,
): Promise<ProposedChange | undefined> {
  switch (proposal.kind) {
    case 'settings': {
      const payload = await rebasedSettings(tx, settingTexts, proposal.payload);
      return payload && { kind: 'settings', payload };
    }
    case 'prices': {
      const payload = await rebasedPrices(tx, teamId, proposal.payload);
      return payload && { kind: 'prices', payload };
    }
    case 'facts':
    case 'lapse': {
      const payload = await rebasedFacts(runIn(tx), proposal.payload);
      return payload && { kind: proposal.kind, payload };
    }
    case 'policy':
      return undefined;
  }
}

/** Messages about a proposal can still be updated for this long after it ended. */
const KEPT_MS = 7 * DAY_MS;

/** Deletes proposals that ended or expired a week ago. @returns how many */
export function purgeProposals({ prisma }: Database, now: Date): Promise<number> {
  const cutoff = { lte: new Date(now.getTime() - KEPT_MS) };
  return withStoreError('deleting old proposals', async () => {
    const where = { OR: [{ endedAt: cutoff }, { expiresAt: cutoff }] };
    return (await prisma.proposal.deleteMany({ where })).count;
  });
}

function isOfKind<Kind extends Proposal['kind']>(
  proposal: Proposal | undefined,
  kinds: readonly Kind[],
): proposal is ProposalOf<Kind> {
  return kinds.some((kind) => kind === proposal?.kind);
}
