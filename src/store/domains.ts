import type { WatchedDomain, WatchListStore } from '../expiry/ports.ts';
import {
  type Database,
  isUniqueViolation,
  type RunStatement,
  type Statement,
  wrapStore,
} from './database.ts';
import { readDomains } from './domain-rows.ts';
import {
  buildReminderUpdates,
  changedNames,
  claimedSuccessRows,
  claimSuccess,
  countMonths,
  firstExpiryRows,
  insertDomain,
  insertObservations,
  monthRows,
  selectDomains,
  selectFirstExpiry,
  updateDomain,
} from './domain-statements.ts';
import { setDetails } from './portfolio.ts';
import { createWatchListPages } from './watch-list-pages.ts';

/** @throws {StoreError} from every method if the database fails */
export function createWatchListStore({ prisma, run, transaction }: Database): WatchListStore {
  const findMany = async (names: readonly string[]) => readDomains(await run(selectDomains(names)));
  const pages = createWatchListPages(prisma);
  return {
    ...pages,

    ...wrapStore<Omit<WatchListStore, keyof typeof pages>>('domains', {
      find: async (name) => (await findMany([name]))[0],

      findMany,

      findFirstExpiry: async (names) => {
        const [row] = firstExpiryRows.parse(await run(selectFirstExpiry(names)));
        return row?.first ?? undefined;
      },

      countWatched: () => prisma.domain.count(),

      countByMonth: async (from, until, timeZone) => {
        const rows = monthRows.parse(await run(countMonths(from, until, timeZone)));
        return rows.map(({ month, count }) => [month, count] as const);
      },

      updateAfterOrder: (orderId, n, now, change) => {
        const attempt = () =>
          transaction(async (runInside) => {
            const claimed = claimedSuccessRows.parse(await runInside(claimSuccess(orderId, n, now)));
            if (claimed.length === 0) return false;
            const [before] = claimed;
            const changed = change(before);
            if (changed === undefined) return true;
            const { after, observation, details } = changed;
            if (before === undefined) await runInside(insertDomain(after));
            else await swapDomain(runInside, before, after, buildReminderUpdates(after.name, before, after));
            await runInside(insertObservations(after.name, [observation]));
            if (details === undefined) return true;
            const changer = { actor: details.by, at: now };
            await setDetails(runInside, after.name, details.change, changer, before === undefined);
            return true;
          });
        // The name was added concurrently, so it can be read now.
        return attempt().catch((error: unknown) => {
          if (isUniqueViolation(error)) return attempt();
          throw error;
        });
      },
    }),
  };
}

/**
 * @param run of a transaction, if more statements follow
 * @returns false if the name was changed concurrently
 */
async function swapDomain(
  run: RunStatement,
  before: WatchedDomain,
  after: WatchedDomain,
  statements: readonly Statement[],
): Promise<boolean> {
  const changed = changedNames.parse(await run(updateDomain(before, after)));
  if (changed.length === 0) return false;
  for (const statement of statements) await run(statement);
  return true;
}
