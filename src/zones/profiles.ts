import { generalZone } from './general.ts';
import { restZone } from './rest.ts';
import type { ZoneProfile } from './zone.ts';

const PROFILES: readonly ZoneProfile[] = [restZone];

/**
 * @param asciiName a name or zone in ASCII, such as `cafe.rest`, `.rest` or `rest`
 * @returns the zone's profile, or else the general rules
 */
export function findZoneProfile(asciiName: string): ZoneProfile {
  const name = `.${asciiName.toLowerCase().replace(/\.$/, '')}`;
  return PROFILES.find((profile) => name.endsWith(`.${profile.zone}`)) ?? generalZone;
}

export function listDocumentedZones(): readonly ZoneProfile[] {
  return PROFILES;
}
