import type { TaskProfile, ZoneProfile } from './zone.ts';

/** What a domain task means in a zone. */
interface ZoneTaskRow {
  /** Under which name a zone's profile lists it; undefined when none does. */
  readonly listedAs: string | undefined;
  /** As the subject of "… is not possible". */
  readonly words: string;
  /** Costs money whatever a profile says, so that a gap in one never lets money out without an approval. */
  readonly alwaysChargeable?: true;
  /** What it is called when the zone locks transfers after it. */
  readonly locksTransfers?: string;
  /** Premium names cost more. */
  readonly premium?: true;
  /** What else somebody must know before saying yes; without a sentence where the profile does not say. */
  readonly notes?: (zone: ZoneProfile) => readonly (string | number | boolean | undefined)[];
}

/** `ownerc/email` and its like, in words. */
function contactsNote({ requiredContactFields }: ZoneProfile): string | undefined {
  return requiredContactFields.length === 0
    ? undefined
    : 'The owner, admin and tech contact each need an e-mail address at the service.';
}

/** The domain tasks that people order, by the names of their subcommands. */
const ZONE_TASKS = {
  create: {
    listedAs: 'create',
    words: 'Registering names',
    locksTransfers: 'registration',
    alwaysChargeable: true,
    premium: true,
    notes: (zone) => [
      contactsNote(zone),
      zone.transfer.lockDays && `It cannot be transferred for ${zone.transfer.lockDays} days afterwards.`,
    ],
  },
  transfer: {
    listedAs: 'transfer',
    words: 'Transfers',
    alwaysChargeable: true,
    notes: (zone) => [
      contactsNote(zone),
      zone.transfer.autoApproveDays &&
        `It goes through after ${zone.transfer.autoApproveDays} days at the latest when the losing registrar does not respond.`,
      zone.transfer.renews && 'The transfer renews the name too.',
      zone.transfer.authCodeRequired && 'It needs the auth code.',
    ],
  },
  renew: {
    listedAs: 'renew',
    words: 'Renewals',
    alwaysChargeable: true,
    premium: true,
    notes: () => ['The service’s document gives the period no unit; it is taken for years.'],
  },
  restore: {
    listedAs: 'restore',
    words: 'Restoring deleted names',
    alwaysChargeable: true,
    notes: ({ lifecycle }) => [
      lifecycle && `It is possible for ${lifecycle.redemptionDays} days after the deletion.`,
    ],
  },
  delete: {
    listedAs: 'delete',
    words: 'Deleting names',
    notes: ({ lifecycle }) => [
      'The website and e-mail of the name stop working.',
      lifecycle &&
        `It can be restored for ${lifecycle.redemptionDays} days, which costs money; ${lifecycle.pendingDeleteDays} days later anybody can register it.`,
    ],
  },
  nameservers: {
    listedAs: 'update',
    words: 'Changing nameservers',
    notes: () => ['It replaces all nameservers; a wrong one takes the website and e-mail down.'],
  },
  authcode: {
    listedAs: undefined,
    words: 'Fetching auth codes',
    notes: () => ['Whoever has the auth code can transfer the name away.'],
  },
  'owner-change': {
    listedAs: undefined,
    words: 'Changing the owner',
    locksTransfers: 'owner change',
    notes: ({ transfer }) => [
      'The service’s document has no place for the new owner: this starts the process, and the service asks for the rest.',
      'The current and the new registrant are notified.',
      transfer.lockDays &&
        `It cannot be transferred for ${transfer.lockDays} days afterwards, unless the registrant opts out before it starts. The document does not tell how: ask the service first.`,
    ],
  },
} satisfies Record<string, ZoneTaskRow>;

export type ZoneTask = keyof typeof ZONE_TASKS;

const rowOf = (task: ZoneTask): ZoneTaskRow => ZONE_TASKS[task];

function profileOf(zone: ZoneProfile, { listedAs }: ZoneTaskRow): TaskProfile | undefined {
  return listedAs === undefined ? undefined : zone.tasks?.[listedAs];
}

/** Whether something costs money; where the document does not say, it is not known to be free. */
export type Charge = 'yes' | 'no' | 'not_stated';

/** Whether a task costs money in a zone, as far as anybody knows. */
export function chargeOf(zone: ZoneProfile, task: ZoneTask): Charge {
  const row = rowOf(task);
  const chargeable = row.alwaysChargeable ?? profileOf(zone, row)?.chargeable;
  return chargeable === undefined ? 'not_stated' : chargeable ? 'yes' : 'no';
}

/** A lock of transfers that a task begins in a zone, and what the task is called then; undefined when it begins none. */
export function transferLockAfter(
  zone: ZoneProfile,
  task: ZoneTask,
): { readonly days: number; readonly since: string } | undefined {
  const since = rowOf(task).locksTransfers;
  const days = zone.transfer.lockDays;
  return since === undefined || days === undefined ? undefined : { days, since };
}

/**
 * Whether the zone offers a task at all.
 *
 * @returns one sentence a problem; empty when it does, or when nothing is documented.
 */
export function checkTask(zone: ZoneProfile, task: ZoneTask): string[] {
  const row = rowOf(task);
  if (zone.tasks === undefined || row.listedAs === undefined) return [];
  if (profileOf(zone, row)?.available === true) return [];
  return [`${row.words} is not possible in .${zone.zone}. Ask the domain service for another way.`];
}

/** The first note of every task that is chargeable. */
export const COSTS_MONEY = 'This costs money.';

/**
 * What somebody must know before saying yes to a task, most important first.
 *
 * @returns short sentences for the order's card.
 */
export function describeTask(zone: ZoneProfile, task: ZoneTask): string[] {
  const row = rowOf(task);
  const chargeable = chargeOf(zone, task) === 'yes';
  return [
    chargeable && COSTS_MONEY,
    !zone.documented &&
      'No rules are known for this zone: only what DNS itself demands was checked, and the service decides the rest.',
    row.premium && zone.premiumNames,
    profileOf(zone, row)?.processing === 'manual' && 'It is processed by hand, so it can take a while.',
    ...(row.notes?.(zone) ?? []),
  ].filter((note) => typeof note === 'string');
}
