import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { type TeamSettings, teamSettingParsers } from '../../config.ts';
import { ORDER_TASK_NAMES, taskNamed } from '../../orders/tasks.ts';
import {
  SETTING_NAMES,
  type SettingChange,
  type SettingName,
  settingsAsText,
  withSaved,
} from '../../settings.ts';
import {
  type Feature,
  type FormFeature,
  type Interaction,
  linesOf,
  type SlackDeps,
  type SubmissionCall,
  type Submitted,
} from '../feature.ts';
import { postedResponse, SlackApiError } from '../platform/web.ts';
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
import { openForm } from './ordering.ts';

/*
 * The team's settings: who approves, what waits for approval, when reminders go out. For admins.
 */

const FIELDS: Readonly<Record<SettingName, Field>> = {
  approvers: {
    name: 'approvers',
    label: 'Approvers',
    kind: 'people',
    // Groups alone will do.
    optional: true,
    hint: 'People who may approve.',
  },
  approvals_required: {
    name: 'approvals_required',
    label: 'Approvals needed for an order',
    kind: 'number',
    hint: 'Orders that wait already keep the number they were asked with.',
  },
  approval_tasks: {
    name: 'approval_tasks',
    label: 'Tasks that wait for approval',
    kind: 'picks',
    optional: true,
    options: ORDER_TASK_NAMES.map((name) => ({ value: name, text: name })),
    hint: 'The others are carried out at once.',
  },
  approval_ttl: {
    name: 'approval_ttl',
    label: 'An order expires after',
    kind: 'text',
    placeholder: '72h',
    hint: 'A number with s, m, h or d, such as 72h or 7d.',
  },
  approval_remind_after: {
    name: 'approval_remind_after',
    label: 'Approvers are reminded after',
    kind: 'text',
    placeholder: '4h',
    hint: 'Once an order, with the same units.',
  },
  allow_self_approval: {
    name: 'allow_self_approval',
    label: 'May an approver approve their own order?',
    kind: 'choice',
    options: [
      { value: 'false', text: 'No, somebody else has to' },
      { value: 'true', text: 'Yes' },
    ],
  },
  reminder_channel: {
    name: 'reminder_channel',
    label: 'Channel of the expiry reminders',
    kind: 'channel',
    optional: true,
    hint: 'I have to be in it: /invite @Domain Steward. Empty: no reminders.',
  },
  reminder_days: {
    name: 'reminder_days',
    label: 'Remind this many days before expiry',
    kind: 'text',
    placeholder: '60,30,14,7,3,1',
    hint: 'Whole numbers, separated by commas.',
  },
  reminder_cron: {
    name: 'reminder_cron',
    label: 'When reminders go out',
    kind: 'text',
    placeholder: '0 9 * * *',
    hint: 'A cron line: minute, hour, day of the month, month, day of the week. 0 9 * * 1-5 is 9:00 from Monday to Friday.',
  },
  reminder_timezone: {
    name: 'reminder_timezone',
    label: 'In which time zone',
    kind: 'text',
    placeholder: 'Europe/Berlin',
  },
};

/** Slack has no picker of user groups: this menu stands beside the people, and both are the approvers. */
const GROUPS: Field = {
  name: 'approver_groups',
  label: 'Approver groups',
  kind: 'picks',
  optional: true,
  hint: 'Whoever belongs to one of these user groups may approve too.',
};

const form: Form = {
  name: 'settings',
  title: 'Settings',
  submit: 'Save',
  fields: SETTING_NAMES.map((name) => FIELDS[name]),
};

/** For a workspace that does not take the pickers, such as for a person whom it does not know any more. */
const plainForm: Form = {
  ...form,
  fields: form.fields.map((field): Field => {
    if (field.kind === 'people') {
      return {
        ...field,
        kind: 'lines',
        hint: 'Ids of people (U…) and user groups (S…), separated by commas.',
      };
    }
    return field.kind === 'channel'
      ? { ...field, kind: 'text', hint: 'The channel’s id. Empty: no reminders.' }
      : field;
  }),
};

/** Opening a view cannot wait long for Slack's groups. */
const GROUPS_MS = 1_000;

function isGroup(id: string): boolean {
  return id.startsWith('S');
}

/** The workspace's groups by name, those that are set first; a group that Slack does not name is its id. */
export async function groupOptions({ directory, log }: SlackDeps, set: readonly string[]) {
  const names = await Promise.race([
    directory.groupNames().catch((err: unknown) => {
      if (!(err instanceof SlackApiError)) throw err;
      log.warn({ err }, 'reading the user groups for the settings');
      return undefined;
    }),
    sleep(GROUPS_MS, undefined, { ref: false }),
  ]);
  const others = [...(names?.keys() ?? [])].filter((id) => !set.includes(id));
  const named = (id: string) => names?.get(id) ?? id;
  return [
    ...set.map((id) => ({ value: id, text: named(id) })),
    ...others.map((id) => ({ value: id, text: named(id) })).sort((a, b) => a.text.localeCompare(b.text)),
  ];
}

/** Slack's markup for a person, group or channel, as it is pasted, becomes the id. */
const MARKUP = /<(?:@|#|!subteam\^)([A-Z0-9]+)(?:\|[^>]*)?>/g;
/** What holds several values: any blank, comma or semicolon parts them. */
const LISTS: ReadonlySet<SettingName> = new Set(['approvers', 'approval_tasks', 'reminder_days']);

/** What was typed for a setting, as the text that its variable would have. */
function typedText(values: FormValues, name: SettingName): string {
  const value = name === 'approvers' ? approversIn(values) : (values[name] ?? '');
  const text = (typeof value === 'string' ? value : value.join(',')).replace(MARKUP, ' $1 ').trim();
  return LISTS.has(name)
    ? text
        .split(/[\s,;]+/)
        .filter((part) => part !== '')
        .join(',')
    : text;
}

/** Who was picked, people and groups. A text holds both already: ids that were pasted, or sent by a program. */
function approversIn(values: FormValues): string | readonly string[] {
  const { approvers = '' } = values;
  return typeof approvers === 'string' ? approvers : [...approvers, ...linesOf(values, GROUPS.name)];
}

/** The same people in another order are no change. */
function keepOrder(approvers: readonly string[], before: readonly string[]): readonly string[] {
  const same =
    new Set([...approvers, ...before]).size === before.length && approvers.length === before.length;
  return same ? before : approvers;
}

/** The settings as they would be, or what is wrong, by field. */
function readSettings(
  values: FormValues,
  current: TeamSettings,
): { readonly settings: TeamSettings } | { readonly errors: Readonly<Record<string, string>> } {
  const typed = Object.fromEntries(SETTING_NAMES.map((name) => [name, typedText(values, name)]));
  const errors: Record<string, string> = {};
  for (const name of SETTING_NAMES) {
    if (name === 'reminder_channel' && typed[name] === '') continue;
    const parser: z.ZodType = teamSettingParsers[name];
    const [issue] = parser.safeParse(typed[name]).error?.issues ?? [];
    if (issue !== undefined) errors[name] = `This ${issue.message}.`;
  }
  if (Object.keys(errors).length > 0) return { errors };
  const settings = withSaved(current, typed);
  return { settings: { ...settings, approvers: keepOrder(settings.approvers, current.approvers) } };
}

/** Names the settings that a form shows, so that two admins do not undo each other's changes unseen. */
function fingerprint(settings: TeamSettings): string {
  return createHash('sha256')
    .update(JSON.stringify(settingsAsText(settings)))
    .digest('base64url')
    .slice(0, 16);
}

/**
 * Settings under which nobody could approve anything would stop the team's work.
 * @returns what is wrong with the approvers, by field
 */
async function approverErrors(
  { directory }: SlackDeps,
  settings: TeamSettings,
): Promise<Readonly<Record<string, string>>> {
  const people = new Set<string>();
  for (const id of settings.approvers) {
    try {
      if (isGroup(id)) {
        // As it is now: what was read a few seconds ago may be what made somebody open the settings.
        directory.forgetGroup(id);
        for (const member of await directory.groupMembers(id)) people.add(member);
      } else if ((await directory.person(id, undefined)).isMember) people.add(id);
      else {
        const name = await directory.nameOf(id);
        return { approvers: `${name ?? id} is not a member of this workspace. Take them out.` };
      }
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      return { approvers: approverError(id, error) };
    }
  }
  if (people.size === 0)
    return { approvers: 'These groups have no members, so nobody could approve. Name somebody.' };
  return people.size < settings.approvalsRequired
    ? {
        approvals_required: `There ${people.size === 1 ? 'is' : 'are'} ${count(people.size, 'approver')}: an order that needs ${settings.approvalsRequired} could never go out.`,
      }
    : {};
}

/** Says in a new reminder channel what it is for from now on, which also shows whether the bot may post there. */
async function channelErrors(
  { web }: SlackDeps,
  channelId: string,
  by: string,
): Promise<Readonly<Record<string, string>>> {
  const message = textMessage(
    `:calendar: Reminders of expiring domains come here from now on, set by ${mention(by)}.`,
  );
  try {
    await web.call('chat.postMessage', { channel: channelId, ...message }, postedResponse);
    return {};
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    return { reminder_channel: channelError(error) };
  }
}

async function saveSettings(call: SubmissionCall): Promise<Submitted> {
  const { deps, person } = call;
  const current = await deps.settings();
  if (call.origin.subject !== undefined && call.origin.subject !== fingerprint(current)) {
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
  if (changed.has('reminder_channel') && read.settings.reminderChannel !== undefined) {
    const errors = await channelErrors(deps, read.settings.reminderChannel, person.id);
    if (Object.keys(errors).length > 0) return { kind: 'errors', errors };
  }
  await deps.settingsStore.save(changes, person.id, deps.now());
  deps.log.info({ by: person.id, changes }, 'settings changed');
  return { kind: 'done', say: savedMessage(changes, read.settings) };
}

function formatValue(name: SettingName, value: string): string {
  if (value === '') return 'empty';
  if (name === 'approvers') return value.split(',').map(mentionApprover).join(', ');
  return name === 'reminder_channel' ? `<#${value}>` : code(value);
}

/** What was changed, from what to what, and what it lets happen that nobody may have wanted. */
function savedMessage(
  changes: readonly (SettingChange & { readonly name: SettingName })[],
  settings: TeamSettings,
): Message {
  const lines = changes.map(
    ({ name, before, after }) =>
      `• ${FIELDS[name].label}: ${formatValue(name, before)} → ${formatValue(name, after)}`,
  );
  const free = ORDER_TASK_NAMES.filter(
    (task) => taskNamed(task).effect === 'charge' && !settings.approvalTasks.includes(task),
  );
  const warning =
    free.length > 0 && changes.some(({ name }) => name === 'approval_tasks')
      ? [`:warning: ${free.join(', ')}: this costs money and no longer waits for approval.`]
      : [];
  return textMessage(
    [
      ':white_check_mark: Saved. It holds from now on, over what the environment says.',
      ...lines,
      ...warning,
    ].join('\n'),
  );
}

const settingsForm: FormFeature = {
  form,
  needs: 'admin',

  async render(call, origin, values) {
    const current = await call.deps.settings();
    const groups = current.approvers.filter(isGroup);
    const options = await groupOptions(call.deps, groups);
    // A menu without options is none.
    const fields = form.fields.flatMap((field) =>
      field.name === 'approvers' && options.length > 0 ? [field, { ...GROUPS, options }] : [field],
    );
    return {
      form: { ...form, fields },
      origin: { ...origin, subject: origin.subject ?? fingerprint(current) },
      values: {
        ...settingsAsText(current),
        approvers: current.approvers.filter((id) => !isGroup(id)),
        [GROUPS.name]: groups,
        approval_tasks: current.approvalTasks,
        ...values,
      },
      intro: [
        section(`Approvers now: ${current.approvers.map(mentionApprover).join(', ')}`),
        context('What you save here wins over the environment. Who changed what stands in the audit log.'),
      ],
    };
  },

  submit: saveSettings,
};

async function openSettings(call: Interaction): Promise<void> {
  const origin = { channelId: call.channelId ?? '' };
  try {
    await openForm(call, settingsForm, origin, {});
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.code !== 'invalid_arguments') throw error;
    call.deps.log.warn({ err: error }, 'Slack does not take the settings with their pickers: shown as texts');
    const current = await call.deps.settings();
    const view = await settingsForm.render(call, origin, { approvers: current.approvers.join(',') });
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
