import type { z } from 'zod';
import { formatDuration } from '../lib/duration.ts';
import {
  buildTeamSettings,
  type SettingValues,
  settingValuesSchema,
  type TeamSettings,
} from './environment.ts';

export type SettingName = keyof SettingValues;

export const CHANNEL_SETTINGS = [
  'approval_channel',
  'alert_channel',
  'report_channel',
  'reminder_channel',
] as const;
export type ChannelSetting = (typeof CHANNEL_SETTINGS)[number];

export const SETTING_NAMES: readonly SettingName[] = settingValuesSchema.keyof().options;

export interface SettingChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

export interface SettingsStore {
  loadAll(): Promise<Readonly<Record<string, unknown>>>;
  /** Saves changes and their audit log entries in one transaction. */
  save(changes: readonly SettingChange[], by: string, at: Date): Promise<void>;
}

export function formatSettings(settings: TeamSettings): Readonly<Record<SettingName, string>> {
  return {
    approvers: settings.approvers.join(','),
    silent_approvers: settings.silentApprovers.join(','),
    approvals_required: String(settings.approvalsRequired),
    approval_tasks: settings.approvalTasks.join(','),
    approval_ttl: formatDuration(settings.approvalTtlMs),
    approval_remind_after: formatDuration(settings.approvalRemindAfterMs),
    allow_self_approval: String(settings.allowSelfApproval),
    approval_channel: settings.approvalChannel ?? '',
    approval_escalate_after: formatDuration(settings.approvalEscalateAfterMs),
    approval_escalate_to: settings.approvalEscalateTo.join(','),
    alert_channel: settings.alertChannel ?? '',
    report_channel: settings.reportChannel ?? '',
    reminder_channel: settings.reminderChannel ?? '',
    reminder_days: settings.reminderDays.join(','),
    reminder_cron: settings.reminderCron,
    reminder_timezone: settings.reminderTimezone,
  };
}

export const teamSettingsSchema = settingValuesSchema.transform((settings) =>
  buildTeamSettings((name) => settings[name]),
);

const SETTING_SCHEMAS: { readonly [Name in SettingName]: z.ZodType<SettingValues[Name]> } =
  settingValuesSchema.shape;

/** Ignores invalid saved values. A channel saved as empty is unset, even if the environment sets one. */
export function applySavedSettings(
  defaults: SettingValues,
  savedValues: Readonly<Record<string, unknown>>,
): TeamSettings {
  return buildTeamSettings((name) => {
    const parsed =
      savedValues[name] === undefined ? undefined : SETTING_SCHEMAS[name].safeParse(savedValues[name]);
    return parsed?.success === true ? parsed.data : defaults[name];
  });
}
