import { general } from './general.ts';
import { type DomainName, displayName, parseHostName } from './names.ts';
import { rest } from './rest.ts';
import type { ZoneProfile } from './zone.ts';

/** The domain tasks that people order, by the names of their subcommands. */
export type ZoneTask =
  | 'create'
  | 'transfer'
  | 'renew'
  | 'restore'
  | 'delete'
  | 'nameservers'
  | 'authcode'
  | 'owner-change';

const PROFILES: readonly ZoneProfile[] = [rest];

const ALWAYS_CHARGEABLE: ReadonlySet<ZoneTask> = new Set(['create', 'transfer', 'renew', 'restore']);

/** Under which name the zone's profile lists a task; an auth code is listed by none. */
const PROFILE_TASK: Readonly<Record<ZoneTask, string | undefined>> = {
  create: 'create',
  transfer: 'transfer',
  renew: 'renew',
  restore: 'restore',
  delete: 'delete',
  nameservers: 'update',
  authcode: undefined,
  'owner-change': 'update',
};

const TASK_WORDS: Readonly<Record<ZoneTask, string>> = {
  create: 'Registering names',
  transfer: 'Transfers',
  renew: 'Renewals',
  restore: 'Restoring deleted names',
  delete: 'Deleting names',
  nameservers: 'Changing nameservers',
  authcode: 'Fetching auth codes',
  'owner-change': 'Changing the owner',
};

/** The letters of ISO 8859-1 that IDNA takes; the middle dot only between two l, as in Catalan (RFC 5892). */
const LATIN_1_LABEL = /^(?:[a-z0-9-]|[\u00df-\u00f6\u00f8-\u00ff]|(?<=l)\u00b7(?=l))+$/;

/**
 * The profile that governs a name.
 *
 * @param asciiName a name or a zone in ASCII, such as `cafe.rest`, `.rest` or `rest`.
 * @returns the zone's profile, or the general rules for a zone without one.
 */
export function zoneFor(asciiName: string): ZoneProfile {
  const name = `.${asciiName.toLowerCase().replace(/\.$/, '')}`;
  return PROFILES.find((profile) => name.endsWith(`.${profile.zone}`)) ?? general;
}

/** The profiles that are documented, for `/domain rules`. */
export function documentedZones(): readonly ZoneProfile[] {
  return PROFILES;
}

/**
 * Whether a task costs money. A registration, transfer, renewal or restore always counts as chargeable, whatever
 * a profile says, so that a gap in a profile never lets money out without an approval.
 */
export function isChargeable(zone: ZoneProfile, task: ZoneTask): boolean {
  return ALWAYS_CHARGEABLE.has(task) || (taskProfile(zone, task)?.chargeable ?? false);
}

/**
 * What the zone has against a name.
 *
 * @returns one sentence a problem; empty when the name can be registered as far as the zone's profile tells.
 */
export function checkName(name: DomainName): string[] {
  const zone = zoneFor(name.ascii);
  const { labelLength, oneLabelOnly, idn, reservedHyphens } = zone.names;
  const problems: string[] = [];
  const asciiLabels = name.ascii.split('.');
  const unicodeLabels = name.unicode.split('.');

  if (oneLabelOnly && asciiLabels.length !== zone.zone.split('.').length + 1) {
    const depth = zone.zone.split('.').length + 1;
    problems.push(
      `${name.unicode} is below a name. Give the registered name, ${unicodeLabels.slice(-depth).join('.')}.`,
    );
  }
  for (const [index, label] of asciiLabels.slice(0, -zone.zone.split('.').length).entries()) {
    const shown = unicodeLabels[index] ?? label;
    if (label.length < labelLength.min || label.length > labelLength.max) {
      problems.push(`“${shown}” has ${label.length} characters. Use ${range(labelLength)} between the dots.`);
    }
    if (reservedHyphens && label.slice(2, 4) === '--' && !label.startsWith('xn--')) {
      problems.push(`“${shown}” has hyphens in third and fourth place, which is reserved. Change it.`);
    }
    if (idn === 'ISO_8859_1' && !LATIN_1_LABEL.test(shown)) {
      problems.push(
        `“${shown}” has letters that .${zone.zone} does not take. Use a–z, 0–9, hyphens and western European letters such as é, ü or ñ.`,
      );
    }
  }
  return problems;
}

/**
 * What is wrong with a list of nameservers for one domain: too few, too many, given twice, or no host names.
 *
 * @param hosts host names as typed or in ASCII.
 * @returns one sentence a problem.
 */
export function checkNameServers(zone: ZoneProfile, hosts: readonly string[]): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const host of hosts) {
    const parsed = parseHostName(host);
    if (!parsed.ok) {
      problems.push(`Nameserver: ${parsed.problem}`);
      continue;
    }
    const { ascii } = parsed.value;
    if (seen.has(ascii)) repeated.add(ascii);
    seen.add(ascii);
  }
  for (const host of repeated) {
    problems.push(`${displayName(host)} is given more than once. Give each nameserver once.`);
  }
  const { min, max } = zone.nameServers;
  if (hosts.length < min || hosts.length > max) {
    problems.push(
      `${zoneWords(zone)} ${range({ min, max })} nameservers, ${hosts.length} ${hosts.length === 1 ? 'was' : 'were'} given. ${hosts.length < min ? 'Add' : 'Remove'} some.`,
    );
  }
  return problems;
}

/**
 * What is wrong with a period.
 *
 * @param period in years.
 * @returns one sentence a problem.
 */
export function checkPeriod(zone: ZoneProfile, period: number): string[] {
  const { min, max } = zone.periodYears;
  if (Number.isInteger(period) && period >= min && period <= max) return [];
  return [`The period must be a whole number of years from ${min} to ${max}. Change it.`];
}

/**
 * Whether the zone offers a task at all.
 *
 * @returns one sentence a problem; empty when it does, or when nothing is documented.
 */
export function checkTask(zone: ZoneProfile, task: ZoneTask): string[] {
  const listed = PROFILE_TASK[task];
  if (zone.tasks === undefined || listed === undefined) return [];
  if (zone.tasks[listed]?.available === true) return [];
  return [`${TASK_WORDS[task]} is not possible in .${zone.zone}. Ask the domain service for another way.`];
}

/** The first note of every task that is chargeable. */
export const COSTS_MONEY = 'This costs money.';

/**
 * What somebody must know before saying yes to a task, most important first.
 *
 * @returns short sentences for the order's card.
 */
export function describeTask(zone: ZoneProfile, task: ZoneTask): string[] {
  const notes: string[] = [];
  if (isChargeable(zone, task)) notes.push(COSTS_MONEY);
  if (!zone.documented && isChargeable(zone, task)) {
    notes.push('No rules are known for this zone, so only the general ones were checked.');
  }
  if (zone.premiumNames !== undefined && (task === 'create' || task === 'renew')) {
    notes.push(zone.premiumNames);
  }
  if (taskProfile(zone, task)?.processing === 'manual') {
    notes.push('It is processed by hand, so it can take a while.');
  }
  return [...notes, ...taskNotes(zone, task)];
}

function taskNotes(zone: ZoneProfile, task: ZoneTask): string[] {
  const { transfer, lifecycle } = zone;
  const notes: (string | number | boolean | undefined)[] = [];
  switch (task) {
    case 'create':
      notes.push(transfer.lockDays && `It cannot be transferred for ${transfer.lockDays} days afterwards.`);
      break;
    case 'transfer':
      notes.push(
        transfer.autoApproveDays &&
          `It goes through after ${transfer.autoApproveDays} days at the latest when the losing registrar does not respond.`,
        transfer.renews && 'The transfer renews the name too.',
        transfer.authCodeRequired && 'It needs the auth code.',
      );
      break;
    case 'restore':
      notes.push(
        lifecycle !== undefined && `It is possible for ${lifecycle.redemptionDays} days after the deletion.`,
      );
      break;
    case 'delete':
      notes.push(
        'The website and e-mail of the name stop working.',
        lifecycle &&
          `It can be restored for ${lifecycle.redemptionDays} days, which costs money; ${lifecycle.pendingDeleteDays} days later anybody can register it.`,
      );
      break;
    case 'nameservers':
      notes.push('It replaces all nameservers; a wrong one takes the website and e-mail down.');
      break;
    case 'authcode':
      notes.push('Whoever has the auth code can transfer the name away.');
      break;
    case 'owner-change':
      notes.push(
        'The current and the new registrant are notified.',
        transfer.lockDays &&
          `It cannot be transferred for ${transfer.lockDays} days afterwards, unless the registrant opts out before it starts.`,
      );
      break;
    case 'renew':
      break;
    default:
      task satisfies never;
  }
  return notes.filter((note): note is string => typeof note === 'string');
}

function taskProfile(zone: ZoneProfile, task: ZoneTask) {
  const listed = PROFILE_TASK[task];
  return listed === undefined ? undefined : zone.tasks?.[listed];
}

function zoneWords(zone: ZoneProfile): string {
  return zone.documented ? `A .${zone.zone} name needs` : 'A name needs';
}

function range({ min, max }: { readonly min: number; readonly max: number }): string {
  return `${min} to ${max}`;
}
