import { loadDraftBriefing } from '../../approvals/briefing.ts';
import type { RetryOutcome } from '../../orders/retry-button.ts';
import { canSee } from '../../orders/visibility.ts';
import { type Interaction, toViewer } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import type { FieldErrors } from '../kit/form.ts';
import { rejectionMessage } from './asking.view.ts';
import { confirmationMessage } from './confirm.view.ts';
import { waitForCard } from './order-posts.ts';
import { refusalText } from './refusal.view.ts';

/* Replies to the person who requested an order. */

/** The immediate reply; undefined if the card is enough. */
export async function buildOutcomeReply(
  interaction: Interaction,
  outcome: RetryOutcome,
): Promise<Message | undefined> {
  if (outcome.kind !== 'accepted') return buildRejection(interaction, outcome);
  if (outcome.order.state !== 'DRAFT') return waitForCard(interaction, outcome.order);
  const [impact, briefing] = await Promise.all([
    interaction.context.names.impacts.assessAtRequest(outcome.order),
    loadDraftBriefing(interaction.context.orders, outcome.order),
  ]);
  return confirmationMessage(outcome.order, briefing, impact);
}

/** The error for the form's time field, if the order can't be sent at the chosen time. */
export function findTimeErrors(outcome: RetryOutcome): { readonly errors: FieldErrors } | undefined {
  const isTimeRefused =
    outcome.kind === 'refused' &&
    (outcome.refusal.code === 'send_at' || outcome.refusal.code === 'send_at_after_expiry');
  return isTimeRefused ? { errors: { send_at: refusalText(outcome.refusal) } } : undefined;
}

export async function buildRejection(
  interaction: Interaction,
  outcome: Exclude<RetryOutcome, { readonly kind: 'accepted' }>,
): Promise<Message> {
  const canSeeOrder =
    outcome.kind === 'already_open' &&
    (await canSee(interaction.context.orders, outcome.order, toViewer(interaction)));
  return rejectionMessage(outcome, canSeeOrder);
}
