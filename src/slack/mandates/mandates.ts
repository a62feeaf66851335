import { z } from 'zod';
import { endMandate } from '../../mandates/life.ts';
import { loadMandateStatuses } from '../../mandates/overview.ts';
import { requestMandate } from '../../mandates/request.ts';
import { DEFAULT_NOTICE_DAYS, MAX_NOTICE_DAYS, MIN_NOTICE_DAYS } from '../../mandates/terms.ts';
import { formatDecimal } from '../../money/amount.ts';
import { stopOrder } from '../../orders/stop.ts';
import { parseMandateTerms } from '../../orders/tasks.ts';
import { listVisibleOrders, loadVisibleOrder } from '../../orders/visibility.ts';
import type {
  ActionCall,
  CommandCall,
  Feature,
  Interaction,
  SubmissionCall,
  SubmissionResult,
} from '../feature.ts';
import { toFormOrigin, toViewer } from '../feature.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { createListForm } from '../kit/edited-list.ts';
import {
  choiceField,
  choicesSchema,
  type FormValues,
  joinErrors,
  reasonField,
  textField,
  textOrEmptySchema,
} from '../kit/form.ts';
import { isDirectMessage } from '../kit/mrkdwn.ts';
import { createPageActions, slicePage } from '../kit/pages.ts';
import { openForm } from '../open-form.ts';
import { buildOutcomeReply } from '../orders/order-reply.ts';
import { refusalText } from '../orders/refusal.view.ts';
import {
  MANDATE_NOT_FOUND,
  MANDATES_PER_PAGE,
  mandateEndedText,
  mandateIssueText,
  mandatesMessage,
  renewalsStoppedText,
} from './mandate.view.ts';

const mandateSchema = z.object({
  mandate_names: textField(
    'Names',
    {
      kind: 'lines',
      isRequired: true,
      placeholder: '*.rest, tag:brand, cafe.rest',
      hint: 'The same patterns as in policy rules. They also cover names that you add later.',
    },
    choicesSchema,
  ),
  max_price: textField(
    'Maximum price per name and year',
    { isRequired: true, placeholder: '20.00' },
    textOrEmptySchema,
  ),
  max_total: textField('Maximum total', { isRequired: true, placeholder: '600.00' }, textOrEmptySchema),
  span: choiceField(
    'Period of the total',
    { month: 'Calendar month', year: 'Calendar year' },
    textOrEmptySchema,
    { isRequired: true },
  ),
  until: textField(
    'Until',
    { isRequired: true, placeholder: 'YYYY-MM-DD', hint: 'At most 400 days from now.' },
    textOrEmptySchema,
  ),
  notice: textField(
    'Renew this many days before expiry',
    {
      kind: 'number',
      range: { min: MIN_NOTICE_DAYS, max: MAX_NOTICE_DAYS },
      hint: `From ${MIN_NOTICE_DAYS} to ${MAX_NOTICE_DAYS} days. The default is ${DEFAULT_NOTICE_DAYS}.`,
    },
    textOrEmptySchema,
  ),
  account: choiceField(
    'Account',
    { mine: 'My account', team: 'The team’s account' },
    z.enum(['mine', 'team'], 'Choose an account.'),
  ),
  reason: reasonField('Shown to the approvers.'),
});

/** If the form is opened from an earlier mandate, that mandate's terms prefill it. */
const mandateForm = createListForm({
  form: { name: 'mandate', title: 'Request a mandate', submit: 'Request' },
  createSchema: () => mandateSchema,
  find: (call: Interaction, id: string) => loadVisibleOrder(call.context.orders, toViewer(call), id),
  async buildValues(previousOrder, { context, person }) {
    const ownAccount = await context.accounts.findActive(person.id);
    const account = ownAccount === undefined ? 'team' : 'mine';
    return {
      span: 'year',
      account,
      notice: String(DEFAULT_NOTICE_DAYS),
      ...toFormValues(previousOrder?.input),
    };
  },
  notFoundErrors: { mandate_names: MANDATE_NOT_FOUND },
  save: requestMandateFromForm,
});

/** Omits the end date, because a new mandate needs a later one. */
function toFormValues(input: unknown): FormValues {
  const terms = parseMandateTerms(input);
  if (terms === undefined) return {};
  const { mandate_names, max_price, max_total, span, notice } = terms;
  return {
    mandate_names: mandate_names.join('\n'),
    max_price: formatDecimal(max_price),
    max_total: formatDecimal(max_total),
    span,
    notice: String(notice),
  };
}

async function requestMandateFromForm(
  call: SubmissionCall,
  { account, reason, mandate_names, ...terms }: z.output<typeof mandateSchema>,
): Promise<SubmissionResult> {
  const { accounts, orders } = call.context;
  const { channelId, threadTs } = call.origin;
  const outcome = await requestMandate(orders, {
    terms: { ...terms, mandate_names: mandate_names.join('\n') },
    account: account === 'mine' ? await accounts.findActive(call.person.id) : await accounts.team.find(),
    reason,
    requesterId: call.person.id,
    channelId,
    threadTs,
    isPrivate: isDirectMessage(channelId),
    deliveryId: call.deliveryId,
  });
  if (outcome.kind === 'invalid_terms')
    return { errors: joinErrors(outcome.issues.map((issue) => [issue.field, mandateIssueText(issue)])) };
  return { reply: await buildOutcomeReply(call, outcome) };
}

async function buildMandatesPage(call: Interaction, offset: number): Promise<Message> {
  const { orders } = call.context;
  const viewer = toViewer(call);
  const [{ statuses, hiddenCount }, pendingOrders] = await Promise.all([
    loadMandateStatuses(orders, viewer),
    listVisibleOrders(orders, viewer, { tasks: ['mandate'], states: ['PENDING'], limit: 20 }),
  ]);
  return mandatesMessage(slicePage(statuses, offset, MANDATES_PER_PAGE), pendingOrders, hiddenCount);
}

async function endOneMandate(call: ActionCall): Promise<void> {
  const outcome = await endMandate(call.context.orders, call.value, call.person.id);
  if (outcome.ok) call.context.notifyDue();
  await call.respond(textMessage(outcome.ok ? mandateEndedText(call.value) : refusalText(outcome.refusal)));
}

/** Stops the unsent orders of a daily message, as far as the person is allowed to. */
async function stopMandateOrders(call: ActionCall): Promise<void> {
  const { orders, notifyDue } = call.context;
  const acts = await orders.mandates.listActsOfDay(call.value);
  let [candidateCount, stoppedCount] = [0, 0];
  let lastRefusalText: string | undefined;
  for (const { held, orderId } of acts) {
    if (held !== undefined || orderId === undefined) continue;
    const order = await loadVisibleOrder(orders, toViewer(call), orderId);
    if (order?.state !== 'APPROVED' && order?.state !== 'EXECUTING') continue;
    candidateCount += 1;
    const outcome = await stopOrder(orders, orderId, call.person.id);
    if (outcome.ok) stoppedCount += 1;
    else lastRefusalText = refusalText(outcome.refusal);
  }
  notifyDue();
  await call.respond(
    textMessage(
      stoppedCount === 0 && lastRefusalText !== undefined
        ? lastRefusalText
        : renewalsStoppedText(stoppedCount, candidateCount),
    ),
  );
}

export const mandates = {
  commands: [
    {
      usage: 'mandates',
      summary: 'Show mandates, which renew names within limits',
      example: '/domain mandates',
      run: async (call: CommandCall) => call.respond(await buildMandatesPage(call, 0)),
    },
  ],
  forms: [mandateForm],
  actions: [
    {
      id: 'mandate_add',
      run: (call: ActionCall) =>
        openForm(call, mandateForm, toFormOrigin(call, call.value === 'new' ? undefined : call.value)),
    },
    { id: 'mandate_end', run: endOneMandate },
    { id: 'mandate_stop_all', run: stopMandateOrders },
    ...createPageActions('mandates', async (call: ActionCall, { offset }) =>
      call.respond(await buildMandatesPage(call, offset), { replace: true }),
    ),
  ],
} as const satisfies Feature;
