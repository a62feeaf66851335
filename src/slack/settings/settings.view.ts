import type { ActionsBlock, ContextBlock, ModalView } from '@slack/types';
import type { ChannelSetting, SettingChange, SettingName } from '../../config/settings.ts';
import { dropMissing } from '../../lib/collections.ts';
import type { Finding } from '../../ops/doctor/finding.ts';
import { ORDER_TASK_NAMES, type OrderTaskName } from '../../orders/order.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import {
  actions,
  button,
  code,
  context,
  escapeText,
  formatCount,
  lineSections,
  mention,
  mentionApprover,
  section,
} from '../kit/blocks.ts';
import { type FieldDisplay, noticeView, toOptions } from '../kit/form.ts';
import { channelMention } from '../names/portfolio.view.ts';

export const SETTING_FIELDS: Readonly<Record<SettingName, FieldDisplay>> = {
  approvers: { label: 'Approvers', kind: 'people' },
  silent_approvers: {
    label: 'Silent approvers',
    kind: 'people',
    hint: 'They can approve, but are never mentioned, messaged or reminded.',
  },
  approvals_required: {
    label: 'Approvals needed per order',
    kind: 'number',
    hint: 'A lower number doesn’t apply to orders that are already pending.',
  },
  approval_tasks: {
    label: 'Tasks that need approval',
    kind: 'multi_select',
    options: ORDER_TASK_NAMES.map((name) => ({
      value: name,
      text: `${name}: ${getOrderTask(name).words.title}`,
    })),
    hint: 'Other tasks are carried out immediately, unless a rule in /domain policy requires approval.',
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
    hint: 'Once per order. Use the same units.',
  },
  allow_self_approval: {
    label: 'Can approvers approve their own orders?',
    kind: 'choice',
    options: toOptions({ false: 'No, another person has to', true: 'Yes' }),
  },
  approval_channel: {
    label: 'Channel for all pending orders',
    kind: 'channel',
    hint: 'Leave empty to show orders only where they were requested.',
  },
  approval_escalate_after: {
    label: 'Escalate after',
    kind: 'text',
    placeholder: '24h',
    hint: 'Once per pending order. Use the same units.',
  },
  approval_escalate_to: {
    label: 'Escalate to',
    kind: 'people',
    hint: 'Leave this and the groups empty to escalate to the admins.',
  },
  alert_channel: {
    label: 'Alert channel',
    kind: 'channel',
    hint: 'Leave empty to use the reminder channel.',
  },
  report_channel: {
    label: 'Channel for the monthly report',
    kind: 'channel',
    hint: 'Leave empty to use the reminder channel.',
  },
  reminder_channel: {
    label: 'Reminder channel',
    kind: 'channel',
    hint: 'Leave empty to get no reminders.',
  },
  reminder_days: {
    label: 'Remind this many days before expiry',
    kind: 'text',
    placeholder: '60,30,14,7,3,1',
    hint: 'Whole numbers, separated by commas.',
  },
  reminder_cron: {
    label: 'Reminder schedule',
    kind: 'text',
    placeholder: '0 9 * * *',
    hint: 'A cron expression: minute, hour, day of the month, month, day of the week. 0 9 * * 1-5 means 9:00 from Monday to Friday.',
  },
  reminder_timezone: { label: 'Time zone', kind: 'text', placeholder: 'Europe/Berlin' },
};

const FIELD_DISPLAYS: ReadonlyMap<string, FieldDisplay> = new Map(Object.entries(SETTING_FIELDS));

function formatValue(name: string, value: string): string {
  if (value === '') return 'empty';
  switch (FIELD_DISPLAYS.get(name)?.kind) {
    case 'people':
      return value.split(',').map(mentionApprover).join(', ');
    case 'channel':
      return `<#${value}>`;
    default:
      return code(value);
  }
}

/** The old and new values, and then warnings about risky changes. */
export function settingChangeLines(changes: readonly SettingChange[]): string[] {
  return [
    ...changes.map(
      ({ name, before, after }) =>
        `• ${FIELD_DISPLAYS.get(name)?.label ?? code(name)}: ${formatValue(name, before)} → ${formatValue(name, after)}`,
    ),
    ...changes.filter(({ name }) => name === 'approval_tasks').flatMap(buildTaskWarnings),
  ];
}

const TASK_DANGERS: readonly {
  readonly matches: (task: ReturnType<typeof getOrderTask>) => boolean;
  readonly danger: string;
}[] = [
  { matches: ({ effect }) => effect === 'charge', danger: 'this costs money' },
  {
    matches: ({ effect, risk }) => effect !== 'charge' && risk === 'loses_name',
    danger: 'this can lose a name',
  },
  { matches: ({ risk }) => risk === 'takes_down', danger: 'this can take a name’s web and mail down' },
];

/** Warns about tasks that no longer need approval. */
function buildTaskWarnings({ before, after }: SettingChange): string[] {
  const [tasksBefore, tasksAfter] = [new Set(before.split(',')), new Set(after.split(','))];
  const exemptedTasks: readonly OrderTaskName[] = ORDER_TASK_NAMES.filter(
    (task) => tasksBefore.has(task) && !tasksAfter.has(task),
  );
  return TASK_DANGERS.flatMap(({ matches, danger }) => {
    const tasks = exemptedTasks.filter((task) => matches(getOrderTask(task)));
    return tasks.length === 0
      ? []
      : [`:warning: ${tasks.join(', ')}: ${danger} and no longer needs approval.`];
  });
}

export function notMemberText(name: string): string {
  return `${name} isn’t a member of this workspace. Remove them.`;
}

export const NO_APPROVERS_TEXT = 'These groups have no members, so no one could approve. Choose someone.';

/** For settings that require more approvals than there are people. */
export function tooFewApproversText(approverCount: number, neededCount: number): string {
  return `There ${approverCount === 1 ? 'is' : 'are'} ${formatCount(approverCount, 'approver')}: an order that needs ${neededCount} could never be approved.`;
}

/** Posted in a newly chosen channel, which also checks that the bot can post there. */
const CHANNEL_ANNOUNCEMENTS: Readonly<Record<ChannelSetting, string>> = {
  approval_channel: ':ballot_box_with_check: Pending orders will now be shown here',
  alert_channel: ':rotating_light: Alarms about names will now be posted here',
  report_channel: ':moneybag: The monthly report will now be posted here',
  reminder_channel: ':calendar: Expiry reminders will now be posted here',
};

export function chosenChannelText(name: ChannelSetting, userId: string): string {
  return `${CHANNEL_ANNOUNCEMENTS[name]} (set by ${mention(userId)}).`;
}

export function reminderChannelText(channelId: string, isNew: boolean): string {
  return `Expiry reminders ${isNew ? 'now' : 'already'} go to ${channelMention(channelId)}. To change that, use \`/domain settings\`.`;
}

export const SETTINGS_TEXTS = {
  noChannelHere: 'I can send reminders only to a channel. Use `/domain watch` in that channel.',
  intro:
    'These settings override environment variables. Invite me to each channel that you choose: `/invite @Domain Steward`.',
  formOutdated:
    'Nothing was saved, because someone changed the settings in the meantime. Close the form and open it again.',
  unchanged: 'Nothing changed.',
  saved: ':white_check_mark: I saved these settings. They override the environment variables.',
  /** For settings that require more approvals than there are confirmed approvers. */
  confirmApproversFirst:
    'Another admin has to confirm the new approvers first. Save only them now, and raise this number after the confirmation.',
} as const;

export function moreChangesText(remainingCount: number): string {
  return `${formatCount(remainingCount, 'more change')} waiting. Confirm or discard these first.`;
}

/** @param hosts of the webhook URLs */
export function webhookBlocks(hosts: readonly string[]): (ActionsBlock | ContextBlock)[] {
  if (hosts.length === 0)
    return [context(`There are no webhooks, because ${code('WEBHOOK_URLS')} isn’t set.`)];
  return [
    context(`Webhooks go to ${hosts.map(code).join(', ')}.`),
    ...actions('webhooks', [button('webhook_test', 'Send a test webhook', 'all')]),
  ];
}

export function checkBlocks(): (ActionsBlock | ContextBlock)[] {
  return [
    context('*Check all settings* also checks the environment variables, like the `doctor` command.'),
    ...actions('examine', [button('settings_check', 'Check all settings', 'all')]),
  ];
}

const CHECK_TITLE = 'Settings checked';
const OUTCOME_ICONS: Readonly<Record<Finding['outcome'], string>> = {
  wrong: ':x:',
  warning: ':warning:',
  ok: ':white_check_mark:',
};

/** @param summary undefined while the check is running */
export function checkView(findings: readonly Finding[], summary: string | undefined): ModalView {
  const texts = (['wrong', 'warning', 'ok'] as const)
    .flatMap((wantedOutcome) => findings.filter(({ outcome }) => outcome === wantedOutcome))
    .map(
      ({ subject, outcome, found: text, action }) =>
        `${OUTCOME_ICONS[outcome]} *${escapeText(subject)}*: ${escapeText([text, ...dropMissing([action])].join(' '))}`,
    );
  return noticeView(CHECK_TITLE, [
    section(summary ?? 'I’m checking every setting. This may take a minute. The results appear here.'),
    ...lineSections(texts),
  ]);
}

/** @param hosts of the URLs that were tested */
export function webhookTestText(hosts: readonly string[]): string {
  return hosts.length === 0
    ? `There’s nothing to test, because ${code('WEBHOOK_URLS')} isn’t set. Ask the operator to set it.`
    : `I’m sending a test to ${hosts.map(code).join(', ')}. Check whether it arrives. If it fails, I’ll message the admins.`;
}
