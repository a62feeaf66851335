import { general } from './general.ts';
import { rest } from './rest.ts';
import type { ZoneProfile } from './zone.ts';

const PROFILES: readonly ZoneProfile[] = [rest];

/**
 * @param asciiName a name or zone in ASCII, such as `cafe.rest`, `.rest` or `rest`
 * @returns the zone's profile, or else the general rules
 */
export function zoneFor(asciiName: string): ZoneProfile {
  const name = `.${asciiName.toLowerCase().replace(/\.$/, '')}`;
  return PROFILES.find((profile) => name.endsWith(`.${profile.zone}`)) ?? general;
}

export function documentedZones(): readonly ZoneProfile[] {
  return PROFILES;
}
