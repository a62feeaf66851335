import type { z } from 'zod';
import { type TeamSettings, teamSettingParsers } from './config.ts';
import { formatDuration } from './duration.ts';

/** A setting by the name of its variable, in lower case. */
export type SettingName = keyof typeof teamSettingParsers;

/** In the order of the form. */
export const SETTING_NAMES = [
  'approvers',
  'approvals_required',
  'approval_tasks',
  'approval_ttl',
  'approval_remind_after',
  'allow_self_approval',
  'reminder_channel',
  'reminder_days',
  'reminder_cron',
  'reminder_timezone',
] as const satisfies readonly SettingName[];

/** One setting that somebody changed, with the texts before and after. */
export interface SettingChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** A line of the settings' audit log. */
export interface SettingChanged extends SettingChange {
  /** Slack user id. */
  readonly by: string;
  readonly at: Date;
}

/** Where `/domain settings` keeps what it saves. Implemented by the store. */
export interface SettingsStore {
  /** What was ever saved, by name. */
  all(): Promise<Readonly<Record<string, unknown>>>;
  /** Saves the changes and writes them to the audit log, all or none. */
  save(changes: readonly SettingChange[], by: string, at: Date): Promise<void>;
  /** Notes something that is done once in an installation's life. @returns whether nobody had noted it before */
  noteOnce(note: string, at: Date): Promise<boolean>;
  /** Takes a note back, so that what it stands for is done at the next occasion. */
  forgetNote(note: string): Promise<void>;
  /** Every change from `from` until before `to`, oldest first. */
  changes(from: Date, to: Date): AsyncIterable<SettingChanged>;
}

/** Settings as the form shows them: the same texts as in the environment. */
export function settingsAsText(settings: TeamSettings): Readonly<Record<SettingName, string>> {
  return {
    approvers: settings.approvers.join(','),
    approvals_required: String(settings.approvalsRequired),
    approval_tasks: settings.approvalTasks.join(','),
    approval_ttl: formatDuration(settings.approvalTtl),
    approval_remind_after: formatDuration(settings.approvalRemindAfter),
    allow_self_approval: String(settings.allowSelfApproval),
    reminder_channel: settings.reminderChannel ?? '',
    reminder_days: settings.reminderDays.join(','),
    reminder_cron: settings.reminderCron,
    reminder_timezone: settings.reminderTimezone,
  };
}

/** What was saved laid over the starting values. A saved text that no longer parses counts as not saved. */
export function withSaved(start: TeamSettings, saved: Readonly<Record<string, unknown>>): TeamSettings {
  const parsers = teamSettingParsers;
  const read = <T>(name: SettingName, parser: z.ZodType<T>): T | undefined => {
    const text = saved[name];
    return text === undefined ? undefined : parser.safeParse(text).data;
  };
  return {
    approvers: read('approvers', parsers.approvers) ?? start.approvers,
    approvalsRequired: read('approvals_required', parsers.approvals_required) ?? start.approvalsRequired,
    approvalTasks: read('approval_tasks', parsers.approval_tasks) ?? start.approvalTasks,
    approvalTtl: read('approval_ttl', parsers.approval_ttl) ?? start.approvalTtl,
    approvalRemindAfter:
      read('approval_remind_after', parsers.approval_remind_after) ?? start.approvalRemindAfter,
    allowSelfApproval: read('allow_self_approval', parsers.allow_self_approval) ?? start.allowSelfApproval,
    // Saved as empty: an admin has turned the reminders off.
    reminderChannel:
      saved['reminder_channel'] === ''
        ? undefined
        : (read('reminder_channel', parsers.reminder_channel) ?? start.reminderChannel),
    reminderDays: read('reminder_days', parsers.reminder_days) ?? start.reminderDays,
    reminderCron: read('reminder_cron', parsers.reminder_cron) ?? start.reminderCron,
    reminderTimezone: read('reminder_timezone', parsers.reminder_timezone) ?? start.reminderTimezone,
  };
}
