import type { z } from 'zod';
import { type TeamSettings, teamSettingParsers } from '../../config.ts';
import { ORDER_TASK_NAMES, taskNamed } from '../../orders/tasks.ts';
import { isGroup } from '../../policy/policy.ts';
import {
  CHANNEL_SETTINGS,
  type ChannelSetting,
  SETTING_NAMES,
  type SettingChange,
  type SettingName,
  settingsAsText,
  withSaved,
} from '../../settings.ts';
import {
  type Feature,
  type FormFeature,
  formOrigin,
  type Interaction,
  linesOf,
  type SlackDeps,
  type SubmissionCall,
  type Submitted,
} from '../feature.ts';
import { SlackApiError } from '../platform/web.ts';
import { postMessage } from '../post-message.ts';
import {
  code,
  context,
  count,
  type Message,
  mention,
  mentionApprover,
  section,
  textMessage,
} from '../views/blocks.ts';
import { type Field, type Form, type FormValues, formView } from '../views/form.ts';
import { approverError, channelError } from '../views/slack-error.ts';
import { fingerprint } from './fingerprint.ts';
import { openForm } from './ordering.ts';
import { type GroupMenu, type GroupMenus, withGroups, withTypedIds } from './people-fields.ts';

/*
 * The team's settings: who approves, what waits for approval, when reminders go out. For admins.
 */

const FIELDS: Readonly<Record<SettingName, Omit<Field, 'name'>>> = {
  approvers: {
    label: 'Approvers',
    kind: 'people',
    // Groups alone are enough.
    optional: true,
    hint: 'People who may approve.',
  },
  approvals_required: {
    label: 'Approvals needed for an order',
    kind: 'number',
    hint: 'What waits already needs the larger of this and the number that it was asked with.',
  },
  approval_tasks: {
    label: 'Tasks that wait for approval',
    kind: 'picks',
    optional: true,
    options: ORDER_TASK_NAMES.map((name) => ({ value: name, text: name })),
    hint: 'The others are carried out at once, unless a rule of /domain policy says otherwise.',
  },
  approval_ttl: {
    label: 'An order expires after',
    kind: 'text',
    placeholder: '72h',
    hint: 'A number with s, m, h or d, such as 72h or 7d.',
  },
  approval_remind_after: {
    label: 'Approvers are reminded after',
    kind: 'text',
    placeholder: '4h',
    hint: 'Once an order, with the same units.',
  },
  allow_self_approval: {
    label: 'May an approver approve their own order?',
    kind: 'choice',
    options: [
      { value: 'false', text: 'No, somebody else has to' },
      { value: 'true', text: 'Yes' },
    ],
  },
  approval_channel: {
    label: 'Channel where approvers find every order',
    kind: 'channel',
    optional: true,
    hint: 'The card of what waits is posted here too. I have to be in it: /invite @Domain Steward.',
  },
  approval_escalate_after: {
    label: 'Others are called after',
    kind: 'text',
    placeholder: '24h',
    hint: 'Once an order that still waits, with the same units.',
  },
  approval_escalate_to: {
    label: 'Who is called then',
    kind: 'people',
    optional: true,
    hint: 'Nobody, and no group: the admins.',
  },
  alert_channel: {
    label: 'Channel of alarms about names',
    kind: 'channel',
    optional: true,
    hint: 'I have to be in it: /invite @Domain Steward. Empty: the channel of the expiry reminders.',
  },
  report_channel: {
    label: 'Channel of the monthly report on money',
    kind: 'channel',
    optional: true,
    hint: 'I have to be in it: /invite @Domain Steward. Empty: the channel of the expiry reminders.',
  },
  reminder_channel: {
    label: 'Channel of the expiry reminders',
    kind: 'channel',
    optional: true,
    hint: 'I have to be in it: /invite @Domain Steward. Empty: no reminders.',
  },
  reminder_days: {
    label: 'Remind this many days before expiry',
    kind: 'text',
    placeholder: '60,30,14,7,3,1',
    hint: 'Whole numbers, separated by commas.',
  },
  reminder_cron: {
    label: 'When reminders go out',
    kind: 'text',
    placeholder: '0 9 * * *',
    hint: 'A cron line: minute, hour, day of the month, month, day of the week. 0 9 * * 1-5 is 9:00 from Monday to Friday.',
  },
  reminder_timezone: {
    label: 'In which time zone',
    kind: 'text',
    placeholder: 'Europe/Berlin',
  },
};

/** The settings that name people and groups. */
const PEOPLE_SETTINGS = ['approvers', 'approval_escalate_to'] as const;
type PeopleSetting = (typeof PEOPLE_SETTINGS)[number];

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

function isChannelSetting(name: string): name is ChannelSetting {
  return CHANNEL_SETTINGS.some((each) => each === name);
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

const form: Form = {
  name: 'settings',
  title: 'Settings',
  submit: 'Save',
  fields: SETTING_NAMES.map((name) => ({ name, ...FIELDS[name] })),
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
): { readonly settings: TeamSettings } | { readonly errors: Readonly<Record<string, string>> } {
  const before = settingsAsText(current);
  // A setting that the form did not show stays as it is. Slack also leaves out an optional input that was
  // emptied.
  const isLeftOut = (name: SettingName) => values[name] === undefined && FIELDS[name].optional !== true;
  const typed = Object.fromEntries(
    SETTING_NAMES.map((name) => [name, isLeftOut(name) ? before[name] : typedText(values, name)]),
  );
  const errors: Record<string, string> = {};
  for (const name of SETTING_NAMES) {
    if (isChannelSetting(name) && typed[name] === '') continue;
    const parser: z.ZodType = teamSettingParsers[name];
    const [issue] = parser.safeParse(typed[name]).error?.issues ?? [];
    if (issue !== undefined) errors[name] = `This ${issue.message}.`;
  }
  if (Object.keys(errors).length > 0) return { errors };
  const settings = withSaved(current, typed);
  return {
    settings: {
      ...settings,
      approvers: keepOrder(settings.approvers, current.approvers),
      approvalTasks: keepOrder(settings.approvalTasks, current.approvalTasks),
      approvalEscalateTo: keepOrder(settings.approvalEscalateTo, current.approvalEscalateTo),
    },
  };
}

/**
 * Looks people and groups up.
 * @returns the people they stand for, or what is wrong with one of them
 */
async function lookUpPeople(
  { directory }: SlackDeps,
  ids: readonly string[],
): Promise<ReadonlySet<string> | string> {
  const people = new Set<string>();
  for (const id of ids) {
    try {
      if (isGroup(id)) {
        // Read anew: what was cached a few seconds ago may be the reason for opening the settings.
        directory.forgetGroup(id);
        for (const member of await directory.groupMembers(id)) people.add(member);
      } else if ((await directory.person(id, undefined)).isMember) people.add(id);
      else {
        const name = await directory.nameOf(id);
        return `${name ?? id} is not a member of this workspace. Take them out.`;
      }
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      return approverError(id, error);
    }
  }
  return people;
}

/**
 * Refuses settings under which nobody could approve, because they would stop the team's work.
 * @returns what is wrong with the approvers, by field
 */
async function approverErrors(
  deps: SlackDeps,
  settings: TeamSettings,
): Promise<Readonly<Record<string, string>>> {
  const people = await lookUpPeople(deps, settings.approvers);
  if (typeof people === 'string') return { approvers: people };
  if (people.size === 0)
    return { approvers: 'These groups have no members, so nobody could approve. Name somebody.' };
  return people.size < settings.approvalsRequired
    ? {
        approvals_required: `There ${people.size === 1 ? 'is' : 'are'} ${count(people.size, 'approver')}: an order that needs ${settings.approvalsRequired} could never go out.`,
      }
    : {};
}

/** Posts in a new channel what it is used for from now on. */
async function channelErrors(
  { web }: SlackDeps,
  name: ChannelSetting,
  channelId: string,
  by: string,
): Promise<Readonly<Record<string, string>>> {
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
      kind: 'errors',
      errors: { approvers: 'Somebody changed the settings meanwhile. Close this and open it again.' },
    };
  }
  const read = readSettings(call.values, current);
  if ('errors' in read) return { kind: 'errors', errors: read.errors };
  const before = settingsAsText(current);
  const after = settingsAsText(read.settings);
  const changes = SETTING_NAMES.filter((name) => before[name] !== after[name]).map((name) => ({
    name,
    before: before[name],
    after: after[name],
  }));
  const changed = new Set(changes.map(({ name }) => name));
  if (changes.length === 0) return { kind: 'done', say: textMessage('Nothing was changed.') };
  if (changed.has('approvers') || changed.has('approvals_required')) {
    const errors = await approverErrors(deps, read.settings);
    if (Object.keys(errors).length > 0) return { kind: 'errors', errors };
  }
  if (changed.has('approval_escalate_to')) {
    const people = await lookUpPeople(deps, read.settings.approvalEscalateTo);
    if (typeof people === 'string') return { kind: 'errors', errors: { approval_escalate_to: people } };
  }
  for (const name of CHANNEL_SETTINGS) {
    if (!changed.has(name) || after[name] === '') continue;
    const errors = await channelErrors(deps, name, after[name], person.id);
    if (Object.keys(errors).length > 0) return { kind: 'errors', errors };
  }
  await deps.settingsStore.save(changes, person.id, deps.now());
  deps.log.info({ by: person.id, changes }, 'settings changed');
  if (CARD_SETTINGS.some((name) => changed.has(name))) {
    await deps
      .refreshWaitingCards()
      .catch((err: unknown) => deps.log.warn({ err }, 'showing the settings on cards'));
  }
  return { kind: 'done', say: savedMessage(changes, read.settings) };
}

function formatValue(name: SettingName, value: string): string {
  if (value === '') return 'empty';
  if (isPeopleSetting(name)) return value.split(',').map(mentionApprover).join(', ');
  return isChannelSetting(name) ? `<#${value}>` : code(value);
}

/** What was changed, from what to what, and its consequences that may not be intended. */
function savedMessage(
  changes: readonly (SettingChange & { readonly name: SettingName })[],
  settings: TeamSettings,
): Message {
  const lines = changes.map(
    ({ name, before, after }) =>
      `• ${FIELDS[name].label}: ${formatValue(name, before)} → ${formatValue(name, after)}`,
  );
  const before = changes.find(({ name }) => name === 'approval_tasks')?.before.split(',') ?? [];
  const free = ORDER_TASK_NAMES.filter(
    (task) => before.includes(task) && !settings.approvalTasks.includes(task),
  ).map(taskNamed);
  const warning = (tasks: typeof free, what: string) =>
    tasks.length === 0
      ? []
      : [
          `:warning: ${tasks.map(({ name }) => name).join(', ')}: this ${what} and no longer waits for approval.`,
        ];
  const isCharged = ({ effect }: (typeof free)[number]) => effect === 'charge';
  return textMessage(
    [
      ':white_check_mark: Saved. It holds from now on, over what the environment says.',
      ...lines,
      ...warning(free.filter(isCharged), 'costs money'),
      ...warning(
        free.filter((task) => task.risk === 'loses_name' && !isCharged(task)),
        'can lose a name',
      ),
      ...warning(
        free.filter((task) => task.risk === 'takes_down'),
        'can take a name’s web and mail down',
      ),
    ].join('\n'),
  );
}

const settingsForm: FormFeature = {
  form,
  needs: 'admin',

  async render(call, origin, values) {
    const current = await call.deps.settings();
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
      intro: [
        section(`Approvers now: ${approvers.map(mentionApprover).join(', ')}`),
        context('What you save here wins over the environment. Who changed what stands in the audit log.'),
      ],
    };
  },

  submit: saveSettings,
};

async function openSettings(call: Interaction): Promise<void> {
  const origin = formOrigin(call);
  try {
    await openForm(call, settingsForm, origin, {});
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.code !== 'invalid_arguments') throw error;
    call.deps.log.warn({ err: error }, 'Slack does not take the settings with their pickers: shown as texts');
    const current = await call.deps.settings();
    const { approvers, approval_escalate_to } = settingsAsText(current);
    const view = await settingsForm.render(call, origin, { approvers, approval_escalate_to });
    await call.open(formView({ ...view, form: plainForm }));
  }
}

export const settings: Feature = {
  commands: [
    {
      name: 'settings',
      usage: 'settings',
      summary: 'Change who approves, what waits for approval and when reminders go out',
      example: '/domain settings',
      needs: 'admin',
      run: openSettings,
    },
  ],
  forms: [settingsForm],
  actions: [
    {
      id: 'home_settings',
      needs: 'admin',
      run: openSettings,
    },
  ],
};
