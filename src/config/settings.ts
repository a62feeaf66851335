import type { z } from 'zod';
import { formatDuration } from '../lib/duration.ts';
import { type NamedSettings, namedSettings, type TeamSettings, teamSettingsOf } from './environment.ts';

/** A setting by the name of its variable, in lower case. */
export type SettingName = keyof NamedSettings;

/** The settings that name a channel. Each may be empty. */
export const CHANNEL_SETTINGS = [
  'approval_channel',
  'alert_channel',
  'report_channel',
  'reminder_channel',
] as const;
export type ChannelSetting = (typeof CHANNEL_SETTINGS)[number];

/** In the sequence of the form. */
export const SETTING_NAMES: readonly SettingName[] = namedSettings.keyof().options;

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

export const teamSettings = namedSettings.transform((named) => teamSettingsOf((name) => named[name]));

const PARSERS: { readonly [Name in SettingName]: z.ZodType<NamedSettings[Name]> } = namedSettings.shape;

/**
 * The starting values with the saved ones over them. A saved text that can no longer be parsed counts as not saved. A channel
 * that is saved as empty is none, whatever the environment says.
 */
export function withSaved(start: NamedSettings, saved: Readonly<Record<string, unknown>>): TeamSettings {
  return teamSettingsOf((name) => {
    const read = saved[name] === undefined ? undefined : PARSERS[name].safeParse(saved[name]);
    return read?.success === true ? read.data : start[name];
  });
}
