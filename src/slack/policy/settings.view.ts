import { ORDER_TASK_NAMES, type OrderTaskName, taskNamed } from '../../orders/tasks.ts';
import type { SettingChange, SettingName } from '../../settings.ts';
import { code, mentionApprover } from '../kit/blocks.ts';
import type { FieldLook } from '../kit/form.ts';

/* Settings as people read them. */

/** How the form asks for each setting. */
export const SETTING_LOOKS: Readonly<Record<SettingName, FieldLook>> = {
  approvers: {
    label: 'Approvers',
    kind: 'people',
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
    hint: 'Nobody, and no group: the admins.',
  },
  alert_channel: {
    label: 'Channel of alarms about names',
    kind: 'channel',
    hint: 'I have to be in it: /invite @Domain Steward. Empty: the channel of the expiry reminders.',
  },
  report_channel: {
    label: 'Channel of the monthly report on money',
    kind: 'channel',
    hint: 'I have to be in it: /invite @Domain Steward. Empty: the channel of the expiry reminders.',
  },
  reminder_channel: {
    label: 'Channel of the expiry reminders',
    kind: 'channel',
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

const LOOKS: ReadonlyMap<string, FieldLook> = new Map(Object.entries(SETTING_LOOKS));

function formatValue(name: string, value: string): string {
  if (value === '') return 'empty';
  switch (LOOKS.get(name)?.kind) {
    case 'people':
      return value.split(',').map(mentionApprover).join(', ');
    case 'channel':
      return `<#${value}>`;
    default:
      return code(value);
  }
}

/** What each setting changes from and to, and the consequences that may not be intended; mrkdwn. */
export function settingLines(changes: readonly SettingChange[]): string[] {
  return [
    ...changes.map(
      ({ name, before, after }) =>
        `• ${LOOKS.get(name)?.label ?? code(name)}: ${formatValue(name, before)} → ${formatValue(name, after)}`,
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
