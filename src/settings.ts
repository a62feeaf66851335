import { z } from 'zod';
import { type TeamSettings, teamSettingParsers } from './config.ts';
import { formatDuration } from './duration.ts';

/** Where `/domain settings` keeps what it saves. Implemented by the store. */
export interface SettingsStore {
  all(): Promise<Readonly<Record<string, unknown>>>;
  save(entries: Readonly<Record<string, string>>, by: string, at: Date): Promise<void>;
}

export type SettingName = keyof typeof teamSettingParsers;

export const SETTING_NAMES = z.enum(
  Object.keys(teamSettingParsers) as [SettingName, ...SettingName[]],
).options;

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
  const read = <Name extends SettingName>(
    name: Name,
  ): z.output<(typeof teamSettingParsers)[Name]> | undefined => {
    const parsed = teamSettingParsers[name].safeParse(saved[name]);
    return parsed.success ? (parsed.data as z.output<(typeof teamSettingParsers)[Name]>) : undefined;
  };
  return {
    approvers: read('approvers') ?? start.approvers,
    approvalsRequired: read('approvals_required') ?? start.approvalsRequired,
    approvalTasks: read('approval_tasks') ?? start.approvalTasks,
    approvalTtl: read('approval_ttl') ?? start.approvalTtl,
    approvalRemindAfter: read('approval_remind_after') ?? start.approvalRemindAfter,
    allowSelfApproval: read('allow_self_approval') ?? start.allowSelfApproval,
    reminderChannel:
      saved['reminder_channel'] === '' ? undefined : (read('reminder_channel') ?? start.reminderChannel),
    reminderDays: read('reminder_days') ?? start.reminderDays,
    reminderCron: read('reminder_cron') ?? start.reminderCron,
    reminderTimezone: read('reminder_timezone') ?? start.reminderTimezone,
  };
}
