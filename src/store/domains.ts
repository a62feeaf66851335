import type { WatchDecision } from '../events.ts';
import { utcDay } from '../expiry/days.ts';
import type { WatchedDomain, WatchListStore } from '../expiry/ports.ts';
import { type Database, isUniqueViolation, type RunStatement, type Statement, storeOf } from './database.ts';
import {
  changedNames,
  claimDue,
  claimedSuccessRows,
  claimSuccess,
  countMonths,
  domainRows,
  firstExpiryOf,
  firstExpiryRows,
  forgetEnd,
  importedRows,
  importNames,
  insertDecision,
  insertDomain,
  monthRows,
  recordReminder,
  removeDomain,
  selectDomains,
  updateDomain,
} from './domain-statements.ts';
import { createWatchListPages } from './watch-list-pages.ts';

/** Dates of one end of a name differ by less than this; those of two ends by a year. */
const SAME_END_MS = 30 * 86_400_000;

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

      add: async (domain, decision) => {
        try {
          await transaction(async (runInside) => {
            await runInside(insertDomain(domain));
            if (decision !== undefined) await runInside(insertDecision(domain.name, decision));
          });
          return true;
        } catch (error) {
          if (isUniqueViolation(error)) return false;
          throw error;
        }
      },

      change: (before, after, decision) => {
        const following = statementsAfter(before, after, decision);
        // One statement is a transaction by itself.
        return following.length === 0
          ? swap(run, before, after, following)
          : transaction((runInside) => swap(runInside, before, after, following));
      },

      remove: (name, decision) =>
        transaction(async (runInside) => {
          const removed = changedNames.parse(await runInside(removeDomain(name)));
          if (removed.length === 0) return false;
          if (decision !== undefined) await runInside(insertDecision(name, decision));
          return true;
        }),

      importBatch: async (names, by, now) => {
        const changed = importedRows.parse(await run(importNames(names, by, now)));
        const added = changed.filter((row) => row.added).length;
        return { added, dated: changed.length - added };
      },

      claimDueChecks: async (now, until, limit) => domainRows.parse(await run(claimDue(now, until, limit))),

      countByMonth: async (from, until, timeZone) => {
        const rows = monthRows.parse(await run(countMonths(from, until, timeZone)));
        return rows.map(({ month, count }) => [month, count] as const);
      },

      follow: (orderId, n, now, change) =>
        transaction(async (runInside) => {
          const taken = claimedSuccessRows.parse(await runInside(claimSuccess(orderId, n, now)));
          if (taken.length === 0) return false;
          const [before] = taken;
          const after = change(before);
          if (after === undefined) return true;
          if (before === undefined) await runInside(insertDomain(after));
          else await swap(runInside, before, after, statementsAfter(before, after));
          return true;
        }),
    }),
  };
}

/** What has to follow a change in the same transaction: reminders are about the name as it then is. */
function statementsAfter(
  before: WatchedDomain,
  after: WatchedDomain,
  decision?: WatchDecision,
): readonly Statement[] {
  const isBack = before.deletedAt !== undefined && after.deletedAt === undefined;
  const from = before.expiry?.at;
  const to = after.expiry?.at;
  const hasMoved = to !== undefined && (from === undefined || utcDay(from) !== utcDay(to));
  const hasSameEnd = hasMoved && from !== undefined && Math.abs(to.getTime() - from.getTime()) < SAME_END_MS;
  return [
    ...(isBack ? [forgetEnd(before.name)] : []),
    ...(hasMoved ? [recordReminder(before.name, to, hasSameEnd ? from : undefined)] : []),
    ...(decision === undefined ? [] : [insertDecision(before.name, decision)]),
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
