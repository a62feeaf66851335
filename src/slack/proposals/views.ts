import type { ProposalRefusal } from '../../approvals/proposals/decide-confirmation.ts';
import type { Proposal, ProposalKind } from '../../approvals/proposals/proposal.ts';
import type { Impact } from '../../names/impact.ts';
import { loadNameWaitingCosts } from '../approvals/waiting.ts';
import type { SlackContext } from '../context.ts';
import { type LapseDetails, lapseView } from '../expiry/lapse.view.ts';
import type { Message } from '../kit/blocks.ts';
import { formatDeadlines, formatQuote } from '../money/price.view.ts';
import { nameChangesView, nameLimitText } from '../names/name-changes.view.ts';
import { impactLines } from '../orders/impact.view.ts';
import { refusalText } from '../orders/refusal.view.ts';
import { NOT_PUBLISHED, NOTES, policyProposalView } from '../policy/policy.view.ts';
import { adminProposalView, NOT_CONFIRMED_TEXTS } from './admin-proposal.view.ts';
import type { ProposalView } from './proposal.view.ts';

/** @param shouldLookUp whether to look up the impact of letting a name lapse */
export async function buildProposalView(
  context: SlackContext,
  proposal: Proposal,
  shouldLookUp = false,
): Promise<ProposalView> {
  switch (proposal.kind) {
    case 'settings':
    case 'prices':
      return adminProposalView(proposal);
    case 'policy':
      return policyProposalView(proposal);
    case 'facts':
      return nameChangesView(proposal);
    case 'lapse': {
      if (proposal.state !== 'proposed')
        return lapseView(proposal, { impactLines: [], deadlinesText: '', priceSuffix: '' });
      const { subject: name = '' } = proposal;
      const { impacts } = context.names;
      const impact = shouldLookUp
        ? impacts.assessName(name, 'lapse')
        : impacts.assessStoredFacts(name, 'lapse');
      return lapseView(proposal, await loadLapseDetails(context, name, impact));
    }
  }
}

/** A proposal as one person sees it: the question or the outcome. */
export async function buildProposalMessage(
  context: SlackContext,
  proposal: Proposal,
  userId: string,
  hasSeenAllChanges = false,
): Promise<Message> {
  const isOpen = proposal.state === 'proposed';
  const [view, locale, progress] = await Promise.all([
    buildProposalView(context, proposal),
    context.directory.findLocale(userId),
    isOpen ? context.proposals.loadProgress(proposal) : [],
  ]);
  const reader = { userId, locale, progress, hasSeenAllChanges };
  return isOpen ? view.question(reader) : view.outcome(reader);
}

const OWN_PROPOSAL_TEXTS: Readonly<Record<ProposalKind, string>> = {
  settings: NOT_CONFIRMED_TEXTS.ownAdminProposal('/domain settings'),
  prices: NOT_CONFIRMED_TEXTS.ownAdminProposal('/domain settings'),
  policy: NOT_CONFIRMED_TEXTS.ownAdminProposal('/domain policy'),
  facts: NOT_CONFIRMED_TEXTS.ownProposal,
  lapse: NOT_CONFIRMED_TEXTS.ownProposal,
};

/** Says why a person can't confirm or withdraw a proposal of this kind. */
export function proposalRefusalText(kind: ProposalKind, refusal: ProposalRefusal): string {
  switch (refusal.code) {
    case 'gone':
      return kind === 'policy' ? NOT_PUBLISHED : NOT_CONFIRMED_TEXTS.gone;
    case 'changed':
      if (kind === 'policy') return NOT_PUBLISHED;
      return refusal.current === undefined ? NOT_CONFIRMED_TEXTS.nothingLeft : NOT_CONFIRMED_TEXTS.changed;
    case 'own':
      return OWN_PROPOSAL_TEXTS[kind];
    case 'not_an_admin':
      return NOT_CONFIRMED_TEXTS.notAnAdmin;
    case 'needs_signature':
    case 'needs_charter':
      return NOT_CONFIRMED_TEXTS.signatureRequired;
    case 'cannot_sign':
      return NOTES.cannotSign;
    case 'too_many_guarded':
    case 'list_full':
      return nameLimitText(refusal.code);
    default:
      return refusalText(refusal);
  }
}

export async function loadLapseDetails(
  context: SlackContext,
  name: string,
  impactLookup: Promise<Impact>,
): Promise<LapseDetails> {
  const [delayStages, impact] = await Promise.all([
    context.expiry.find(name).then((domain) => loadNameWaitingCosts(context, domain)),
    impactLookup.catch((err: unknown) => {
      context.log.error({ err, name }, 'checking the impact on a name failed');
      return 'unseen' as const;
    }),
  ]);
  const [currentStage] = delayStages;
  return {
    impactLines: impactLines(impact),
    deadlinesText: formatDeadlines(delayStages),
    priceSuffix:
      currentStage === undefined || currentStage.kind === 'lost'
        ? ''
        : `, ${formatQuote(currentStage.renewal)}`,
  };
}
