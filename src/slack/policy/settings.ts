import { present } from '../../collections.ts';
import type { TeamSettings } from '../../config.ts';
import { ORDER_TASK_NAMES } from '../../orders/tasks.ts';
import { loosenedSettings } from '../../policy/loosening.ts';
import { isGroup } from '../../policy/policy.ts';
import {
  CHANNEL_SETTINGS,
  type ChannelSetting,
  SETTING_NAMES,
  type SettingChange,
  type SettingName,
  settingsAsText,
  teamSettings,
} from '../../settings.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  formOrigin,
  type Interaction,
  linesOf,
  renderForm,
  type SlackDeps,
  type SubmissionCall,
  type Submitted,
} from '../feature.ts';
import { context, count, mention, mentionApprover, section, textMessage } from '../kit/blocks.ts';
import {
  type Field,
  type FieldErrors,
  type Form,
  type FormValues,
  formView,
  joinErrors,
} from '../kit/form.ts';
import { openForm } from '../orders/ordering.ts';
import { postMessage } from '../outbound/post-message.ts';
import { channelError } from '../outbound/slack-error.view.ts';
import { SlackApiError } from '../outbound/web.ts';
import { updateOpenView } from '../refresh-form.ts';
import { approverErrors, lookUpPeople, withChanges } from './approver-errors.ts';
import { fingerprint } from './fingerprint.ts';
import { waitingBlocks } from './pending-change.view.ts';
import { confirmChange, dismissChange, waitingChanges, waitWithSettings } from './pending-changes.ts';
import { type GroupMenu, type GroupMenus, withGroups, withTypedIds } from './people-fields.ts';
import { PEOPLE_SETTINGS, type PeopleSetting, SETTING_LABELS, settingLines } from './settings.view.ts';

/*
 * The team's settings: who approves, what waits for approval, when reminders go out. For admins.
 */

const FIELDS: Readonly<Record<SettingName, Omit<Field, 'name' | 'label'>>> = {
  approvers: {
    kind: 'people',
    // Groups alone are enough.
    optional: true,
    hint: 'People who may approve.',
  },
  approvals_required: {
    kind: 'number',
    hint: 'What waits already needs the larger of this and the number that it was asked with.',
  },
  approval_tasks: {
    kind: 'picks',
    optional: true,
    options: ORDER_TASK_NAMES.map((name) => ({ value: name, text: name })),
    hint: 'The others are carried out at once, unless a rule of /domain policy says otherwise.',
  },
  approval_ttl: {
    kind: 'text',
    placeholder: '72h',
    hint: 'A number with s, m, h or d, such as 72h or 7d.',
  },
  approval_remind_after: {
    kind: 'text',
    placeholder: '4h',
    hint: 'Once an order, with the same units.',
  },
  allow_self_approval: {
    kind: 'choice',
    options: [
      { value: 'false', text: 'No, somebody else has to' },
      { value: 'true', text: 'Yes' },
    ],
  },
  approval_channel: {
    kind: 'channel',
    optional: true,
    hint: 'The card of what waits is posted here too. I have to be in it: /invite @Domain Steward.',
  },
  approval_escalate_after: {
    kind: 'text',
    placeholder: '24h',
    hint: 'Once an order that still waits, with the same units.',
  },
  approval_escalate_to: {
    kind: 'people',
    optional: true,
    hint: 'Nobody, and no group: the admins.',
  },
  alert_channel: {
    kind: 'channel',
    optional: true,
    hint: 'I have to be in it: /invite @Domain Steward. Empty: the channel of the expiry reminders.',
  },
  report_channel: {
    kind: 'channel',
    optional: true,
    hint: 'I have to be in it: /invite @Domain Steward. Empty: the channel of the expiry reminders.',
  },
  reminder_channel: {
    kind: 'channel',
    optional: true,
    hint: 'I have to be in it: /invite @Domain Steward. Empty: no reminders.',
  },
  reminder_days: {
    kind: 'text',
    placeholder: '60,30,14,7,3,1',
    hint: 'Whole numbers, separated by commas.',
  },
  reminder_cron: {
    kind: 'text',
    placeholder: '0 9 * * *',
    hint: 'A cron line: minute, hour, day of the month, month, day of the week. 0 9 * * 1-5 is 9:00 from Monday to Friday.',
  },
  reminder_timezone: {
    kind: 'text',
    placeholder: 'Europe/Berlin',
  },
};

const GROUPS = {
  approvers: {
    name: 'approver_groups',
    label: 'Approver groups',
    hint: 'Whoever belongs to one of these user groups may approve too.',
  },
  approval_escalate_to: {
    name: 'approval_escalate_groups',
    label: 'Groups that are called then',
  },
} satisfies GroupMenus & Record<PeopleSetting, GroupMenu>;

function isPeopleSetting(name: string): name is PeopleSetting {
  return PEOPLE_SETTINGS.some((each) => each === name);
}

/** What cards of waiting orders say. */
const CARD_SETTINGS: readonly SettingName[] = ['approvers', 'approvals_required', 'approval_tasks'];

/** What a channel is told when it is chosen, which also shows whether the bot may post there. */
const CHANNEL_PURPOSES: Readonly<Record<ChannelSetting, string>> = {
  approval_channel: ':ballot_box_with_check: Orders that wait for approval are shown here from now on',
  alert_channel: ':rotating_light: Alarms about names come here from now on',
  report_channel: ':moneybag: The report on each month’s money comes here from now on',
  reminder_channel: ':calendar: Reminders of expiring domains come here from now on',
};

const form: Form<'settings'> = {
  name: 'settings',
  title: 'Settings',
  submit: 'Save',
  fields: SETTING_NAMES.map((name) => ({ name, label: SETTING_LABELS[name], ...FIELDS[name] })),
};

const EMPTY_CHANNELS: Readonly<Record<string, string>> = {
  approval_channel: 'Empty: orders are shown only where they were asked for.',
  alert_channel: 'Empty: the channel of the expiry reminders.',
  report_channel: 'Empty: the channel of the expiry reminders.',
  reminder_channel: 'Empty: no reminders.',
} satisfies Record<ChannelSetting, string>;

/** Used where Slack refuses the pickers. */
const plainForm: Form = {
  ...form,
  fields: form.fields.map(
    (field): Field =>
      field.kind === 'channel'
        ? { ...field, kind: 'text', hint: `The channel’s id. ${EMPTY_CHANNELS[field.name] ?? ''}`.trim() }
        : withTypedIds(field),
  ),
};

/** Slack's markup of a person, group or channel, as it is pasted. It becomes the id. */
const MARKUP = /<(?:@|#|!subteam\^)([A-Z0-9]+)(?:\|[^>]*)?>/g;
/** Settings with several values, separated by blanks, commas or semicolons. */
const LISTS: ReadonlySet<SettingName> = new Set([...PEOPLE_SETTINGS, 'approval_tasks', 'reminder_days']);

/** The text that a setting's variable would have for what was typed. */
function typedText(values: FormValues, name: SettingName): string {
  const value = isPeopleSetting(name) ? pickedIn(values, name) : (values[name] ?? '');
  const text = (typeof value === 'string' ? value : value.join(',')).replace(MARKUP, ' $1 ').trim();
  return LISTS.has(name)
    ? text
        .split(/[\s,;]+/)
        .filter((part) => part !== '')
        .join(',')
    : text;
}

/** The picked people and groups. A text holds both already: ids that were pasted, or sent by a program. */
function pickedIn(values: FormValues, name: PeopleSetting): string | readonly string[] {
  const people = values[name] ?? [];
  return typeof people === 'string' ? people : [...people, ...linesOf(values, GROUPS[name].name)];
}

/** The same people or tasks in another order are no change. */
function keepOrder<Each extends string>(chosen: readonly Each[], before: readonly Each[]): readonly Each[] {
  const same = new Set([...chosen, ...before]).size === before.length && chosen.length === before.length;
  return same ? before : chosen;
}

/** The settings that a form asks for, or what is wrong, by field. */
function readSettings(
  values: FormValues,
  current: TeamSettings,
): { readonly settings: TeamSettings } | { readonly errors: FieldErrors } {
  const before = settingsAsText(current);
  // A setting that the form did not show stays as it is. Slack also leaves out an optional input that was
  // emptied.
  const isLeftOut = (name: SettingName) => values[name] === undefined && FIELDS[name].optional !== true;
  const typed = Object.fromEntries(
    SETTING_NAMES.map((name) => [name, isLeftOut(name) ? before[name] : typedText(values, name)]),
  );
  const { data: settings, error } = teamSettings.safeParse(typed);
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
      approvalTasks: keepOrder(settings.approvalTasks, current.approvalTasks),
      approvalEscalateTo: keepOrder(settings.approvalEscalateTo, current.approvalEscalateTo),
    },
  };
}

/** Posts in a new channel what it is used for from now on. */
async function channelErrors(
  { web }: SlackDeps,
  name: ChannelSetting,
  channelId: string,
  by: string,
): Promise<FieldErrors> {
  const message = textMessage(`${CHANNEL_PURPOSES[name]}, set by ${mention(by)}.`);
  try {
    await postMessage(web, { channelId }, message);
    return {};
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return { [name]: channelError(error) };
  }
}

async function saveSettings(call: SubmissionCall): Promise<Submitted> {
  const { deps, person } = call;
  const current = await deps.settings();
  if (call.origin.subject !== undefined && call.origin.subject !== fingerprint(settingsAsText(current))) {
    return {
      errors: { approvers: 'Somebody changed the settings meanwhile. Close this and open it again.' },
    };
  }
  const read = readSettings(call.values, current);
  if ('errors' in read) return read;
  const before = settingsAsText(current);
  const after = settingsAsText(read.settings);
  const changes = SETTING_NAMES.filter((name) => before[name] !== after[name]).map((name) => ({
    name,
    before: before[name],
    after: after[name],
  }));
  const changed = new Set(changes.map(({ name }) => name));
  if (changes.length === 0) return { say: textMessage('Nothing was changed.') };
  if (changed.has('approvers') || changed.has('approvals_required')) {
    const errors = await approverErrors(deps, read.settings);
    if (Object.keys(errors).length > 0) return { errors };
  }
  if (changed.has('approval_escalate_to')) {
    const people = await lookUpPeople(deps, read.settings.approvalEscalateTo);
    if (typeof people === 'string') return { errors: { approval_escalate_to: people } };
  }
  for (const name of CHANNEL_SETTINGS) {
    if (!changed.has(name) || after[name] === '') continue;
    const errors = await channelErrors(deps, name, after[name], person.id);
    if (Object.keys(errors).length > 0) return { errors };
  }
  const loosened = loosenedSettings(current, read.settings);
  const atOnce = changes.filter(({ name }) => !loosened.has(name));
  const waiting = changes.filter(({ name }) => loosened.has(name));
  if (loosened.has('approvers') && changed.has('approvals_required')) {
    // Until the new approvers are confirmed, the former ones alone have to be enough.
    const [error] = Object.values(await approverErrors(deps, withChanges(current, atOnce)));
    if (error !== undefined) return { errors: { approvals_required: `${error} ${APART}` } };
  }
  if (atOnce.length > 0) await saveAtOnce(call, atOnce);
  const waits = waiting.length === 0 ? [] : await waitWithSettings(call, waiting);
  const saved =
    atOnce.length === 0
      ? []
      : [
          ':white_check_mark: Saved. It holds from now on, over what the environment says.',
          ...settingLines(atOnce),
        ];
  return { say: textMessage([...saved, ...waits].join('\n')) };
}

/** Said where more approvals are asked for than there are approvers before the new ones are confirmed. */
const APART =
  'The new approvers wait for another admin: save them first, and raise this once they are confirmed.';

async function saveAtOnce(
  { deps, person }: SubmissionCall,
  changes: readonly (SettingChange & { readonly name: SettingName })[],
): Promise<void> {
  await deps.settingsStore.save(changes, person.id, deps.now());
  deps.log.info({ by: person.id, changes }, 'settings changed');
  if (!CARD_SETTINGS.some((name) => changes.some((change) => change.name === name))) return;
  await deps
    .refreshWaitingCards()
    .catch((err: unknown) => deps.log.warn({ err }, 'showing the settings on cards'));
}

/** So many changes that wait fit into the form, with its fields. */
const WAITING_SHOWN = 3;

const settingsForm: FormFeature<'settings'> = {
  form,

  async render(call, origin, values) {
    const { deps, person } = call;
    const [current, waiting, locale] = await Promise.all([
      deps.settings(),
      waitingChanges(deps),
      deps.directory.localeOf(person.id),
    ]);
    const { approvers, approvalEscalateTo } = current;
    const set = [...new Set([...approvers, ...approvalEscalateTo])].filter(isGroup);
    const isPerson = (id: string) => !isGroup(id);
    return {
      form: { ...form, fields: await withGroups(call.deps, form.fields, GROUPS, set) },
      origin: { ...origin, subject: origin.subject ?? fingerprint(settingsAsText(current)) },
      values: {
        ...settingsAsText(current),
        approvers: approvers.filter(isPerson),
        [GROUPS.approvers.name]: approvers.filter(isGroup),
        approval_escalate_to: approvalEscalateTo.filter(isPerson),
        [GROUPS.approval_escalate_to.name]: approvalEscalateTo.filter(isGroup),
        approval_tasks: current.approvalTasks,
        ...values,
      },
      intro: present([
        section(`Approvers now: ${approvers.map(mentionApprover).join(', ')}`),
        context('What you save here wins over the environment. Who changed what stands in the audit log.'),
        ...waiting
          .slice(0, WAITING_SHOWN)
          .flatMap((each) => waitingBlocks(each, { userId: person.id, locale })),
        waiting.length > WAITING_SHOWN &&
          context(`${count(waiting.length - WAITING_SHOWN, 'more change')} waits; decide about these first.`),
      ]),
    };
  },

  submit: saveSettings,
};

async function openSettings(call: Interaction): Promise<void> {
  const origin = formOrigin(call);
  try {
    await openForm(call, settingsForm, origin);
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.code !== 'invalid_arguments') throw error;
    call.deps.log.warn({ err: error }, 'Slack does not take the settings with their pickers: shown as texts');
    const current = await call.deps.settings();
    const { approvers, approval_escalate_to } = settingsAsText(current);
    const view = await renderForm(settingsForm, call, origin, { approvers, approval_escalate_to });
    await call.open(formView({ ...view, form: plainForm }));
  }
}

/** Decides about a change that waits; the open form shows what holds then. */
function deciding(decide: (call: ActionCall) => Promise<void>) {
  return async (call: ActionCall): Promise<void> => {
    await decide(call);
    if (call.view?.form !== form.name) return;
    const { id, origin } = call.view;
    const shown = await renderForm(settingsForm, call, { ...origin, subject: undefined }, {});
    await updateOpenView(call.deps.web, id, formView(shown));
  };
}

export const settings = {
  commands: [
    {
      usage: 'settings',
      summary: 'Change who approves, what waits for approval and when reminders go out',
      example: '/domain settings',
      run: openSettings,
    },
  ],
  forms: [settingsForm],
  actions: [
    {
      id: 'home_settings',
      run: openSettings,
    },
    { id: 'settings_confirm', run: deciding(confirmChange) },
    { id: 'settings_dismiss', run: deciding(dismissChange) },
  ],
} as const satisfies Feature;
