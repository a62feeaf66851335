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
  /** The person has received the file with all changes. */
  readonly hasSeenAll?: boolean;
}

export interface ProposalView {
  /** The question to people who can confirm the proposal. */
  readonly question: (reader: ProposalReader) => Message;
  /** The outcome, which replaces the question. */
  readonly outcome: (reader: ProposalReader) => Message;
  /** The announcement in the reminder channel, if the question is elsewhere. */
  readonly announcement?: () => Message;
}

const BLOCK_PREFIX = 'proposal_';

/** The buttons of a question. The id of their block contains the hash of what is shown. */
export function proposalActions({ hash }: Proposal, buttons: readonly Button[]): ActionsBlock[] {
  return actions(`${BLOCK_PREFIX}${hash}`, buttons);
}

/** The hash of what a question showed, from the id of the block with its buttons. */
export function parseShownHash(blockId: string): string {
  return blockId.slice(BLOCK_PREFIX.length);
}
