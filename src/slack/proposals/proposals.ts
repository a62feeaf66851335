import type { ProposalRefusal } from '../../approvals/proposals/decide-confirmation.ts';
import type { Proposal, ProposalKind, ProposedChange } from '../../approvals/proposals/proposal.ts';
import { GUARDED_TAG } from '../../names/portfolio.ts';
import { APPROVER_SETTINGS, applySettingChanges, findApproverErrors } from '../approvals/approver-errors.ts';
import { offerCharterLink, offerLink } from '../approvals/signing/offer-link.ts';
import type { SlackContext } from '../context.ts';
import type { ActionCall, Interaction } from '../feature.ts';
import { confirmersText, NOT_CONFIRMED_TEXTS, pendingProposalLines } from './admin-proposal.view.ts';
import { parseShownHash } from './proposal.view.ts';
import { listOtherAdmins } from './proposal-notifications.ts';
import { buildProposalMessage, proposalRefusalText } from './views.ts';

/* The buttons of proposals. A button contains a proposal's ID or subject, and a click reloads the proposal. */

type ProposalKinds = readonly [ProposalKind, ...ProposalKind[]];

/**
 * Proposes a change of settings or prices.
 * @returns the answer to the proposer, as mrkdwn
 */
export async function proposeToAdmins(
  { context, person, acknowledge }: Interaction,
  change: Extract<ProposedChange, { readonly kind: 'settings' | 'prices' }>,
): Promise<readonly string[]> {
  const { approvalTtlMs } = await context.loadSettings();
  const proposedAt = context.now();
  const expiresAt = new Date(proposedAt.getTime() + approvalTtlMs);
  await context.proposals.propose({ ...change, proposer: person.id, proposedAt, expiresAt });
  acknowledge();
  context.log.info({ by: person.id, change: change.payload }, 'a change needs an admin’s confirmation');
  context.notifyDue();
  return [
    ...pendingProposalLines({ ...change, expiresAt }, await context.directory.findLocale(person.id)),
    confirmersText(await listOtherAdmins(context, person.id), '/domain settings'),
  ];
}

/** Confirms a proposal and shows the result. Everyone else is notified by the outbox. */
export async function confirmProposal(call: ActionCall, kinds: ProposalKinds): Promise<void> {
  const { context, person, value } = call;
  const problem = await findApproverProblem(context, await context.proposals.find(kinds, value));
  if (problem !== undefined) return call.respond(NOT_CONFIRMED_TEXTS.cannotApply(problem));
  const consent = { userId: person.id, shownHash: parseShownHash(call.blockId) };
  const outcome = await context.proposals.confirm(kinds, value, consent);
  context.notifyDue();
  if (!outcome.ok) return showRefusal(call, kinds, outcome.refusal);
  call.acknowledge();
  const { proposal, isComplete } = outcome;
  context.log.info({ ...toLogFields(proposal, person.id), isComplete }, 'a proposal was confirmed');
  await call.respond(await buildProposalMessage(context, proposal, person.id), { replace: true });
  if (!isComplete) return;
  if (proposal.kind !== 'facts' && proposal.kind !== 'lapse') return context.refreshPendingCards();
  for (const { name, after } of proposal.payload.names)
    if (after?.tags.includes(GUARDED_TAG)) await context.names.requestLookup(name);
}

export async function withdrawProposal(call: ActionCall, kinds: ProposalKinds): Promise<void> {
  const { context, person } = call;
  const outcome = await context.proposals.withdraw(kinds, call.value, person.id);
  context.notifyDue();
  if (!outcome.ok) return showRefusal(call, kinds, outcome.refusal);
  call.acknowledge();
  context.log.info(toLogFields(outcome.proposal, person.id), 'a proposal was withdrawn');
  await call.respond(await buildProposalMessage(context, outcome.proposal, person.id), { replace: true });
}

function toLogFields({ id, kind, proposer: askedBy, payload }: Proposal, by: string) {
  return { by, askedBy, ...(kind === 'settings' || kind === 'prices' ? { change: payload } : {}), id, kind };
}

/**
 * Says why the person can't confirm, or where to sign. If the proposal has changed since it was shown, shows it again.
 */
async function showRefusal(call: ActionCall, [kind]: ProposalKinds, refusal: ProposalRefusal): Promise<void> {
  if (refusal.code === 'needs_signature') return offerLink(call, 'facts', refusal.proposal.id);
  if (refusal.code === 'needs_charter') {
    const purpose = refusal.proposal.kind === 'policy' ? 'policy' : 'settings';
    return offerCharterLink(call, purpose, refusal.proposal.id);
  }
  await call.respond(proposalRefusalText(kind, refusal));
  if (refusal.code === 'changed' && refusal.current !== undefined)
    await call.respond(await buildProposalMessage(call.context, refusal.current, call.person.id));
}

/** Says why proposed settings can't take effect: they would leave too few people who can approve. */
async function findApproverProblem(
  context: SlackContext,
  proposal: Proposal | undefined,
): Promise<string | undefined> {
  if (proposal?.kind !== 'settings' || !proposal.payload.some(({ name }) => APPROVER_SETTINGS.has(name)))
    return undefined;
  const nextSettings = applySettingChanges(await context.loadSettings(), proposal.payload);
  const [error] = Object.values(await findApproverErrors(context, nextSettings));
  return error;
}
