import { decideConfirmation } from '../../src/approvals/proposals/decide-confirmation.ts';
import type { ProposalStore } from '../../src/approvals/proposals/ports.ts';
import type { Database } from '../../src/store/database.ts';
import { createProposalStore } from '../../src/store/proposals.ts';

/* Proposals that any other person can confirm. */

const DECISION_INPUT = {
  ...({ confirmers: 'another_person', charter: 'not_needed' } as const),
  ...{ isAdmin: false, refusal: undefined, progress: [], needsSignature: false },
};

export const newProposalStore = (
  database: Database,
  teamId: string,
  settingTexts: Readonly<Record<string, string>> = {},
) => createProposalStore(database, { teamId, formatSavedSettings: () => settingTexts, canSign: true });

/** @returns the refusal, or the store's result */
export async function confirmProposal(store: ProposalStore, id: string, userId: string, at: Date) {
  const found = await store.load(id, at);
  const proposal = found?.state === 'proposed' ? found : undefined;
  const confirmation = { userId };
  const input = { ...DECISION_INPUT, proposal, confirmation, shownHash: proposal?.hash ?? '' };
  const decision = decideConfirmation(input);
  if (!decision.ok) return { kind: 'refused', code: decision.refusal.code } as const;
  return (await store.apply(decision.validConfirmation, at)) ?? ({ kind: 'conflict' } as const);
}

/** Confirms a published draft as another admin. */
export const confirmPolicy = (database: Database, teamId: string, revision: string, by: string, at: Date) =>
  confirmProposal(newProposalStore(database, teamId), revision, by, at);
