import type { TaskProfile, ZoneProfile } from './zone.ts';
import type { ZoneIssue } from './zone-issue.ts';

/** What a task of a domain means in zones. A task's row holds it as data. */
export interface ZoneTask {
  /** Under which name a zone's profile lists it; undefined when none does. */
  readonly listedAs: string | undefined;
  /** The subject of "… is not possible", for `slack/names/zone-issue.view.ts`. */
  readonly words: string;
  /** Costs money whatever a profile says: an error in a profile must not let a charge go out without an approval. */
  readonly alwaysChargeable?: true;
  /** What the task is called where people read of the transfer lock that it begins; undefined when it begins none. */
  readonly locksTransfers?: string;
  /** Premium names cost more. */
  readonly premium?: true;
  /** What else somebody must know before saying yes, as far as the profile tells. */
  readonly notes?: (zone: ZoneProfile) => readonly (TaskNote | undefined)[];
}

/** Something that somebody must know before saying yes to a task. The views have the sentences. */
export type TaskNote =
  | {
      readonly code:
        | 'costs_money'
        | 'zone_not_documented'
        | 'processed_manually'
        | 'contacts_need_email'
        | 'transfer_renews'
        | 'auth_code_needed'
        | 'period_taken_for_years'
        | 'website_and_mail_stop'
        | 'replaces_nameservers'
        | 'auth_code_gives_name_away'
        | 'new_owner_not_sent'
        | 'registrants_notified'
        | 'charge_assumed'
        | 'sent_as_confirmed';
    }
  /** What a profile says of names that cost more. */
  | { readonly code: 'premium_names'; readonly words: string }
  | {
      readonly code:
        | 'locks_transfers'
        | 'locks_transfers_unless_opted_out'
        | 'approved_automatically'
        | 'restorable';
      readonly days: number;
    }
  | {
      readonly code: 'restorable_then_free';
      readonly restorableDays: number;
      readonly pendingDeleteDays: number;
    };

/** The note on the contacts of a registration or transfer, where the zone asks for more than their ids. */
export function contactsNote({ requiredContactFields }: ZoneProfile): TaskNote | undefined {
  return requiredContactFields.length === 0 ? undefined : { code: 'contacts_need_email' };
}

/** A note on a number of days; undefined where no number is documented. */
export function daysNote(
  code: Extract<TaskNote, { readonly days: number }>['code'],
  days: number | undefined,
): TaskNote | undefined {
  return days === undefined ? undefined : { code, days };
}

function profileOf(zone: ZoneProfile, { listedAs }: ZoneTask): TaskProfile | undefined {
  return listedAs === undefined ? undefined : zone.tasks?.[listedAs];
}

/**
 * Whether something costs money. Where the document does not say, it is not called free; `assumed`: the document says so of
 * other zones, and nothing of this one.
 */
export type Charge = 'yes' | 'no' | 'assumed' | 'not_stated';

/** Whether a task costs money in a zone, as far as anybody knows. */
export function chargeOf(zone: ZoneProfile, task: ZoneTask): Charge {
  const documented = profileOf(zone, task)?.chargeable;
  if (task.alwaysChargeable === true && documented === undefined) return 'assumed';
  const chargeable = task.alwaysChargeable ?? documented;
  return chargeable === undefined ? 'not_stated' : chargeable ? 'yes' : 'no';
}

/** A lock of transfers that a task begins in a zone, and what the task is called then; undefined when it begins none. */
export function transferLockAfter(
  zone: ZoneProfile,
  task: ZoneTask,
): { readonly days: number; readonly since: string } | undefined {
  const since = task.locksTransfers;
  const days = zone.transfer.lockDays;
  return since === undefined || days === undefined ? undefined : { days, since };
}

/**
 * Whether the zone offers a task at all.
 * @returns empty when it does, or when nothing is documented.
 */
export function checkTask(zone: ZoneProfile, task: ZoneTask): ZoneIssue[] {
  if (zone.tasks === undefined || task.listedAs === undefined) return [];
  if (profileOf(zone, task)?.available === true) return [];
  return [{ code: 'task_not_offered', task: task.listedAs, zone: zone.zone }];
}

/** What somebody must know before saying yes to a task, most important first. */
export function describeTask(zone: ZoneProfile, task: ZoneTask): TaskNote[] {
  const notes: readonly (TaskNote | undefined)[] = [
    chargeOf(zone, task) === 'yes' ? { code: 'costs_money' } : undefined,
    chargeOf(zone, task) === 'assumed' ? { code: 'charge_assumed' } : undefined,
    zone.documented ? undefined : { code: 'zone_not_documented' },
    task.premium && zone.premiumNames !== undefined
      ? { code: 'premium_names', words: zone.premiumNames }
      : undefined,
    profileOf(zone, task)?.processing === 'manual' ? { code: 'processed_manually' } : undefined,
    ...(task.notes?.(zone) ?? []),
  ];
  return notes.filter((note) => note !== undefined);
}
