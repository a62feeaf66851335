import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, isTeamAccount } from '../../accounts/account.ts';
import { loadBriefing } from '../../approvals/briefing.ts';
import { rulesRefusing } from '../../approvals/requirements.ts';
import type { Impact } from '../../names/impact.ts';
import type { BulkRequest } from '../../orders/bulk/request-bulk.ts';
import type { Order, OrderTaskName } from '../../orders/order.ts';
import type { OrderRequest } from '../../orders/request-context.ts';
import { requestOrder } from '../../orders/request-order.ts';
import type { RetryOutcome } from '../../orders/retry-button.ts';
import { retryOrder } from '../../orders/retry-button.ts';
import { taskNamed } from '../../orders/tasks.ts';
import { maySee } from '../../orders/visibility.ts';
import type { Secret } from '../../service/secret.ts';
import {
  type Action,
  type ActionCall,
  type CommandCall,
  type FormFeature,
  formOrigin,
  type Interaction,
  renderForm,
  viewerOf,
} from '../feature.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import type { FormOrigin, FormValues } from '../kit/form.ts';
import { formView } from '../kit/form.ts';
import { SlackApiError } from '../outbound/web.ts';
import {
  askedForText,
  incapableText,
  missingCardMessage,
  notAskedMessage,
  openAlreadyAtFieldText,
  openAlreadyText,
} from './asking.view.ts';
import { confirmMessage } from './confirm.view.ts';
import { unusedWords } from './input-issue.view.ts';
import { CARD } from './order-posts.ts';
import { refusalText } from './refusal.view.ts';

/* What all tasks that become orders share: placing the order, and saying the result. */

export interface OrderInput {
  readonly task: OrderTaskName;
  readonly input: unknown;
  readonly secret?: Secret;
  readonly reason: string | undefined;
  /** The rows of a file; `input` is empty then. */
  readonly bulk?: BulkRequest;
}

/** Slack’s ids of direct messages begin with a D. */
function isDirectMessage(channelId: string): boolean {
  return channelId.startsWith('D');
}

/** Places an order for the person of an interaction, with their current account. */
export async function placeOrder(
  call: Interaction,
  origin: FormOrigin,
  wish: OrderInput,
): Promise<RetryOutcome> {
  if (origin.retryOf === undefined)
    return requestOrder(call.context.orders, await requestOf(call, origin, wish));
  const { input, secret, reason, account, deliveryId, bulk } = await requestOf(call, origin, wish);
  const given = { input, secret, reason, account, deliveryId, ...(bulk === undefined ? {} : { bulk }) };
  return retryOrder(call.context.orders, origin.retryOf, call.person.id, given);
}

async function requestOf(
  call: Interaction,
  { channelId, threadTs }: FormOrigin,
  { task, input, secret, reason, bulk }: OrderInput,
): Promise<OrderRequest> {
  return {
    ...{ task, input, secret, reason, channelId, threadTs },
    requesterId: call.person.id,
    account: await call.orderAccount(),
    isPrivate: isDirectMessage(channelId),
    deliveryId: call.deliveryId,
    ...(bulk === undefined ? {} : { bulk }),
  };
}

/** What the person is told at once; undefined when the card says everything. */
export async function outcomeMessage(call: Interaction, outcome: RetryOutcome): Promise<Message | undefined> {
  if (outcome.kind !== 'accepted') return notPlacedMessage(call, outcome);
  return outcome.order.state === 'DRAFT'
    ? draftMessage(call, outcome.order)
    : missingCard(call, outcome.order);
}

/** A card that is posted by then needs no other answer. Slack gives up after 3 s. */
const CARD_WITHIN_MS = 1_700;
/** Between two looks whether a card is posted, at first. */
const CARD_POLL_MS = 100;

/** Waits for the card of an order. @returns what is said in its place; undefined when it is posted in time */
export async function missingCard(call: Interaction, order: Order): Promise<Message | undefined> {
  call.acknowledge();
  for (let waitMs = CARD_POLL_MS; ; waitMs *= 2) {
    const claim = await call.context.notifications.read({ kind: 'order', id: order.id });
    const card = claim?.notifications.find(({ purpose }) => purpose === CARD);
    if (card?.message !== undefined) return undefined;
    const leftMs = call.arrivedAt + CARD_WITHIN_MS - performance.now();
    if (leftMs <= 0) {
      const { dueAt } = card ?? {};
      return missingCardMessage(order, dueAt && dueAt.getTime() - call.context.now().getTime());
    }
    await sleep(Math.min(waitMs, leftMs));
  }
}

/** Why nothing was asked for. */
export async function notPlacedMessage(
  call: Interaction,
  outcome: Exclude<RetryOutcome, { readonly kind: 'accepted' }>,
): Promise<Message> {
  return outcome.kind === 'open_already' ? openAlready(call, outcome.order) : notAskedMessage(outcome);
}

/** The draft to be confirmed, with the impact on the name as far as it can be found while the person waits. */
async function draftMessage(call: Interaction, order: Order): Promise<Message> {
  const { context } = call;
  const [impact, briefing] = await Promise.all([impactAtAsking(call, order), loadBriefing(context, order)]);
  return confirmMessage(order, briefing, impact);
}

/** The impact of a draft for the person who asks or confirms; undefined for a task that puts nothing at risk. */
export function impactAtAsking(
  { context }: Interaction,
  order: Order,
): Promise<Impact | 'unseen' | undefined> {
  return context.names.impacts.atAsking(order).catch((err: unknown) => {
    context.log.error({ err, orderId: order.id }, 'looking what hangs on a name');
    return 'unseen' as const;
  });
}

/** The refusal of a second order for the same task and name. */
export async function openAlready(call: Interaction, order: Order): Promise<Message> {
  return textMessage(openAlreadyText(order, await maySee(call.context.orders, order, viewerOf(call))));
}

/** The same at a field. */
export async function openAlreadyAtField(
  call: Interaction,
  order: Order,
  names: readonly string[],
): Promise<string> {
  return openAlreadyAtFieldText(order, names, await maySee(call.context.orders, order, viewerOf(call)));
}

/** Why the person's active account cannot do a task and what to do instead; undefined when it can. */
export async function refusalOfAccount(
  call: Interaction,
  task: OrderTaskName,
  account?: Account,
): Promise<Message | undefined> {
  const active = account ?? (await call.orderAccount());
  if (active === undefined) return undefined;
  const issue = taskNamed(task).unsupported(call.context.orders.interfacesOf(active));
  return issue && textMessage(incapableText(active, taskNamed(task), issue));
}

/**
 * The refusal of a task by the policy, as soon as its one name is known: nobody types an auth code for what is refused
 * anyway. Of several names some may be allowed, so the form opens, and its submission is decided about.
 * @param input as typed; fields that the form asks for may be missing
 */
export async function refusalOfPolicy(
  call: Interaction,
  task: OrderTaskName,
  input: unknown,
): Promise<Message | undefined> {
  const [name, ...others] = taskNamed(task).namesIn(input);
  const account = await call.orderAccount();
  if (name === undefined || others.length > 0 || account === undefined) return undefined;
  const rules = await rulesRefusing(call.context.orders, {
    task,
    names: [name],
    requesterId: call.person.id,
    input,
    usesTeamAccount: isTeamAccount(account),
  });
  return rules.length === 0 ? undefined : textMessage(refusalText({ code: 'policy_refuses', rules }));
}

/** Runs a command whose line is complete. */
export async function orderFromLine(call: CommandCall, task: OrderTaskName, input: unknown): Promise<void> {
  const refusal = await refusalOfAccount(call, task);
  if (refusal !== undefined) return call.respond(refusal);
  const { channelId, reason } = call;
  const request = await requestOf(call, { channelId }, { task, input, reason });
  const outcome = await requestOrder(call.context.orders, request);
  const message = await outcomeMessage(call, outcome);
  if (message !== undefined) await call.respond(message);
  else if (outcome.kind === 'accepted') await call.respondIfLate(askedForText(outcome.order));
}

/**
 * Opens a form, or says why it would be filled in for nothing. Where Slack has no place for files, the form opens without
 * its file.
 */
export async function openForm(
  call: Interaction,
  feature: FormFeature,
  origin: FormOrigin,
  values: FormValues = {},
): Promise<void> {
  const refusal = await feature.refusal?.(call, values);
  if (refusal !== undefined) return call.respond(refusal);
  const view = await renderForm(feature, call, origin, values);
  const { fields } = view.form;
  const others = fields.filter(({ kind }) => kind !== 'file');
  try {
    await call.open(formView(view));
  } catch (error) {
    const isRefused = error instanceof SlackApiError && error.kind === 'refused';
    if (!isRefused || others.length === fields.length) throw error;
    await call.open(formView({ ...view, form: { ...view.form, fields: others } }));
  }
}

/**
 * A button that opens a form.
 * @param subjectOf what the form is about
 */
export function opening<const Id extends string>(
  id: Id,
  feature: FormFeature,
  subjectOf: (call: ActionCall) => string | undefined = () => undefined,
): Action<Id> {
  return {
    id,
    run: (call) => openForm(call, feature, formOrigin(call, subjectOf(call))),
  };
}

/** The words of a line after its subcommand, and how many of them, from the first, are used. */
export interface UsedWords {
  readonly words: readonly string[];
  readonly used: number;
}

/**
 * Opens a form from a command's line, with the line's values filled in. Their issues are shown at once, not only
 * after the rest of the form was filled in. A word that is not used may be a secret, so only its place is shown.
 */
export async function openFromLine(
  call: CommandCall,
  feature: FormFeature,
  values: FormValues,
  { words, used }: UsedWords = { words: [], used: 0 },
): Promise<void> {
  const refusal = await feature.refusal?.(call, values);
  if (refusal !== undefined) return call.respond(refusal);
  const given = { ...values, ...(call.reason === undefined ? {} : { reason: call.reason }) };
  const view = await renderForm(feature, call, { channelId: call.channelId }, given);
  // The subcommand is the first word.
  const problems = words.length > used ? [unusedWords(used + 2, words.length + 1)] : [];
  await call.open(formView({ ...view, problems, fieldIssues: feature.issuesOf?.(given) ?? {} }));
}
