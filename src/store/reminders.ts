import { utcDay } from '../expiry/days.ts';
import type { ReminderKey, ReminderStore } from '../expiry/ports.ts';
import { type Database, type Statement, withStoreError } from './database.ts';
import { createDigestStore } from './digests.ts';
import { domainRows } from './domain-statements.ts';
import {
  BATCH,
  type CandidateStep,
  candidateRows,
  candidatesQuery,
  claimedReminderRows,
  claimReminders,
  deletedQuery,
  deletedRows,
  disputedQuery,
  markPosted,
  reminderOf,
} from './reminder-statements.ts';

/** Digests and reminders in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createReminderStore(database: Database): ReminderStore {
  const { prisma, run } = database;
  const ask = (query: Statement): Promise<unknown> =>
    withStoreError('looking for names that are due', () => run(query));

  return {
    ...createDigestStore(database),

    async *candidates(ranges) {
      let steps: readonly CandidateStep[] = ranges.map((range) => ({ ...range, afterName: '' }));
      for (;;) {
        const found = candidateRows.parse(await ask(candidatesQuery(steps)));
        yield found.map(reminderOf);
        const last = found.at(-1);
        if (last === undefined || found.length < BATCH) return;
        const [unfinished, ...later] = steps.slice(last.range - 1);
        if (unfinished === undefined) return;
        steps = [{ ...unfinished, from: last.expiresAt, afterName: last.name }, ...later];
      }
    },

    async *deletedCandidates(since) {
      for (let after = ''; ; ) {
        const found = deletedRows.parse(await ask(deletedQuery(since, after)));
        yield found.map(reminderOf);
        const last = found.at(-1);
        if (last === undefined || found.length < BATCH) return;
        after = last.name;
      }
    },

    disputed: (before, now, limit) =>
      withStoreError('looking for disputed renewals', async () =>
        domainRows.parse(await run(disputedQuery(before, now, limit))),
      ),

    claim: (digestId, keys, now) =>
      withStoreError('claiming reminders', async () => {
        if (keys.length === 0) return [];
        const rows = claimedReminderRows.parse(await prisma.$queryRaw(claimReminders(digestId, keys, now)));
        return rows.map(({ name, expires_at, threshold }) => ({
          name,
          expiry: utcDay(expires_at),
          threshold,
        }));
      }),

    recordPosted: (digestId, destination, keys, now) =>
      withStoreError('noting what a digest said', async () => {
        await prisma.$executeRaw(markPosted(digestId, destination, keys, now));
      }),

    remindersOf: (digestId, destination) =>
      withStoreError('reading what a digest said', async () => {
        const rows = await prisma.reminder.findMany({
          where: { digestId, destination },
          select: { name: true, expiresAt: true, threshold: true },
        });
        return rows.map(
          ({ name, expiresAt, threshold }): ReminderKey => ({ name, expiry: utcDay(expiresAt), threshold }),
        );
      }),
  };
}
