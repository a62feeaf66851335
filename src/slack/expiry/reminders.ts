import { z } from 'zod';
import { getExpiryDay } from '../../expiry/days.ts';
import { MAX_SNOOZE_DAYS } from '../../expiry/watch-list.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { rulesOutRenewal } from '../../names/incident.ts';
import { MAX_NAMES } from '../../orders/tasks.ts';
import { canSee } from '../../orders/visibility.ts';
import { formatDomainName } from '../../zones/names.ts';
import { loadDomainWaitingCostCalculator, loadRenewalDays } from '../approvals/waiting.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type Interaction,
  type SubmissionResult,
  toFormOrigin,
  toViewer,
} from '../feature.ts';
import { formatCount, LIMITS, lineSections, type Message, section, textMessage } from '../kit/blocks.ts';
import {
  type Form,
  type FormOrigin,
  field,
  parseForm,
  reasonField,
  requiredReasonField,
  requiredTextSchema,
  sendAtField,
  splitLines,
  textField,
  toFields,
} from '../kit/form.ts';
import { isDirectMessage } from '../kit/mrkdwn.ts';
import { createChangeSaver, requestConfirmation } from '../names/name-changes.ts';
import { openForm } from '../open-form.ts';
import { alreadyOpenFieldText } from '../orders/asking.view.ts';
import { renewForm, restoreForm } from '../orders/domains.ts';
import { toFieldErrors } from '../orders/input-issue.view.ts';
import { joinErrorsByField } from '../orders/order-form.ts';
import { buildOutcomeReply, findTimeErrors } from '../orders/order-reply.ts';
import { requestOrderFromInteraction } from '../orders/ordering.ts';
import { confirmProposal } from '../proposals/proposals.ts';
import { loadLapseDetails } from '../proposals/views.ts';
import { digestList } from './digest.view.ts';
import { MAX_LISTED_NAMES } from './expiring.view.ts';
import {
  alreadyRenewedText,
  doNotRenewText,
  formatDay,
  formatDaysLeft,
  lapseText,
  NOTHING_TO_RENEW,
  newExpiryQuestion,
  noLongerWatchedText,
  renewHint,
} from './expiry.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

/*
 * The buttons of a digest. A button's value is a name, or the digest's subject if the button is about all names. Each
 * click reads the current state.
 */

/** The order's card goes to the name's channel, or else to the reminder channel. */
async function findCardOrigin(call: Interaction, preferredChannel: string | undefined): Promise<FormOrigin> {
  const { reminderChannel } = await call.context.loadSettings();
  return { channelId: preferredChannel ?? reminderChannel ?? call.channelId ?? '' };
}

async function findNameChannel({ context, value }: ActionCall): Promise<string | undefined> {
  return (await context.portfolio.find(value))?.channel;
}

/** `destination` is a channel, a person, or empty for the reminder channel. */
function parseDigestSubject(subject: string): { readonly digestId: string; readonly destination: string } {
  const [digestId = '', destination = ''] = subject.split('/');
  return { digestId, destination };
}

/** Undefined for direct messages, where approvers couldn't see a card. */
function findDigestChannel(subject: string): string | undefined {
  const { destination } = parseDigestSubject(subject);
  return /^[CG]/.test(destination) ? destination : undefined;
}

/**
 * Returns the digest's thread. If the digest is a direct message, returns the name's channel or the reminder channel,
 * where another person can confirm.
 */
async function findThreadOrigin(call: ActionCall): Promise<FormOrigin> {
  if (call.channelId !== undefined && isDirectMessage(call.channelId)) {
    return { ...(await findCardOrigin(call, await findNameChannel(call))), subject: call.value };
  }
  return { ...toFormOrigin(call, call.value), threadTs: call.threadTs ?? call.messageTs };
}

/** Digests aren't updated, so an old button could renew a name a second time. */
async function findRepeatedRenewalRefusal(call: ActionCall): Promise<Message | undefined> {
  const [domain, { reminderDays, reminderTimezone }] = await Promise.all([
    call.context.expiry.find(call.value),
    call.context.loadSettings(),
  ]);
  if (domain?.expiry === undefined) return undefined;
  const { at, source } = domain.expiry;
  const daysLeft = (at.getTime() - call.context.now().getTime()) / DAY_MS;
  if (daysLeft <= Math.max(0, ...reminderDays) + 1) return undefined;
  return textMessage(alreadyRenewedText(domain.name, getExpiryDay(at, source, reminderTimezone)));
}

async function openRenewForm(call: ActionCall): Promise<void> {
  const refusal = await findRepeatedRenewalRefusal(call);
  if (refusal !== undefined) return call.respond(refusal);
  const incidents = await call.context.names.incidents.listOpen([call.value]);
  if (incidents.some(rulesOutRenewal)) return call.respond(doNotRenewText(call.value));
  await openForm(call, renewForm, await findCardOrigin(call, await findNameChannel(call)), {
    names: call.value,
    period: '1',
  });
}

async function openRestoreForm(call: ActionCall): Promise<void> {
  await openForm(call, restoreForm, await findCardOrigin(call, await findNameChannel(call)), {
    name: call.value,
  });
}

async function openRenewManyForm(call: ActionCall): Promise<void> {
  const origin = { ...(await findCardOrigin(call, findDigestChannel(call.value))), subject: call.value };
  const { digestId, destination } = parseDigestSubject(call.value);
  const names = await call.context.expiry.listRenewable(digestId, destination);
  if (names.length === 0) return call.respond(NOTHING_TO_RENEW);
  await openForm(call, renewManyForm, origin, { period: '1' });
}

async function showAllNames(call: ActionCall): Promise<void> {
  const { expiry, now } = call.context;
  const { digestId, destination } = parseDigestSubject(call.value);
  const [names, calculateCost] = await Promise.all([
    expiry.loadMessageNames(digestId, destination),
    loadDomainWaitingCostCalculator(call.context),
  ]);
  const renewals = await loadRenewalDays(call.context, names.slice(0, MAX_LISTED_NAMES));
  await call.respond(digestList(names, calculateCost, renewals, now()));
}

function createFormOpener(form: FormFeature) {
  return async (call: ActionCall): Promise<void> => {
    const domain = await call.context.expiry.find(call.value);
    if (domain === undefined) return call.respond(noLongerWatchedText(call.value));
    await openForm(call, form, await findThreadOrigin(call));
  };
}

const renewManySchema = z.object({
  names: field({ label: 'Names', kind: 'multi_select' }, z.array(z.string(), 'Select at least one name.')),
  period: textField('Period in years', { kind: 'number' }, requiredTextSchema),
  reason: reasonField('Shown to the approvers.'),
  send_at: sendAtField,
});
const renewManyDeclaration: Form<'renew_many'> = {
  name: 'renew_many',
  title: 'Renew domains',
  submit: 'Request',
  fields: toFields(renewManySchema),
};

export const renewManyForm: FormFeature<'renew_many'> = {
  form: renewManyDeclaration,
  checkAccess: (call) => renewForm.checkAccess?.(call) ?? Promise.resolve(undefined),

  async render(call, origin, values) {
    // A form opened from the list of names contains the names. A form opened from a digest has a subject.
    const digest = origin.subject === undefined ? undefined : parseDigestSubject(origin.subject);
    const names =
      digest === undefined
        ? await call.context.expiry.filterRenewable(splitLines(values['names']))
        : await call.context.expiry.listRenewable(digest.digestId, digest.destination);
    const options = names
      .slice(0, LIMITS.options)
      .filter(({ domain }) => domain.name.length <= LIMITS.optionValue)
      .map(({ domain, daysLeft = 0 }) => ({
        value: domain.name,
        text: `${formatDomainName(domain.name)}, ${daysLeft < 0 ? 'expired ' : ''}${formatDaysLeft(daysLeft)}`,
      }));
    const hint = renewHint(Math.max(names.length, Number(values['found'] ?? 0)), MAX_NAMES);
    const fields = renewManyDeclaration.fields.map((field) =>
      field.name === 'names' ? { ...field, options, hint } : field,
    );
    const selectedNames = splitLines(values['names']).slice(0, MAX_NAMES);
    return { form: { ...renewManyDeclaration, fields }, values: { ...values, names: selectedNames } };
  },

  async submit(call): Promise<SubmissionResult> {
    const parsed = parseForm(renewManySchema, call.values);
    if ('errors' in parsed) return parsed;
    const { subject } = call.origin;
    const origin =
      subject === undefined ? call.origin : await findCardOrigin(call, findDigestChannel(subject));
    const { names, period, reason, send_at: sendAt } = parsed.value;
    const request = { task: 'renew', input: { names, period }, reason, sendAt } as const;
    const outcome = await requestOrderFromInteraction(call, origin, request);
    const timeError = findTimeErrors(outcome);
    if (timeError !== undefined) return timeError;
    if (outcome.kind === 'invalid') {
      return { errors: joinErrorsByField(toFieldErrors(outcome.issues)) };
    }
    if (outcome.kind === 'already_open') {
      // With a field error, the other names stay selected.
      return {
        errors: {
          names: alreadyOpenFieldText(
            outcome.order,
            names,
            await canSee(call.context.orders, outcome.order, toViewer(call)),
          ),
        },
      };
    }
    return { reply: await buildOutcomeReply(call, outcome) };
  },
};

/** Suggested if the name has enough days left. */
const DEFAULT_SNOOZE_DAYS = 7;

const snoozeSchema = z.object({
  days: field(
    { label: 'Days', kind: 'number', range: { min: 1, max: MAX_SNOOZE_DAYS } },
    // Not validated here, because `snooze` reports invalid numbers.
    requiredTextSchema.transform(Number),
  ),
  reason: reasonField('Shown in the thread.'),
});
const snoozeDeclaration: Form<'snooze'> = {
  name: 'snooze',
  title: 'Snooze',
  submit: 'Snooze',
  fields: toFields(snoozeSchema),
};

const snoozeForm: FormFeature<'snooze'> = {
  form: snoozeDeclaration,

  async render(call, origin, values) {
    const { subject: name = '' } = origin;
    const { daysLeft, until, action } = (await call.context.expiry.findListedName(name))?.deadline ?? {};
    // `snooze` refuses names without a known deadline, and names on their last day.
    const maxDays =
      daysLeft === undefined || daysLeft < 1 ? MAX_SNOOZE_DAYS : Math.min(daysLeft, MAX_SNOOZE_DAYS);
    const hint =
      until === undefined
        ? {}
        : {
            hint: `At most ${formatCount(maxDays, 'day')}, because ${formatDomainName(name)} must be ${action === 'renew' ? 'renewed' : 'restored'} by ${formatDay(until)}.`,
          };
    const fields = snoozeDeclaration.fields.map((field) =>
      field.name === 'days' ? { ...field, ...hint, range: { min: 1, max: maxDays } } : field,
    );
    return {
      form: { ...snoozeDeclaration, fields },
      values: { days: String(Math.min(DEFAULT_SNOOZE_DAYS, maxDays)), ...values },
    };
  },

  async submit(call) {
    const parsed = parseForm(snoozeSchema, call.values);
    if ('errors' in parsed) return parsed;
    const { days, reason } = parsed.value;
    const { context, origin } = call;
    const request = { name: origin.subject ?? '', reason, origin: toMessagePlace(origin) };
    const outcome = await context.expiry.snooze(request, days, createChangeSaver(call));
    if (!outcome.ok) return { errors: { days: formatWatchRefusal(outcome.refusal) } };
    context.notifyDue();
    return { reply: undefined };
  },
};

const lapseSchema = z.object({
  reason: requiredReasonField('Shown to the person who has to confirm.'),
});

const lapseForm: FormFeature<'lapse'> = {
  form: { name: 'lapse', title: 'Let it lapse', submit: 'Let it lapse', fields: toFields(lapseSchema) },

  async render(call, origin) {
    const name = origin.subject ?? '';
    // Only stored data is used, so that the form opens quickly.
    const details = await loadLapseDetails(
      call.context,
      name,
      call.context.names.impacts.assessStoredFacts(name, 'lapse'),
    );
    return {
      intro: [
        section(lapseText(name)),
        ...lineSections([...details.impactLines, details.deadlinesText !== '' && details.deadlinesText]),
      ],
    };
  },

  async submit(call) {
    const parsed = parseForm(lapseSchema, call.values);
    if ('errors' in parsed) return parsed;
    const { context, origin } = call;
    const request = { name: origin.subject ?? '', origin: toMessagePlace(origin), ...parsed.value };
    const outcome = await context.expiry.requestLapse(request, createChangeSaver(call));
    if (!outcome.ok) return { errors: { reason: formatWatchRefusal(outcome.refusal) } };
    context.notifyDue();
    return { reply: undefined };
  },
};

const renewedElsewhereSchema = z.object({
  expires: textField(
    'Expires',
    { placeholder: 'YYYY-MM-DD', hint: 'I’ll use this date until the registry shows a new one.' },
    requiredTextSchema,
  ),
  note: field(
    { label: 'Note', kind: 'text', hint: 'Shown in the thread.' },
    z.string().max(500, 'Use at most 500 characters.').optional(),
  ),
});

const renewedElsewhereForm: FormFeature<'renewed'> = {
  form: {
    name: 'renewed',
    title: 'Renewed elsewhere',
    submit: 'Save',
    fields: toFields(renewedElsewhereSchema),
  },

  render: (_call, { subject = '' }) => ({ intro: [section(newExpiryQuestion(subject))] }),

  async submit(call) {
    const parsed = parseForm(renewedElsewhereSchema, call.values);
    if ('errors' in parsed) return parsed;
    const { context, origin } = call;
    const { expires, note: reason } = parsed.value;
    const request = { name: origin.subject ?? '', reason, origin: toMessagePlace(origin) };
    const outcome = await context.expiry.recordRenewal(request, expires, createChangeSaver(call));
    if (!outcome.ok) return { errors: { expires: formatWatchRefusal(outcome.refusal) } };
    context.notifyDue();
    if (outcome.proposal === undefined) return { reply: undefined };
    return { reply: textMessage(await requestConfirmation(call, outcome.proposal)) };
  },
};

function toMessagePlace({ channelId, threadTs }: FormOrigin) {
  return { channelId, threadTs };
}

export const reminders = {
  forms: [renewManyForm, snoozeForm, lapseForm, renewedElsewhereForm],
  actions: [
    { id: 'reminder_renew', run: openRenewForm },
    { id: 'reminder_renewed', run: createFormOpener(renewedElsewhereForm) },
    { id: 'reminder_restore', run: openRestoreForm },
    { id: 'reminder_renew_many', run: openRenewManyForm },
    { id: 'reminder_all', run: showAllNames },
    { id: 'reminder_snooze', run: createFormOpener(snoozeForm) },
    { id: 'reminder_lapse', run: createFormOpener(lapseForm) },
    { id: 'lapse_confirm', run: (call) => confirmProposal(call, ['lapse']) },
  ],
} as const satisfies Feature;
