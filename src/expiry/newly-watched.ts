import { UNKNOWN_DATES } from '../names/dates.ts';
import type { WatchedDomain } from './ports.ts';

export function createWatchedDomain(name: string, addedBy: string, now: Date): WatchedDomain {
  return {
    name,
    version: 0,
    ...UNKNOWN_DATES,
    addedBy,
    addedAt: now,
    registeredBy: undefined,
    nextRegistryLookupAt: now,
    snooze: undefined,
    lapse: undefined,
  };
}
