import { ORDER_TASK_NAMES, type OrderTaskName, taskNamed } from '../../orders/tasks.ts';
import type { SettingChange, SettingName } from '../../settings.ts';
import { code, mentionApprover } from '../kit/blocks.ts';

/* Settings as people read them. */

export const SETTING_LABELS: Readonly<Record<SettingName, string>> = {
  approvers: 'Approvers',
  approvals_required: 'Approvals needed for an order',
  approval_tasks: 'Tasks that wait for approval',
  approval_ttl: 'An order expires after',
  approval_remind_after: 'Approvers are reminded after',
  allow_self_approval: 'May an approver approve their own order?',
  approval_channel: 'Channel where approvers find every order',
  approval_escalate_after: 'Others are called after',
  approval_escalate_to: 'Who is called then',
  alert_channel: 'Channel of alarms about names',
  report_channel: 'Channel of the monthly report on money',
  reminder_channel: 'Channel of the expiry reminders',
  reminder_days: 'Remind this many days before expiry',
  reminder_cron: 'When reminders go out',
  reminder_timezone: 'In which time zone',
};

/** The settings that name people and groups. */
export const PEOPLE_SETTINGS = ['approvers', 'approval_escalate_to'] as const;
export type PeopleSetting = (typeof PEOPLE_SETTINGS)[number];

function formatValue(name: string, value: string): string {
  if (value === '') return 'empty';
  if (PEOPLE_SETTINGS.some((each) => each === name)) return value.split(',').map(mentionApprover).join(', ');
  return name.endsWith('_channel') ? `<#${value}>` : code(value);
}

/** What each setting changes from and to, and the consequences that may not be intended; mrkdwn. */
export function settingLines(changes: readonly SettingChange[]): string[] {
  const labels: ReadonlyMap<string, string> = new Map(Object.entries(SETTING_LABELS));
  return [
    ...changes.map(
      ({ name, before, after }) =>
        `• ${labels.get(name) ?? code(name)}: ${formatValue(name, before)} → ${formatValue(name, after)}`,
    ),
    ...changes.filter(({ name }) => name === 'approval_tasks').flatMap(freedTasks),
  ];
}

const DANGERS: readonly {
  readonly of: (task: ReturnType<typeof taskNamed>) => boolean;
  readonly words: string;
}[] = [
  { of: ({ effect }) => effect === 'charge', words: 'this costs money' },
  { of: ({ effect, risk }) => effect !== 'charge' && risk === 'loses_name', words: 'this can lose a name' },
  { of: ({ risk }) => risk === 'takes_down', words: 'this can take a name’s web and mail down' },
];

/** Warns of tasks that nobody approves any more. */
function freedTasks({ before, after }: SettingChange): string[] {
  const [waited, waits] = [new Set(before.split(',')), new Set(after.split(','))];
  const freed: readonly OrderTaskName[] = ORDER_TASK_NAMES.filter(
    (task) => waited.has(task) && !waits.has(task),
  );
  return DANGERS.flatMap(({ of, words }) => {
    const tasks = freed.filter((task) => of(taskNamed(task)));
    return tasks.length === 0
      ? []
      : [`:warning: ${tasks.join(', ')}: ${words} and no longer waits for approval.`];
  });
}
