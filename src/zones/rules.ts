import { general } from './general.ts';
import { type DomainName, displayName, parseHostName } from './names.ts';
import { rest } from './rest.ts';
import type { OpenRange, ZoneProfile } from './zone.ts';

const PROFILES: readonly ZoneProfile[] = [rest];

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
  if (hosts.length < min || hosts.length > (max ?? hosts.length)) {
    problems.push(
      `${zoneWords(zone)} ${range({ min, max })} ${max === undefined ? 'nameserver' : 'nameservers'}, ${hosts.length} ${hosts.length === 1 ? 'was' : 'were'} given. ${hosts.length < min ? 'Add' : 'Remove'} some.`,
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
  if (Number.isInteger(period) && period >= min && period <= (max ?? period)) return [];
  const limits = max === undefined ? `from ${min}` : `of years from ${min} to ${max}`;
  return [`The period must be a whole number ${limits}. Change it.`];
}

function zoneWords(zone: ZoneProfile): string {
  return zone.documented ? `A .${zone.zone} name needs` : 'A name needs';
}

function range({ min, max }: OpenRange): string {
  return max === undefined ? `at least ${min}` : `${min} to ${max}`;
}
