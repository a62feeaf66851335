import { type Account, isTeamAccount } from '../../accounts/account.ts';
import { findRefusingRules } from '../../approvals/requirements.ts';
import type { BulkRequest } from '../../orders/bulk/request-bulk.ts';
import type { OrderTaskName, Ownership } from '../../orders/order.ts';
import { type RequestOutcome, requestOrder } from '../../orders/request-order.ts';
import { type RetryOutcome, retryOrder } from '../../orders/retry-button.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import type { Secret } from '../../service/secret.ts';
import type { CommandCall, Interaction } from '../feature.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import type { FormOrigin } from '../kit/form.ts';
import { isDirectMessage } from '../kit/mrkdwn.ts';
import { requestedText, unsupportedText } from './asking.view.ts';
import { buildOutcomeReply } from './order-reply.ts';
import { refusalText } from './refusal.view.ts';

/* Requests orders, and checks first whether the account and the policy allow the task. */

interface RequestedOrder {
  readonly task: OrderTaskName;
  readonly input: unknown;
  readonly secret?: Secret;
  readonly reason: string | undefined;
  readonly ownership?: Ownership;
  /** As entered, in the person's time zone. */
  readonly sendAt?: string | undefined;
  /** The rows of a file, for which `input` is empty. */
  readonly bulk?: BulkRequest;
}

export async function requestOrderFromInteraction(
  interaction: Interaction,
  { channelId, threadTs }: FormOrigin,
  { secret, sendAt, ...request }: RequestedOrder,
): Promise<RequestOutcome> {
  return requestOrder(interaction.context.orders, {
    ...request,
    secret,
    channelId,
    threadTs,
    requesterId: interaction.person.id,
    deliveryId: interaction.deliveryId,
    account: await interaction.loadOrderAccount(),
    sendAt: await addTimeZone(interaction, sendAt),
    isPrivate: isDirectMessage(channelId),
  });
}

async function addTimeZone({ context, person }: Interaction, text: string | undefined) {
  return text === undefined ? undefined : { text, timeZone: await context.directory.findTimeZone(person.id) };
}

/** Requests the order of a form, which may be a retry of an earlier order. */
export async function requestOrderFromForm(
  interaction: Interaction,
  origin: FormOrigin,
  request: RequestedOrder,
): Promise<RetryOutcome> {
  if (origin.retryOf === undefined) return requestOrderFromInteraction(interaction, origin, request);
  const { task: _, secret, sendAt, ...changes } = request;
  const { deliveryId } = interaction;
  const account = await interaction.loadOrderAccount();
  return retryOrder(interaction.context.orders, origin.retryOf, interaction.person.id, {
    ...changes,
    secret,
    account,
    deliveryId,
    sendAt: await addTimeZone(interaction, sendAt),
  });
}

/** Why the active account can't do a task, and what to do instead; undefined if it can. */
export async function checkAccount(
  interaction: Interaction,
  task: OrderTaskName,
  account?: Account,
): Promise<Message | undefined> {
  const activeAccount = account ?? (await interaction.loadOrderAccount());
  if (activeAccount === undefined) return undefined;
  const issue = getOrderTask(task).findUnsupportedReason(
    interaction.context.orders.listInterfaces(activeAccount),
  );
  return issue && textMessage(unsupportedText(activeAccount, getOrderTask(task), issue));
}

/**
 * Checks the policy as soon as the only name is known, before the person types an auth code. If there are several
 * names, some may be allowed, so the form opens and the policy is checked on submission.
 * @param input as entered, possibly with fields missing
 */
export async function checkPolicy(
  interaction: Interaction,
  task: OrderTaskName,
  input: unknown,
): Promise<Message | undefined> {
  const [name, ...others] = getOrderTask(task).findNames(input);
  const account = await interaction.loadOrderAccount();
  if (name === undefined || others.length > 0 || account === undefined) return undefined;
  const rules = await findRefusingRules(interaction.context.orders, {
    task,
    names: [name],
    requesterId: interaction.person.id,
    input,
    usesTeamAccount: isTeamAccount(account),
  });
  return rules.length === 0 ? undefined : textMessage(refusalText({ code: 'policy_refuses', rules }));
}

export async function requestOrderFromCommand(
  call: CommandCall,
  task: OrderTaskName,
  input: unknown,
): Promise<void> {
  const refusal = await checkAccount(call, task);
  if (refusal !== undefined) return call.respond(refusal);
  const { channelId, reason, sendAt } = call;
  const outcome = await requestOrderFromInteraction(call, { channelId }, { task, input, reason, sendAt });
  const message = await buildOutcomeReply(call, outcome);
  if (message !== undefined) await call.respond(message);
  else if (outcome.kind === 'accepted') await call.respondIfLate(requestedText(outcome.order));
}
