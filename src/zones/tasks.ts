import type { TaskProfile, ZoneProfile } from './zone.ts';

/** What a domain task means in a zone. */
interface ZoneTaskRow {
  /** Under which name a zone's profile lists it; undefined when none does. */
  readonly listedAs: string | undefined;
  /** As the subject of "… is not possible". */
  readonly words: string;
  /** Costs money whatever a profile says, so that a gap in one never lets money out without an approval. */
  readonly alwaysChargeable?: true;
  /** Premium names cost more. */
  readonly premium?: true;
  /** What else somebody must know before saying yes; without a sentence where the profile does not say. */
  readonly notes?: (zone: ZoneProfile) => readonly (string | number | boolean | undefined)[];
}

/** The domain tasks that people order, by the names of their subcommands. */
const ZONE_TASKS = {
  create: {
    listedAs: 'create',
    words: 'Registering names',
    alwaysChargeable: true,
    premium: true,
    notes: ({ transfer }) => [
      transfer.lockDays && `It cannot be transferred for ${transfer.lockDays} days afterwards.`,
    ],
  },
  transfer: {
    listedAs: 'transfer',
    words: 'Transfers',
    alwaysChargeable: true,
    notes: ({ transfer }) => [
      transfer.autoApproveDays &&
        `It goes through after ${transfer.autoApproveDays} days at the latest when the losing registrar does not respond.`,
      transfer.renews && 'The transfer renews the name too.',
      transfer.authCodeRequired && 'It needs the auth code.',
    ],
  },
  renew: { listedAs: 'renew', words: 'Renewals', alwaysChargeable: true, premium: true },
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
    listedAs: 'update',
    words: 'Changing the owner',
    notes: ({ transfer }) => [
      'The current and the new registrant are notified.',
      transfer.lockDays &&
        `It cannot be transferred for ${transfer.lockDays} days afterwards, unless the registrant opts out before it starts.`,
    ],
  },
} satisfies Record<string, ZoneTaskRow>;

export type ZoneTask = keyof typeof ZONE_TASKS;

const rowOf = (task: ZoneTask): ZoneTaskRow => ZONE_TASKS[task];

function profileOf(zone: ZoneProfile, { listedAs }: ZoneTaskRow): TaskProfile | undefined {
  return listedAs === undefined ? undefined : zone.tasks?.[listedAs];
}

/** Whether a task costs money in a zone, as far as anybody knows. */
export function isChargeable(zone: ZoneProfile, task: ZoneTask): boolean {
  const row = rowOf(task);
  return row.alwaysChargeable ?? profileOf(zone, row)?.chargeable ?? false;
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
  const chargeable = isChargeable(zone, task);
  return [
    chargeable && COSTS_MONEY,
    chargeable &&
      !zone.documented &&
      'No rules are known for this zone, so only the general ones were checked.',
    row.premium && zone.premiumNames,
    profileOf(zone, row)?.processing === 'manual' && 'It is processed by hand, so it can take a while.',
    ...(row.notes?.(zone) ?? []),
  ].filter((note) => typeof note === 'string');
}
