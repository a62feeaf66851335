import type { WatchDecision } from '../events.ts';
import { NO_DATES } from '../names/dates.ts';
import type { NameObservation } from '../names/ports.ts';
import type { WatchedDomain, WatchListStore } from './ports.ts';

const ATTEMPTS = 20;

/**
 * Changes a name of the watch list by compare-and-swap, and tries again when somebody else changed
 * it in between.
 * @param decide returns the changed name; undefined leaves it as it is
 * @param decision what a person decided with the change, for the audit log
 * @param observation what a person said of its dates with the change
 * @returns the name as it then is; undefined when it is not on the list
 */
export async function changeWatched(
  store: WatchListStore,
  name: string,
  decide: (known: WatchedDomain) => WatchedDomain | undefined,
  decision?: (after: WatchedDomain) => WatchDecision,
  observation?: NameObservation,
): Promise<WatchedDomain | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const known = await store.find(name);
    if (known === undefined) return undefined;
    const after = decide(known);
    if (after === undefined) return known;
    if (await store.change(known, after, decision?.(after), observation))
      return { ...after, version: known.version + 1 };
  }
  throw new Error(`changing ${name} on the watch list: others changed it ${ATTEMPTS} times meanwhile`);
}

/** A new entry of the list, of which nothing is known yet. */
export function newlyWatched(name: string, addedBy: string, now: Date): WatchedDomain {
  return {
    name,
    version: 0,
    ...NO_DATES,
    addedBy,
    addedAt: now,
    registeredBy: undefined,
    nextRegistryAt: now,
    snooze: undefined,
    lapse: undefined,
  };
}
