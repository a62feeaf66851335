import { domainToUnicode } from 'node:url';
import { getDomain, parse } from 'tldts';
import { type DomainName, parseDomainName } from './names.ts';
import { findZoneProfile } from './profiles.ts';
import type { ZoneProfile } from './zone.ts';
import type { ZoneIssue } from './zone-issue.ts';

export { findZoneProfile, listDocumentedZones } from './profiles.ts';

/** The letters of ISO 8859-1 that IDNA allows. A middle dot must be between two letters `l` (RFC 5892). */
const LATIN_1_LABEL = /^(?:[a-z0-9-]|[\u00df-\u00f6\u00f8-\u00ff]|(?<=l)\u00b7(?=l))+$/;

export function checkName(name: DomainName): ZoneIssue[] {
  const { zone, names } = findZoneProfile(name.ascii);
  const issues: ZoneIssue[] = [];
  const asciiLabels = name.ascii.split('.');
  const unicodeLabels = name.unicode.split('.');
  const zoneDepth = zone.split('.').length;

  if (names.allowsOnlyDirectChildren && asciiLabels.length !== zoneDepth + 1) {
    const registered = unicodeLabels.slice(-zoneDepth - 1).join('.');
    issues.push({ code: 'subdomain', name: name.unicode, registered });
  }
  for (const [index, ascii] of asciiLabels.slice(0, -zoneDepth).entries()) {
    const label = unicodeLabels[index] ?? ascii;
    const { length } = ascii;
    const { min, max } = names.labelLength;
    if (length < min || length > max) issues.push({ code: 'label_length', label, length, min, max });
    if (names.reservesHyphens && ascii.slice(2, 4) === '--' && !ascii.startsWith('xn--')) {
      issues.push({ code: 'reserved_hyphens', label });
    }
    if (names.idn === 'ISO_8859_1' && !LATIN_1_LABEL.test(label)) {
      issues.push({ code: 'letters_not_in_zone', label, zone });
    }
  }
  return issues;
}

/**
 * Checks whether a name can be registered, watched or renewed. It must follow the zone's rules, and must not
 * be a public suffix such as `co.uk` or a host below a registrable domain. A direct child of a private suffix
 * such as `uk.com` is allowed.
 */
export function checkRegistrable(name: DomainName): ZoneIssue[] {
  const { publicSuffix, isIcann } = parse(name.ascii);
  if (publicSuffix === name.ascii && isIcann === true) return [{ code: 'public_suffix', name: name.unicode }];
  const issues = checkName(name);
  const registrableDomain = findZoneProfile(name.ascii).isDocumented
    ? null
    : getDomain(name.ascii, { allowPrivateDomains: true });
  if (registrableDomain === null || registrableDomain === name.ascii) return issues;
  const registered = domainToUnicode(registrableDomain) || registrableDomain;
  return [{ code: 'subdomain', name: name.unicode, registered }, ...issues];
}

/** Generic zones that ICANN's rules for registrants don't cover. */
const NON_ICANN_ZONES: ReadonlySet<string> = new Set(['arpa', 'edu', 'gov', 'int', 'mil']);

/** Country-code zones have two letters. A zone in another script counts as a country-code zone. */
export function isInGenericZone(name: string): boolean {
  const { publicSuffix, isIcann } = parse(name, { allowPrivateDomains: true });
  const zone = publicSuffix?.split('.').at(-1) ?? '';
  return isIcann === true && zone.length > 2 && !zone.startsWith('xn--') && !NON_ICANN_ZONES.has(zone);
}

/** @param hosts host names, as entered or in ASCII */
export function checkNameServers(zone: ZoneProfile, hosts: readonly string[]): ZoneIssue[] {
  const issues: ZoneIssue[] = [];
  const seenHosts = new Set<string>();
  const duplicates = new Set<string>();
  for (const host of hosts) {
    const parsed = parseDomainName(host);
    if (!parsed.ok) {
      issues.push({ code: 'nameserver_unreadable', issue: parsed.issue });
      continue;
    }
    const { ascii } = parsed.value;
    if (seenHosts.has(ascii)) duplicates.add(ascii);
    seenHosts.add(ascii);
  }
  for (const host of duplicates) issues.push({ code: 'nameserver_repeated', host });
  const { min, max } = zone.nameServers;
  const count = hosts.length;
  if (count < min || count > (max ?? count)) {
    const documentedZone = zone.isDocumented ? zone.zone : undefined;
    issues.push({ code: 'nameserver_count', zone: documentedZone, given: count, min, max });
  }
  return issues;
}

/** @param period in years */
export function checkPeriod(zone: ZoneProfile, period: number): ZoneIssue[] {
  const { min, max } = zone.periodYears;
  if (Number.isInteger(period) && period >= min && period <= (max ?? period)) return [];
  return [{ code: 'period_out_of_range', min, max }];
}
