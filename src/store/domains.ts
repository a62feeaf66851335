import type { WatchedDomain, WatchListStore } from '../expiry/ports.ts';
import { type Database, isUniqueViolation, type RunStatement, wrapStore } from './database.ts';
import { readDomains } from './domain-rows.ts';
import {
  buildReminderUpdates,
  changedNameRowsSchema,
  claimWatchListUpdate,
  countNamesByMonth,
  earliestExpiryRowsSchema,
  insertDomain,
  insertObservations,
  monthRowsSchema,
  selectDomains,
  selectEarliestExpiry,
  updateDomain,
  watchListUpdateRowsSchema,
} from './domain-statements.ts';
import { setDetails } from './portfolio.ts';
import { createWatchListPages } from './watch-list-pages.ts';

export function createWatchListStore({ prisma, run, transaction }: Database): WatchListStore {
  const findMany = async (names: readonly string[]) => readDomains(await run(selectDomains(names)));
  const pages = createWatchListPages(prisma);
  return {
    ...pages,

    ...wrapStore<Omit<WatchListStore, keyof typeof pages>>('domains', {
      find: async (name) => (await findMany([name]))[0],

      findMany,

      findEarliestExpiry: async (names) => {
        const [row] = earliestExpiryRowsSchema.parse(await run(selectEarliestExpiry(names)));
        return row?.first ?? undefined;
      },

      countWatched: () => prisma.domain.count(),

      countByMonth: async (from, until, timeZone) => {
        const rows = monthRowsSchema.parse(await run(countNamesByMonth(from, until, timeZone)));
        return rows.map(({ month, count }) => [month, count] as const);
      },

      updateAfterOrder: (orderId, itemNumber, now, buildUpdate) => {
        const attempt = () =>
          transaction(async (tx) => {
            const rows = watchListUpdateRowsSchema.parse(
              await tx(claimWatchListUpdate(orderId, itemNumber, now)),
            );
            if (rows.length === 0) return false;
            const [before] = rows;
            const update = buildUpdate(before);
            if (update === undefined) return true;
            const { updatedDomain, observation, details } = update;
            if (before === undefined) await tx(insertDomain(updatedDomain));
            else await updateDomainAndReminders(tx, before, updatedDomain);
            await tx(insertObservations(updatedDomain.name, [observation]));
            if (details === undefined) return true;
            const author = { actor: details.by, at: now };
            await setDetails(tx, updatedDomain.name, details.change, author, before === undefined);
            return true;
          });
        // If the name was added concurrently, the second attempt finds it.
        return attempt().catch((error: unknown) => {
          if (isUniqueViolation(error)) return attempt();
          throw error;
        });
      },
    }),
  };
}

/** Does nothing if the name was changed concurrently. */
async function updateDomainAndReminders(
  tx: RunStatement,
  before: WatchedDomain,
  after: WatchedDomain,
): Promise<void> {
  const rows = changedNameRowsSchema.parse(await tx(updateDomain(before, after)));
  if (rows.length === 0) return;
  for (const statement of buildReminderUpdates(after.name, before, after)) await tx(statement);
}
