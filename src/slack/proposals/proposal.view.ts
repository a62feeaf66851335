import type { ActionsBlock, Button } from '@slack/types';
import type { RequirementProgress } from '../../approvals/progress.ts';
import type { Proposal } from '../../approvals/proposals/proposal.ts';
import { actions, type Message } from '../kit/blocks.ts';

export interface ProposalReader {
  /** Empty in a channel. */
  readonly userId: string;
  readonly locale: string;
  /** The people who can confirm, and the confirmations so far. Empty without requirements. */
  readonly progress: readonly RequirementProgress[];
  /** Whether the person has received the file with all changes. */
  readonly hasSeenAllChanges?: boolean;
}

export interface ProposalView {
  /** The question to people who can confirm the proposal. */
  readonly question: (reader: ProposalReader) => Message;
  /** The outcome, which replaces the question. */
  readonly outcome: (reader: ProposalReader) => Message;
  /** The announcement in the reminder channel, if the question is elsewhere. */
  readonly announcement?: () => Message;
}

const BLOCK_ID_PREFIX = 'proposal_';

/** The buttons of a question. The ID of their block contains the hash of the proposal that is shown. */
export function proposalActions({ hash }: Proposal, buttons: readonly Button[]): ActionsBlock[] {
  return actions(`${BLOCK_ID_PREFIX}${hash}`, buttons);
}

/** The hash of the proposal that a question showed, from the ID of the block with the buttons. */
export function parseShownHash(blockId: string): string {
  return blockId.slice(BLOCK_ID_PREFIX.length);
}
