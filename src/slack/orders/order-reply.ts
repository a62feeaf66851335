import { loadDraftBriefing } from '../../approvals/briefing.ts';
import type { RetryOutcome } from '../../orders/retry-button.ts';
import { canSee } from '../../orders/visibility.ts';
import { type Interaction, toViewer } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import type { FieldErrors } from '../kit/form.ts';
import { rejectionMessage } from './asking.view.ts';
import { confirmMessage } from './confirm.view.ts';
import { waitForCard } from './order-posts.ts';
import { refusalText } from './refusal.view.ts';

/* Answers the person who requested an order. */

/** The immediate answer; undefined if the card is enough. */
export async function buildOutcomeReply(
  call: Interaction,
  outcome: RetryOutcome,
): Promise<Message | undefined> {
  if (outcome.kind !== 'accepted') return buildRejection(call, outcome);
  if (outcome.order.state !== 'DRAFT') return waitForCard(call, outcome.order);
  const [impact, briefing] = await Promise.all([
    call.context.names.impacts.assessAtRequest(outcome.order),
    loadDraftBriefing(call.context.orders, outcome.order),
  ]);
  return confirmMessage(outcome.order, briefing, impact);
}

/** The error at the form's field if the order can't be sent at the chosen time. */
export function timeErrors(outcome: RetryOutcome): { readonly errors: FieldErrors } | undefined {
  const isTimely =
    outcome.kind !== 'refused' ||
    (outcome.refusal.code !== 'send_at' && outcome.refusal.code !== 'send_at_after_expiry');
  return isTimely ? undefined : { errors: { send_at: refusalText(outcome.refusal) } };
}

/** Says why no order was created. */
export async function buildRejection(
  call: Interaction,
  outcome: Exclude<RetryOutcome, { readonly kind: 'accepted' }>,
): Promise<Message> {
  const canSeeOrder =
    outcome.kind === 'open_already' && (await canSee(call.context.orders, outcome.order, toViewer(call)));
  return rejectionMessage(outcome, canSeeOrder);
}
