import type { KnownBlock } from '@slack/types';
import { z } from 'zod';
import {
  approveInEmergency,
  approveOrder,
  checkCanApprove,
  checkCanBreakGlass,
  recordRefusalShown,
  signOff,
} from '../../approvals/approve.ts';
import { checkCanDeny, denyOrder } from '../../approvals/deny.ts';
import { askRequester, cancelOrder, checkCanAsk } from '../../approvals/pending.ts';
import { needsTypedName } from '../../names/impact.ts';
import { toImpactTask } from '../../names/name-orders.ts';
import { BULK_TASKS } from '../../orders/bulk/columns.ts';
import { type BulkRow, MAX_ROWS } from '../../orders/bulk/read-csv.ts';
import { isPaused } from '../../orders/bulk/waves.ts';
import type { ChangeOutcome } from '../../orders/change-order.ts';
import { type ConfirmOutcome, confirmOrder } from '../../orders/confirm-draft.ts';
import type { OrdersContext } from '../../orders/context.ts';
import { type Order, PUBLIC_RECORD_TASKS } from '../../orders/order.ts';
import { computeOrderCost } from '../../orders/order-budget.ts';
import type { Refusal } from '../../orders/refusal.ts';
import { checkCanResolve, resolveOrder } from '../../orders/resolve.ts';
import { retryOrder } from '../../orders/retry-button.ts';
import { revealSecret } from '../../orders/reveal.ts';
import { stopOrder } from '../../orders/stop.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { undoOrder } from '../../orders/undo.ts';
import { loadVisibleOrder } from '../../orders/visibility.ts';
import { parseDomainName } from '../../zones/names.ts';
import { offerLink } from '../approvals/signing/offer-link.ts';
import { findingLines } from '../bulk/bulk.view.ts';
import { savePlan } from '../bulk/bulk-plan.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type Interaction,
  type SubmissionResult,
  toFormOrigin,
  toViewer,
} from '../feature.ts';
import {
  escapeText,
  lineSections,
  type Message,
  section,
  textMessage,
  untruncatedSections,
} from '../kit/blocks.ts';
import {
  type FieldErrors,
  type Form,
  type FormOrigin,
  type FormValues,
  noticeView,
  parseForm,
  reasonField,
  requiredReasonField,
  textField,
  toFields,
} from '../kit/form.ts';
import { openForm } from '../open-form.ts';
import { updateOpenView } from '../refresh-form.ts';
import { sendFile } from '../send-file.ts';
import { answersFile, answersText, answersView, fitsView, NO_FULL_RESPONSE } from './answer.view.ts';
import { otherAccountText, retryMessage } from './asking.view.ts';
import { cardTitle } from './card.view.ts';
import { transferForm } from './domains.ts';
import { impactLines } from './impact.view.ts';
import { orderTitle, publicRecordLines } from './order.view.ts';
import {
  approvedText,
  BREAK_GLASS_INTRO,
  cancelledText,
  confirmedText,
  NAME_NOT_IN_ORDER,
  outcomeTitle,
  secretView,
  signedOffText,
  stoppedText,
  titleWithId,
  UNDO_REQUESTED,
  undoReason,
  wrongCountText,
  wrongNameText,
} from './order-buttons.view.ts';
import { detailsActions, requireFullView } from './order-details.ts';
import { toFormValues } from './order-form.ts';
import { waitForCard } from './order-posts.ts';
import { buildOutcomeReply, buildRejection } from './order-reply.ts';
import { refusalText } from './refusal.view.ts';
import { briefStatementText } from './statement.view.ts';
import { userForm } from './users.ts';

/*
 * The buttons of an order's card and replies. A button contains only the order's id. Every click loads the order and
 * checks permissions again.
 */

/**
 * Creates the handler of a button that changes the order. The card and the thread show the change. If nothing
 * changes, the reply says why.
 * @param formatReply used in modals, and if the click was acknowledged before the outcome was known
 */
export function createChangeAction(
  changeOrder: (orders: OrdersContext, orderId: string, userId: string) => Promise<ChangeOutcome>,
  formatReply: (title: string, order: Order) => string,
) {
  return async (call: ActionCall): Promise<void> => {
    const outcome = await changeOrder(call.context.orders, call.value, call.person.id);
    // The current rules may require more than the card showed.
    if (!outcome.ok && outcome.refusal.code === 'signature_needed')
      return offerSignature(call, outcome.order);
    const reply = outcome.ok
      ? formatReply(titleWithId(outcome.order), outcome.order)
      : refusalText(outcome.refusal);
    // A modal hides the card and other messages.
    if (call.view !== undefined) {
      call.acknowledge();
      await updateOpenView(call.context.web, call.view.id, noticeView('Order', [section(reply)]));
    } else await (outcome.ok ? call.respondIfLate(reply) : call.respond(reply));
    if (!outcome.ok)
      await recordRefusalShown(call.context.orders, call.value, call.person.id, outcome.refusal);
  };
}

/** A click can't replace a signature, so the person gets a link for signing. */
function offerSignature(call: ActionCall, order: Order | undefined): Promise<void> {
  return offerLink(call, order !== undefined && isPaused(order) ? 'resume' : 'order', call.value);
}

/** The new order must be confirmed and approved like any other. */
async function requestUndo(call: ActionCall): Promise<void> {
  const outcome = await undoOrder(call.context.orders, {
    orderId: call.value,
    userId: call.person.id,
    reason: undoReason(call.value),
    deliveryId: call.deliveryId,
    findPreviousNameServers: call.context.names.impacts.loadPreviousNameServers,
  });
  const reply = await buildOutcomeReply(call, outcome);
  await (reply === undefined ? call.respondIfLate(UNDO_REQUESTED) : call.respond(reply));
}

async function confirmDraft(call: ActionCall): Promise<void> {
  const { orders } = call.context;
  const order = await loadVisibleOrder(orders, toViewer(call), call.value);
  if (order?.state === 'DRAFT' && (await requiresTypedName(call, order))) {
    // The form shows the current impact.
    await call.context.names.impacts.assessAtRequest(order);
    return openForm(call, confirmForm, toFormOrigin(call, order.id));
  }
  await call.respond(await buildConfirmReply(call, await confirmOrder(orders, call.value, call.person.id)));
}

/** A bulk deletion always needs the form, because nobody would notice a wrong name among many. */
function isBulkDeletion(order: Order): boolean {
  return order.bulk !== undefined && getOrderTask(order.task).risk === 'loses_name';
}

async function buildConfirmReply(interaction: Interaction, outcome: ConfirmOutcome): Promise<Message> {
  if (outcome.kind !== 'confirmed') return buildRejection(interaction, outcome);
  return (await waitForCard(interaction, outcome.order)) ?? textMessage(confirmedText(outcome.order));
}

/** The name must be typed if the task can lose the name or its impact is unknown. */
async function requiresTypedName({ context }: Interaction, order: Order): Promise<boolean> {
  if (isBulkDeletion(order)) return true;
  if (order.items.length !== 1 || toImpactTask(order.task) === undefined) return false;
  const impact = await context.names.impacts.findImpactAtRequest(order);
  return impact === undefined || needsTypedName(impact);
}

const confirmSchema = z.object({
  name: textField(
    'Type the name to confirm',
    { hint: 'The full name, for example cafe.rest.' },
    z.string('Type the name.'),
  ),
});

const bulkConfirmSchema = z.object({
  count: textField(
    'How many names?',
    { kind: 'number', range: { min: 1, max: MAX_ROWS } },
    z.string('Enter the number of names.').transform(Number),
  ),
  name: textField(
    'Type one of the names',
    { hint: 'The full name, for example cafe.rest.' },
    z.string('Type one of the names.'),
  ),
});

/** The form's subject is the id of the draft. */
const confirmForm: FormFeature<'confirm'> = {
  form: { name: 'confirm', title: 'Confirm', submit: 'Confirm', fields: toFields(confirmSchema) },
  async render(interaction, origin) {
    const order = await loadVisibleOrder(
      interaction.context.orders,
      toViewer(interaction),
      origin.subject ?? '',
    );
    if (order === undefined) return {};
    const title = section(`*${escapeText(orderTitle(order))}?*`);
    if (isBulkDeletion(order))
      return {
        form: { ...confirmForm.form, fields: toFields(bulkConfirmSchema) },
        intro: [title, ...lineSections(findingLines(order.bulk ?? { findings: [] }))],
      };
    const impact = await interaction.context.names.impacts.findLatestImpact(order);
    return {
      intro: impact === undefined || impact === 'none' ? [] : [title, ...lineSections(impactLines(impact))],
    };
  },
  async submit(call): Promise<SubmissionResult> {
    const { orders } = call.context;
    const order = await loadVisibleOrder(orders, toViewer(call), call.origin.subject ?? '');
    const errors = findRetypeErrors(order, call.values);
    if (errors !== undefined) return { errors };
    const outcome = await confirmOrder(orders, call.origin.subject ?? '', call.person.id);
    return { reply: await buildConfirmReply(call, outcome) };
  },
};

function findRetypeErrors(order: Order | undefined, values: FormValues): FieldErrors | undefined {
  const isBulk = order !== undefined && isBulkDeletion(order);
  const parsed = parseForm(isBulk ? bulkConfirmSchema : confirmSchema, values);
  if ('errors' in parsed) return parsed.errors;
  if (order === undefined) return undefined;
  const parsedName = parseDomainName(parsed.value.name);
  const isNameRight = parsedName.ok && order.items.some(({ name }) => name === parsedName.value.ascii);
  const isCountRight = !('count' in parsed.value) || parsed.value.count === order.items.length;
  if (isNameRight && isCountRight) return undefined;
  return {
    ...(isNameRight ? {} : { name: isBulk ? NAME_NOT_IN_ORDER : wrongNameText(order.items[0]?.name ?? '') }),
    ...(isCountRight ? {} : { count: wrongCountText(order.items.length) }),
  };
}

async function requestRetry(call: ActionCall): Promise<void> {
  const outcome = await retryOrder(call.context.orders, call.value, call.person.id);
  if (outcome.kind === 'needs_secret') return openSecretRetryForm(call, outcome.order);
  if (outcome.kind === 'needs_plan') return planFailedRows(call, outcome.order, outcome.rows);
  const message = await buildOutcomeReply(call, outcome);
  if (message !== undefined) await call.respond(message);
  else if (outcome.kind === 'accepted') await call.respond(retryMessage(outcome.order));
}

/** Reopens the form with the order's input. The person must use the same account and enter the secret again. */
async function openSecretRetryForm(call: ActionCall, order: Order): Promise<void> {
  const account = await call.loadOrderAccount();
  if (account?.id !== order.account.id) return call.respond(otherAccountText(order.account));
  const origin = { channelId: order.channelId, threadTs: order.threadTs, retryOf: order.id };
  await openForm(call, order.task === 'transfer' ? transferForm : userForm, origin, {
    ...toFormValues(order.input),
    ...(order.ownership && { owner: '', ...order.ownership }),
    ...(order.reason === undefined ? {} : { reason: order.reason }),
  });
}

/** Plans the failed rows again. The plan must be confirmed and approved like one from a file. */
async function planFailedRows(call: ActionCall, order: Order, rows: readonly BulkRow[]): Promise<void> {
  const task = BULK_TASKS.find((bulkTask) => bulkTask === order.task);
  if (task === undefined) throw new Error(`order ${order.id} has rows, but ${order.task} isn't a bulk task`);
  const origin = { channelId: order.channelId, threadTs: order.threadTs, retryOf: order.id };
  const plan = await savePlan(call, origin, {
    task,
    rows,
    badRows: [],
    reason: order.reason,
    ownership: order.ownership,
  });
  if ('reply' in plan) await call.respond(plan.reply);
}

async function showSecret(call: ActionCall): Promise<void> {
  const outcome = await revealSecret(call.context.orders, call.value, call.person.id);
  if (outcome.kind === 'refused') {
    const { err, refusal } = outcome;
    if (err !== undefined)
      call.context.log.error({ err, orderId: call.value }, 'showing the secret result of an order failed');
    return call.respond(refusalText(refusal));
  }
  const view = secretView(outcome.order, outcome.secret.reveal());
  await call.open(view, { onFailed: outcome.restore });
}

async function showAnswers(call: ActionCall): Promise<void> {
  const { orders } = call.context;
  const order = await loadVisibleOrder(orders, toViewer(call), call.value);
  if (order === undefined) return call.respond(refusalText({ code: 'no_such_order' }));
  const answers = await orders.store.loadAnswers(order.id, 'system');
  if (answers.length === 0) return call.respond(NO_FULL_RESPONSE);
  const title = orderTitle(order);
  if (fitsView(answers)) return call.open(answersView(order, title, answers));
  await call.respond(
    await sendFile(call, { text: answersText(order, answers), ...answersFile(order, title) }),
  );
}

/** Repeats the order's title above the fields, because on a phone the form hides the card. */
async function renderOrderForm(
  interaction: Interaction,
  { subject = '' }: FormOrigin,
  buildExtraBlocks: (interaction: Interaction, order: Order) => readonly KnownBlock[] = () => [],
) {
  const [orderId = ''] = subject.split(':');
  const order = await loadVisibleOrder(interaction.context.orders, toViewer(interaction), orderId);
  if (order === undefined) return {};
  const cost =
    order.state === 'PENDING' ? await computeOrderCost(interaction.context.orders, order) : undefined;
  return {
    intro: [
      section(`*${escapeText(cardTitle(order, { cost, history: [] }))}*`),
      ...buildExtraBlocks(interaction, order),
    ],
  };
}

/** Everything that an order sends. The rows of a bulk order were shown before the form opened. */
function statementBlocks({ context }: Interaction, order: Order): readonly KnownBlock[] {
  const statement = order.bulk === undefined ? context.buildStatement(order) : undefined;
  // The text is empty for a deletion, which sends only the name.
  const text = statement === undefined ? '' : briefStatementText(statement, order);
  return untruncatedSections([text !== '' && text]);
}

function createReasonForm<const Name extends string>(
  form: Omit<Form<Name>, 'fields'>,
  changeOrder: (
    orders: OrdersContext,
    subject: string,
    userId: string,
    reason: string | undefined,
  ) => Promise<ChangeOutcome>,
  buildIntro: (interaction: Interaction, order: Order) => readonly KnownBlock[] = () => [],
  reasonSchema: z.ZodType<string | undefined> = reasonField('Shown in the thread and the audit log.'),
): FormFeature<Name> {
  const schema = z.object({ reason: reasonSchema });
  const formWithFields: Form<Name> = { ...form, fields: toFields(schema) };
  return {
    form: formWithFields,
    render: (interaction, origin) => renderOrderForm(interaction, origin, buildIntro),
    async submit(call): Promise<SubmissionResult> {
      const { context, origin, person, values } = call;
      const parsed = parseForm(schema, values);
      if ('errors' in parsed) return parsed;
      const { subject = '' } = origin;
      const outcome = await changeOrder(context.orders, subject, person.id, parsed.value.reason);
      if (outcome.ok) return { reply: undefined };
      // The person has now seen the refusal, so their next submission may be accepted.
      await recordRefusalShown(context.orders, subject, person.id, outcome.refusal);
      return { errors: { reason: refusalText(outcome.refusal) } };
    },
  };
}

const denyForm = createReasonForm({ name: 'deny', title: 'Deny this order', submit: 'Deny' }, denyOrder);

const approveForm = createReasonForm(
  { name: 'approve', title: 'Approve this order', submit: 'Approve' },
  approveOrder,
  statementBlocks,
  reasonField('Shown in the thread and the audit log.', 'Comment'),
);

const emergencyReasonField = requiredReasonField(
  'Sent to everyone who could have approved; shown in the thread and the audit log.',
  'Why can’t it wait?',
);

/** Emergency approval by one admin. Another admin reviews it later. The form's subject is the id of the order. */
const breakGlassForm = createReasonForm(
  { name: 'break_glass', title: 'Break glass', submit: 'Approve alone' },
  approveInEmergency,
  (interaction, order) => [...statementBlocks(interaction, order), BREAK_GLASS_INTRO],
  emergencyReasonField,
);

const questionSchema = z.object({
  question: textField(
    'Your question',
    { hint: 'Posted in the thread, where the requester can reply. Asking restarts the approval deadline.' },
    z.string('Enter your question.'),
  ),
});

/** The form's subject is the id of the order. */
const askForm: FormFeature<'ask_back'> = {
  form: { name: 'ask_back', title: 'Ask a question', submit: 'Ask', fields: toFields(questionSchema) },
  render: (interaction, origin) => renderOrderForm(interaction, origin),
  async submit(call): Promise<SubmissionResult> {
    const parsed = parseForm(questionSchema, call.values);
    if ('errors' in parsed) return parsed;
    const { subject = '' } = call.origin;
    const outcome = await askRequester(call.context.orders, subject, call.person.id, parsed.value.question);
    return outcome.ok ? { reply: undefined } : { errors: { question: refusalText(outcome.refusal) } };
  },
};

/** The form's subject is the order and its outcome: `<order id>:done` or `<order id>:failed`. */
const baseResolveForm = createReasonForm(
  { name: 'settle', title: 'Mark the outcome', submit: 'Save' },
  (orders, subject, userId, reason) => {
    const [orderId = '', outcome] = subject.split(':');
    return resolveOrder(orders, orderId, userId, outcome === 'done' ? 'SUCCEEDED' : 'FAILED', reason);
  },
  (_interaction, order) =>
    PUBLIC_RECORD_TASKS.has(order.task) ? lineSections(publicRecordLines(order)) : [],
);

const resolveForm: FormFeature<'settle'> = {
  ...baseResolveForm,
  async render(interaction, origin, values) {
    const title = outcomeTitle(origin.subject?.endsWith(':done') === true);
    const form = { ...baseResolveForm.form, title, submit: title };
    return { ...(await baseResolveForm.render?.(interaction, origin, values)), form };
  },
};

/** Creates the handler of a button that opens a form about the order if the person may submit it. */
function createFormAction(
  form: FormFeature,
  checkAllowed: (orders: OrdersContext, order: Order, userId: string) => Promise<Refusal | undefined>,
  buildSubject = ({ id }: Order) => id,
) {
  return async (call: ActionCall): Promise<void> => {
    const order = await loadVisibleOrder(call.context.orders, toViewer(call), call.value);
    if (order === undefined) return call.respond(refusalText({ code: 'no_such_order' }));
    const refusal = await checkAllowed(call.context.orders, order, call.person.id);
    if (refusal !== undefined) return call.respond(refusalText(refusal));
    await openForm(call, form, toFormOrigin(call, buildSubject(order)));
  };
}

function createResolveAction(outcome: 'done' | 'failed') {
  return createFormAction(resolveForm, checkCanResolve, ({ id }) => `${id}:${outcome}`);
}

export const orderButtons = {
  forms: [confirmForm, approveForm, breakGlassForm, askForm, denyForm, resolveForm],
  actions: [
    ...detailsActions,
    { id: 'order_approve', run: requireFullView(createChangeAction(approveOrder, approvedText)) },
    { id: 'order_approve_comment', run: requireFullView(createFormAction(approveForm, checkCanApprove)) },
    { id: 'order_break_glass', run: requireFullView(createFormAction(breakGlassForm, checkCanBreakGlass)) },
    { id: 'order_sign_off', run: createChangeAction(signOff, signedOffText) },
    { id: 'order_ask', run: createFormAction(askForm, checkCanAsk) },
    { id: 'order_deny', run: createFormAction(denyForm, checkCanDeny) },
    { id: 'order_cancel', run: createChangeAction(cancelOrder, cancelledText) },
    { id: 'order_stop', run: createChangeAction(stopOrder, stoppedText) },
    { id: 'order_confirm', run: confirmDraft },
    { id: 'order_retry', run: requestRetry },
    { id: 'order_undo', run: requestUndo },
    { id: 'order_reveal', run: showSecret },
    { id: 'order_data', run: showAnswers },
    { id: 'order_resolve_done', run: createResolveAction('done') },
    { id: 'order_resolve_failed', run: createResolveAction('failed') },
  ],
} as const satisfies Feature;
