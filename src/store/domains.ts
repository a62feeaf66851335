import type { WatchDecision } from '../events.ts';
import type { WatchedDomain, WatchListStore } from '../expiry/ports.ts';
import type { NameObservation } from '../names/ports.ts';
import { type Database, isUniqueViolation, type RunStatement, type Statement, storeOf } from './database.ts';
import {
  changedNames,
  claimedSuccessRows,
  claimSuccess,
  countMonths,
  domainRows,
  firstExpiryOf,
  firstExpiryRows,
  importedRows,
  importNames,
  insertDecision,
  insertDomain,
  insertObservations,
  monthRows,
  selectDomains,
  statementsAfter,
  updateDomain,
} from './domain-statements.ts';
import { createWatchListPages } from './watch-list-pages.ts';

/** The watch list in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createWatchListStore({ prisma, run, transaction }: Database): WatchListStore {
  const findMany = async (names: readonly string[]) => domainRows.parse(await run(selectDomains(names)));
  const pages = createWatchListPages(prisma);
  return {
    ...pages,

    ...storeOf<Omit<WatchListStore, keyof typeof pages>>('domains', {
      find: async (name) => (await findMany([name]))[0],

      findMany,

      firstExpiry: async (names) => {
        const [row] = firstExpiryRows.parse(await run(firstExpiryOf(names)));
        return row?.first ?? undefined;
      },

      add: async (domain, decision, observation) => {
        try {
          await transaction(async (runInside) => {
            await runInside(insertDomain(domain));
            for (const statement of kept(domain.name, decision, observation)) await runInside(statement);
          });
          return true;
        } catch (error) {
          if (isUniqueViolation(error)) return false;
          throw error;
        }
      },

      change: (before, after, decision, observation) => {
        const { name } = before;
        const following = [...statementsAfter(name, before, after), ...kept(name, decision, observation)];
        // One statement is a transaction by itself.
        return following.length === 0
          ? swap(run, before, after, following)
          : transaction((runInside) => swap(runInside, before, after, following));
      },

      countWatched: () => prisma.domain.count(),

      importBatch: async (names, by, now) => {
        const changed = importedRows.parse(await run(importNames(names, { actor: by, at: now })));
        const added = changed.filter((row) => row.added).length;
        return { added, dated: changed.length - added };
      },

      countByMonth: async (from, until, timeZone) => {
        const rows = monthRows.parse(await run(countMonths(from, until, timeZone)));
        return rows.map(({ month, count }) => [month, count] as const);
      },

      follow: (orderId, n, now, change) => {
        const attempt = () =>
          transaction(async (runInside) => {
            const taken = claimedSuccessRows.parse(await runInside(claimSuccess(orderId, n, now)));
            if (taken.length === 0) return false;
            const [before] = taken;
            const changed = change(before);
            if (changed === undefined) return true;
            const { after, observation } = changed;
            if (before === undefined) await runInside(insertDomain(after));
            else await swap(runInside, before, after, statementsAfter(after.name, before, after));
            await runInside(insertObservations(after.name, [observation]));
            return true;
          });
        // Somebody has put the name on the list meanwhile: by now it can be read.
        return attempt().catch((error: unknown) => {
          if (isUniqueViolation(error)) return attempt();
          throw error;
        });
      },
    }),
  };
}

/** What is written with a change. */
function kept(name: string, decision: WatchDecision | undefined, observation: NameObservation | undefined) {
  return [
    ...(decision === undefined ? [] : [insertDecision(name, decision)]),
    ...(observation === undefined ? [] : [insertObservations(name, [observation])]),
  ];
}

/** @param run of a transaction, where statements follow. @returns false when somebody else was faster */
async function swap(
  run: RunStatement,
  before: WatchedDomain,
  after: WatchedDomain,
  following: readonly Statement[],
): Promise<boolean> {
  const changed = changedNames.parse(await run(updateDomain(before, after)));
  if (changed.length === 0) return false;
  for (const statement of following) await run(statement);
  return true;
}
