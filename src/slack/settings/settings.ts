import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { TeamSettings } from '../../config/environment.ts';
import {
  CHANNEL_SETTINGS,
  type ChannelSetting,
  formatSettings,
  SETTING_NAMES,
  type SettingChange,
  type SettingName,
  teamSettingsSchema,
} from '../../config/settings.ts';
import { openDigest } from '../../expiry/digest.ts';
import { dropMissing } from '../../lib/collections.ts';
import { type Finding, formatSummary } from '../../ops/doctor/finding.ts';
import { findWeakenedSettings, PROTECTED_SETTINGS } from '../../policy/weakening.ts';
import {
  APPROVER_SETTINGS,
  applySettingChanges,
  findApproverErrors,
  lookUpPeople,
} from '../approvals/approver-errors.ts';
import { charterNotice } from '../approvals/signing/charter.view.ts';
import type { SlackContext } from '../context.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type Interaction,
  type SubmissionCall,
  type SubmissionResult,
  toFormOrigin,
} from '../feature.ts';
import { context as contextBlock, mentionApprover, section, textMessage } from '../kit/blocks.ts';
import {
  type Field,
  type FieldDisplay,
  type FieldErrors,
  type Form,
  type FormValues,
  field,
  formView,
  hashFormContent,
  joinErrors,
  parseForm,
  toFields,
} from '../kit/form.ts';
import { openForm, renderForm } from '../open-form.ts';
import { postMessage } from '../outbound/post-message.ts';
import { formatChannelError } from '../outbound/slack-error.view.ts';
import { SlackApiError } from '../outbound/web.ts';
import { proposalBlocks } from '../proposals/admin-proposal.view.ts';
import { confirmProposal, proposeToAdmins, withdrawProposal } from '../proposals/proposals.ts';
import { updateInClickOrder, updateOpenView } from '../refresh-form.ts';
import {
  addGroupOptions,
  itemsSchema,
  removeGroupMenus,
  replacePickersWithText,
  splitItems,
  splitPeopleAndGroups,
  unwrapMarkup,
} from './people-fields.ts';
import {
  checkBlocks,
  checkView,
  chosenChannelText,
  moreChangesText,
  reminderChannelText,
  SETTING_FIELDS,
  SETTINGS_TEXTS,
  settingChangeLines,
  webhookBlocks,
  webhookTestText,
} from './settings.view.ts';

/* The team's settings, for admins. */

/** The group menus that follow people pickers. */
const GROUP_MENUS: Partial<Record<SettingName, { readonly name: string; readonly display: FieldDisplay }>> = {
  approvers: { name: 'approver_groups', display: { label: 'Approver groups', kind: 'groups' } },
  silent_approvers: {
    name: 'silent_approver_groups',
    display: { label: 'Silent approver groups', kind: 'groups' },
  },
  approval_escalate_to: {
    name: 'approval_escalate_groups',
    display: { label: 'Escalate to groups', kind: 'groups' },
  },
};

const commaSeparatedSchema = itemsSchema.transform((items) => items.join(','));

/**
 * Converts form input to the format of the setting's environment variable, because both are validated by the
 * same schema. Lists and channels become empty if they are missing, because Slack omits empty fields; other
 * missing settings stay unchanged.
 */
function createSettingSchema(name: SettingName, { kind }: FieldDisplay): z.ZodType<string | undefined> {
  if (kind === 'people' || kind === 'multi_select') return commaSeparatedSchema;
  if (kind === 'channel') return z.string().default('').transform(unwrapMarkup);
  return z
    .string()
    .transform((text) => (name === 'reminder_days' ? splitItems(text).join(',') : unwrapMarkup(text)))
    .optional();
}

const settingsSchema = z.object(
  Object.fromEntries(
    SETTING_NAMES.flatMap((name): [string, z.ZodType<string | undefined>][] => {
      const [display, groupMenu] = [SETTING_FIELDS[name], GROUP_MENUS[name]];
      const schema = createSettingSchema(name, display);
      const isRequired = schema.parse(undefined) === undefined;
      return [
        [name, field({ ...display, isRequired }, schema)],
        ...dropMissing([
          groupMenu &&
            ([groupMenu.name, field(groupMenu.display, commaSeparatedSchema)] as [
              string,
              typeof commaSeparatedSchema,
            ]),
        ]),
      ];
    }),
  ),
);

/** Settings shown on the cards of pending orders. */
const CARD_SETTINGS: ReadonlySet<string> = new Set([
  'approvers',
  'silent_approvers',
  'approvals_required',
  'approval_tasks',
]);

const FIELDS = toFields(settingsSchema);
const form: Form<'settings'> = {
  name: 'settings',
  title: 'Settings',
  submit: 'Save',
  fields: removeGroupMenus(FIELDS),
};

/** A fallback with text fields, for when Slack rejects the pickers. */
const plainForm: Form = {
  ...form,
  fields: replacePickersWithText(FIELDS).map(
    (field): Field =>
      field.kind === 'channel'
        ? { ...field, kind: 'text', hint: `The channel’s ID. ${field.hint ?? ''}`.trim() }
        : field,
  ),
};

/** Keeps the previous order of a list that still has the same items. */
function keepOrder<Item extends string>(
  chosenItems: readonly Item[],
  previousItems: readonly Item[],
): readonly Item[] {
  const isSameSet =
    new Set([...chosenItems, ...previousItems]).size === previousItems.length &&
    chosenItems.length === previousItems.length;
  return isSameSet ? previousItems : chosenItems;
}

function readSettings(
  values: FormValues,
  current: TeamSettings,
): { readonly settings: TeamSettings } | { readonly errors: FieldErrors } {
  const parsed = parseForm(settingsSchema, values);
  if ('errors' in parsed) return parsed;
  const currentTexts = formatSettings(current);
  const enteredSettings = Object.fromEntries(
    SETTING_NAMES.map((name) => {
      const texts = [parsed.value[name] ?? currentTexts[name], parsed.value[GROUP_MENUS[name]?.name ?? '']];
      return [name, texts.filter((text) => text !== undefined && text !== '').join(',')];
    }),
  );
  const { data: settings, error } = teamSettingsSchema.safeParse(enteredSettings);
  if (settings === undefined)
    return {
      errors: joinErrors(
        (error?.issues ?? []).map(({ path, message }) => [String(path[0]), `This ${message}.`]),
      ),
    };
  return {
    settings: {
      ...settings,
      approvers: keepOrder(settings.approvers, current.approvers),
      silentApprovers: keepOrder(settings.silentApprovers, current.silentApprovers),
      approvalTasks: keepOrder(settings.approvalTasks, current.approvalTasks),
      approvalEscalateTo: keepOrder(settings.approvalEscalateTo, current.approvalEscalateTo),
    },
  };
}

/** Checks a new channel by posting its purpose there. */
async function checkChannel(
  { web }: SlackContext,
  name: ChannelSetting,
  channelId: string,
  userId: string,
): Promise<FieldErrors> {
  try {
    await postMessage(web, { channelId }, textMessage(chosenChannelText(name, userId)));
    return {};
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return { [name]: formatChannelError(error) };
  }
}

async function saveSettings(call: SubmissionCall): Promise<SubmissionResult> {
  const { context, person } = call;
  const current = await context.loadSettings();
  if (call.origin.subject !== undefined && call.origin.subject !== hashFormContent(formatSettings(current))) {
    return { errors: { approvers: SETTINGS_TEXTS.formOutdated } };
  }
  const parsed = readSettings(call.values, current);
  if ('errors' in parsed) return parsed;
  const currentTexts = formatSettings(current);
  const newTexts = formatSettings(parsed.settings);
  const changes = SETTING_NAMES.filter((name) => currentTexts[name] !== newTexts[name]).map((name) => ({
    name,
    before: currentTexts[name],
    after: newTexts[name],
  }));
  const changedNames = new Set(changes.map(({ name }) => name));
  if (changes.length === 0) return { reply: textMessage(SETTINGS_TEXTS.unchanged) };
  if (changes.some(({ name }) => APPROVER_SETTINGS.has(name))) {
    const errors = await findApproverErrors(context, parsed.settings);
    if (Object.keys(errors).length > 0) return { errors };
  }
  if (changedNames.has('approval_escalate_to')) {
    const people = await lookUpPeople(context, parsed.settings.approvalEscalateTo);
    if (typeof people === 'string') return { errors: { approval_escalate_to: people } };
  }
  for (const name of CHANNEL_SETTINGS) {
    if (!changedNames.has(name) || newTexts[name] === '') continue;
    const errors = await checkChannel(context, name, newTexts[name], person.id);
    if (Object.keys(errors).length > 0) return { errors };
  }
  // If passkeys are in use, every change to a protected setting must be signed first.
  const namesToConfirm =
    context.orders.signing.trust === undefined
      ? findWeakenedSettings(current, parsed.settings)
      : new Set(PROTECTED_SETTINGS.filter((name) => changedNames.has(name)));
  const immediateChanges = changes.filter(({ name }) => !namesToConfirm.has(name));
  const changesToConfirm = changes.filter(({ name }) => namesToConfirm.has(name));
  const addsApprovers = namesToConfirm.has('approvers') || namesToConfirm.has('silent_approvers');
  if (addsApprovers && changedNames.has('approvals_required')) {
    // The current approvers must be enough until the new ones are confirmed.
    const [error] = Object.values(
      await findApproverErrors(context, applySettingChanges(current, immediateChanges)),
    );
    if (error !== undefined)
      return { errors: { approvals_required: `${error} ${SETTINGS_TEXTS.confirmApproversFirst}` } };
  }
  if (immediateChanges.length > 0) await saveChanges(call, immediateChanges);
  const proposalLines =
    changesToConfirm.length === 0
      ? []
      : await proposeToAdmins(call, { kind: 'settings', payload: changesToConfirm });
  const savedLines =
    immediateChanges.length === 0 ? [] : [SETTINGS_TEXTS.saved, ...settingChangeLines(immediateChanges)];
  return { reply: textMessage([...savedLines, ...proposalLines].join('\n')) };
}

async function saveChanges(
  { context, person }: Interaction,
  changes: readonly (SettingChange & { readonly name: SettingName })[],
): Promise<void> {
  await context.settingsStore.save(changes, person.id, context.now());
  context.log.info({ by: person.id, changes }, 'settings changed');
  if (changes.some(({ name }) => CARD_SETTINGS.has(name))) await context.refreshPendingCards();
  // Starts the reminder schedule.
  if (changes.some(({ name }) => name === 'reminder_channel'))
    await openDigest({ settings: context.loadSettings, reminders: context.reminders, now: context.now });
}

/** Makes the channel where the button was clicked the reminder channel. */
async function setReminderChannel(call: ActionCall): Promise<void> {
  const { context, channelId = '', person } = call;
  const { reminderChannel } = await context.loadSettings();
  if (reminderChannel !== undefined) return call.respond(reminderChannelText(reminderChannel, false));
  if (!/^[CG]/.test(channelId)) return call.respond(SETTINGS_TEXTS.noChannelHere);
  const [error] = Object.values(await checkChannel(context, 'reminder_channel', channelId, person.id));
  if (error !== undefined) return call.respond(error);
  await saveChanges(call, [{ name: 'reminder_channel', before: '', after: channelId }]);
  await call.respond(reminderChannelText(channelId, true));
}

/** More proposals wouldn't fit in the form. */
const MAX_SHOWN_PROPOSALS = 3;

const settingsForm: FormFeature<'settings'> = {
  form,

  async render(call, origin, values) {
    const { context, person } = call;
    const [current, proposals, locale, policy] = await Promise.all([
      context.loadSettings(),
      context.proposals.list(['settings', 'prices']),
      context.directory.findLocale(person.id),
      context.orders.policy.loadCurrentPolicy(),
    ]);
    const notice = charterNotice(policy);
    const allValues = {
      ...formatSettings(current),
      ...splitPeopleAndGroups('approvers', 'approver_groups', current.approvers),
      ...splitPeopleAndGroups('silent_approvers', 'silent_approver_groups', current.silentApprovers),
      ...splitPeopleAndGroups('approval_escalate_to', 'approval_escalate_groups', current.approvalEscalateTo),
      approval_tasks: current.approvalTasks,
      ...values,
    };
    return {
      form: { ...form, fields: await addGroupOptions(context, FIELDS, allValues) },
      origin: { ...origin, subject: origin.subject ?? hashFormContent(formatSettings(current)) },
      values: allValues,
      intro: dropMissing([
        notice !== undefined && section(notice),
        section(`Approvers now: ${current.approvers.map(mentionApprover).join(', ')}`),
        contextBlock(SETTINGS_TEXTS.intro),
        ...proposals
          .slice(0, MAX_SHOWN_PROPOSALS)
          .flatMap((proposal) => proposalBlocks(proposal, { userId: person.id, locale })),
        proposals.length > MAX_SHOWN_PROPOSALS &&
          contextBlock(moreChangesText(proposals.length - MAX_SHOWN_PROPOSALS)),
        ...webhookBlocks(context.webhooks.endpoints.map(({ host }) => host)),
        ...checkBlocks(),
      ]),
    };
  },

  submit: saveSettings,
};

async function openSettings(call: Interaction): Promise<void> {
  const origin = toFormOrigin(call);
  try {
    await openForm(call, settingsForm, origin);
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.code !== 'invalid_arguments') throw error;
    call.context.log.warn(
      { err: error },
      'Slack rejected the pickers of the settings form; opening it with text fields',
    );
    const current = await call.context.loadSettings();
    const { approvers, silent_approvers, approval_escalate_to } = formatSettings(current);
    const formValues = { approvers, silent_approvers, approval_escalate_to };
    const view = await renderForm(settingsForm, call, origin, formValues);
    await call.open(formView({ ...view, form: plainForm }));
  }
}

/** The handler confirms or discards a proposal, and then updates the open form. */
function createProposalHandler(confirmOrDiscard: (call: ActionCall) => Promise<void>) {
  return async (call: ActionCall): Promise<void> => {
    await confirmOrDiscard(call);
    if (call.view?.formName !== form.name) return;
    const { id, origin } = call.view;
    await updateInClickOrder(call, id, async () => [
      formView(await renderForm(settingsForm, call, { ...origin, subject: undefined }, {})),
    ]);
  };
}

async function testWebhooks(call: ActionCall): Promise<void> {
  const { endpoints, queueTest } = call.context.webhooks;
  if (endpoints.length > 0) await queueTest();
  await call.respond(textMessage(webhookTestText(endpoints.map(({ host }) => host))));
}

const UPDATE_INTERVAL_MS = 2_000;

/** Opens a view that shows findings as they arrive. */
async function checkSettings(call: ActionCall): Promise<void> {
  const { context } = call;
  const findings: Finding[] = [];
  let isDone = false;
  const collectFindings = async () => {
    for await (const finding of context.runDoctor()) findings.push(finding);
    isDone = true;
  };
  await call.open(checkView([], undefined), {
    async onOpened(viewId) {
      const doctorRun = collectFindings();
      while (!isDone) {
        await Promise.race([doctorRun, sleep(UPDATE_INTERVAL_MS, undefined, { ref: false })]);
        const summary = isDone ? formatSummary(findings) : undefined;
        await updateOpenView(context.web, viewId, checkView(findings, summary));
      }
    },
  });
}

export const settings = {
  commands: [
    {
      usage: 'settings',
      summary: 'Change approvals, reminders and channels',
      example: '/domain settings',
      run: openSettings,
    },
  ],
  forms: [settingsForm],
  actions: [
    { id: 'home_settings', run: openSettings },
    {
      id: 'settings_confirm',
      run: createProposalHandler((call) => confirmProposal(call, ['settings', 'prices'])),
    },
    {
      id: 'settings_dismiss',
      run: createProposalHandler((call) => withdrawProposal(call, ['settings', 'prices'])),
    },
    { id: 'reminders_here', run: setReminderChannel },
    { id: 'webhook_test', run: testWebhooks },
    { id: 'settings_check', run: checkSettings },
  ],
} as const satisfies Feature;
