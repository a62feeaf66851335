import { z } from 'zod';
import { type TeamSettings, teamSettingParsers } from './config.ts';
import { formatDuration } from './duration.ts';

/** A setting by the name of its variable, in lower case. */
export type SettingName = keyof typeof teamSettingParsers;

/** The settings that name a channel. Each may be empty. */
export const CHANNEL_SETTINGS = [
  'approval_channel',
  'alert_channel',
  'report_channel',
  'reminder_channel',
] as const;
export type ChannelSetting = (typeof CHANNEL_SETTINGS)[number];

/** In the sequence of the form. */
export const SETTING_NAMES: readonly SettingName[] = z.object(teamSettingParsers).keyof().options;

/** One setting that somebody changed, with the texts before and after. */
export interface SettingChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** Where `/domain settings` keeps what it saves. Implemented by the store. */
export interface SettingsStore {
  /** Every saved setting, by name. */
  all(): Promise<Readonly<Record<string, unknown>>>;
  /** Saves the changes with their entries in the audit log, all or none. */
  save(changes: readonly SettingChange[], by: string, at: Date): Promise<void>;
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
    approval_channel: settings.approvalChannel ?? '',
    approval_escalate_after: formatDuration(settings.approvalEscalateAfter),
    approval_escalate_to: settings.approvalEscalateTo.join(','),
    alert_channel: settings.alertChannel ?? '',
    report_channel: settings.reportChannel ?? '',
    reminder_channel: settings.reminderChannel ?? '',
    reminder_days: settings.reminderDays.join(','),
    reminder_cron: settings.reminderCron,
    reminder_timezone: settings.reminderTimezone,
  };
}

/**
 * The starting values with the saved ones over them. A saved text that can no longer be parsed counts as not
 * saved.
 */
export function withSaved(start: TeamSettings, saved: Readonly<Record<string, unknown>>): TeamSettings {
  const parsers = teamSettingParsers;
  const read = <T>(name: SettingName, parser: z.ZodType<T>): T | undefined => {
    const text = saved[name];
    return text === undefined ? undefined : parser.safeParse(text).data;
  };
  // Saved as empty: an admin wants no channel, whatever the environment says.
  const readChannel = (name: ChannelSetting, before: string | undefined) =>
    saved[name] === '' ? undefined : (read(name, parsers[name]) ?? before);
  return {
    approvers: read('approvers', parsers.approvers) ?? start.approvers,
    approvalsRequired: read('approvals_required', parsers.approvals_required) ?? start.approvalsRequired,
    approvalTasks: read('approval_tasks', parsers.approval_tasks) ?? start.approvalTasks,
    approvalTtl: read('approval_ttl', parsers.approval_ttl) ?? start.approvalTtl,
    approvalRemindAfter:
      read('approval_remind_after', parsers.approval_remind_after) ?? start.approvalRemindAfter,
    allowSelfApproval: read('allow_self_approval', parsers.allow_self_approval) ?? start.allowSelfApproval,
    approvalChannel: readChannel('approval_channel', start.approvalChannel),
    approvalEscalateAfter:
      read('approval_escalate_after', parsers.approval_escalate_after) ?? start.approvalEscalateAfter,
    approvalEscalateTo:
      read('approval_escalate_to', parsers.approval_escalate_to) ?? start.approvalEscalateTo,
    alertChannel: readChannel('alert_channel', start.alertChannel),
    reportChannel: readChannel('report_channel', start.reportChannel),
    reminderChannel: readChannel('reminder_channel', start.reminderChannel),
    reminderDays: read('reminder_days', parsers.reminder_days) ?? start.reminderDays,
    reminderCron: read('reminder_cron', parsers.reminder_cron) ?? start.reminderCron,
    reminderTimezone: read('reminder_timezone', parsers.reminder_timezone) ?? start.reminderTimezone,
  };
}
