import type { TaskProfile, ZoneProfile } from './zone.ts';
import type { ZoneIssue } from './zone-issue.ts';

/** Describes a task for the checks and notes that depend on the zone. */
export interface ZoneTask {
  /** The task's name in zone profiles; undefined if no profile lists it. */
  readonly profileKey: string | undefined;
  /** The subject of "… is not possible" in `slack/names/zone-issue.view.ts`. */
  readonly activityLabel: string;
  /** Overrides the profiles, so that an error in a profile can't send a paid task without approval. */
  readonly isAlwaysChargeable?: true;
  /** The task's name in texts about the transfer lock that it starts; undefined if it starts none. */
  readonly transferLockLabel?: string;
  /** Premium names cost more. */
  readonly hasPremiumPrices?: true;
  readonly buildNotes?: (zone: ZoneProfile) => readonly (TaskNote | undefined)[];
}

export type TaskNote =
  | {
      readonly code:
        | 'costs_money'
        | 'zone_not_documented'
        | 'processed_manually'
        | 'contacts_need_email'
        | 'transfer_renews'
        | 'auth_code_needed'
        | 'period_assumed_in_years'
        | 'website_and_mail_stop'
        | 'replaces_nameservers'
        | 'auth_code_allows_transfer'
        | 'new_owner_not_sent'
        | 'registrants_notified'
        | 'charge_assumed'
        | 'sent_as_confirmed';
    }
  | { readonly code: 'premium_names'; readonly text: string }
  | {
      readonly code:
        | 'locks_transfers'
        | 'locks_transfers_unless_opted_out'
        | 'approved_automatically'
        | 'restorable';
      readonly days: number;
    }
  | {
      readonly code: 'restorable_then_available';
      readonly restorableDays: number;
      readonly pendingDeleteDays: number;
    };

export function buildContactsNote({ requiredContactFields }: ZoneProfile): TaskNote | undefined {
  return requiredContactFields.length === 0 ? undefined : { code: 'contacts_need_email' };
}

export function buildDaysNote(
  code: Extract<TaskNote, { readonly days: number }>['code'],
  days: number | undefined,
): TaskNote | undefined {
  return days === undefined ? undefined : { code, days };
}

function findTaskProfile(zone: ZoneProfile, { profileKey }: ZoneTask): TaskProfile | undefined {
  return profileKey === undefined ? undefined : zone.tasks?.[profileKey];
}

/**
 * - `assumed`: the charge is documented only for other zones.
 * - `not_stated`: no charge is documented, which doesn't mean that the task is free.
 */
export type ChargeStatus = 'yes' | 'no' | 'assumed' | 'not_stated';

export function findCharge(zone: ZoneProfile, task: ZoneTask): ChargeStatus {
  const isChargeableByProfile = findTaskProfile(zone, task)?.isChargeable;
  if (task.isAlwaysChargeable === true && isChargeableByProfile === undefined) return 'assumed';
  const isChargeable = task.isAlwaysChargeable ?? isChargeableByProfile;
  return isChargeable === undefined ? 'not_stated' : isChargeable ? 'yes' : 'no';
}

/** @returns undefined if the task starts no transfer lock */
export function findTransferLock(
  zone: ZoneProfile,
  task: ZoneTask,
): { readonly days: number; readonly since: string } | undefined {
  const label = task.transferLockLabel;
  const days = zone.transfer.lockDays;
  return label === undefined || days === undefined ? undefined : { days, since: label };
}

export function checkTask(zone: ZoneProfile, task: ZoneTask): ZoneIssue[] {
  if (zone.tasks === undefined || task.profileKey === undefined) return [];
  if (findTaskProfile(zone, task)?.isAvailable === true) return [];
  return [{ code: 'task_not_offered', task: task.profileKey, zone: zone.zone }];
}

/** Lists the most important notes first. */
export function listTaskNotes(zone: ZoneProfile, task: ZoneTask): TaskNote[] {
  const notes: readonly (TaskNote | undefined)[] = [
    findCharge(zone, task) === 'yes' ? { code: 'costs_money' } : undefined,
    findCharge(zone, task) === 'assumed' ? { code: 'charge_assumed' } : undefined,
    zone.isDocumented ? undefined : { code: 'zone_not_documented' },
    task.hasPremiumPrices && zone.premiumNamesNote !== undefined
      ? { code: 'premium_names', text: zone.premiumNamesNote }
      : undefined,
    findTaskProfile(zone, task)?.processing === 'manual' ? { code: 'processed_manually' } : undefined,
    ...(task.buildNotes?.(zone) ?? []),
  ];
  return notes.filter((note) => note !== undefined);
}
