import { compareAndSwap } from '../compare-and-swap.ts';
import type { WatchDecision } from '../events.ts';
import { NO_DATES } from '../names/dates.ts';
import type { NameObservation } from '../names/ports.ts';
import type { WatchedDomain, WatchListStore } from './ports.ts';

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
  const { domain } = await compareAndSwap(
    `changing ${name} on the watch list`,
    () => store.find(name),
    async (known) => {
      const after = known && decide(known);
      if (known === undefined || after === undefined) return { domain: known };
      return (await store.change(known, after, decision?.(after), observation))
        ? { domain: { ...after, version: known.version + 1 } }
        : undefined;
    },
  );
  return domain;
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
