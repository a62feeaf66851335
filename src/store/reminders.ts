import { DEFAULT_DESTINATION, MONTHS_CHART_PURPOSE, type ReminderStore } from '../expiry/ports.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { type Database, type Prisma, type Statement, withStoreError, wrapStore } from './database.ts';
import { readDomains } from './domain-rows.ts';
import {
  assignReminders,
  type CandidateCursor,
  candidateRow,
  candidateRowsSchema,
  claimReminders,
  insertDigest,
  PAGE_SIZE,
  queueOwnerQuestion,
  readPlannedReminders,
  redirectOwnerReminders,
  redirectReminders,
  releaseReminders,
  selectAskedNames,
  selectCandidates,
  selectDeletedCandidates,
  selectOwnerReminders,
  selectPlannedReminders,
  selectUnaskedNames,
  selectUnconfirmedRenewals,
  toReminder,
} from './reminder-statements.ts';

/** @throws {StoreError} from every method if the database fails */
export function createReminderStore({ run, prisma, transaction }: Database, teamId: string): ReminderStore {
  const runQuery = (query: Statement): Promise<unknown> =>
    withStoreError('looking for names that are due', () => run(query));

  const digestPlan = { teamId, subjectKind: 'digest', purpose: 'plan' };
  const findLatestDigest = async (where: Prisma.NotificationWhereInput): Promise<string | undefined> => {
    const found = await prisma.notification.findFirst({
      where: { teamId, subjectKind: 'digest', ...where },
      orderBy: { subjectId: 'desc' },
    });
    return found?.subjectId;
  };

  const execute = async (statement: Statement): Promise<void> => {
    await run(statement);
  };

  return {
    async *streamCandidates(ranges) {
      let cursors: readonly CandidateCursor[] = ranges.map((range) => ({ ...range, afterName: '' }));
      for (;;) {
        const found = candidateRowsSchema.parse(await runQuery(selectCandidates(cursors)));
        yield found.map(toReminder);
        const last = found.at(-1);
        if (last === undefined || found.length < PAGE_SIZE) return;
        const [unfinished, ...remaining] = cursors.slice(last.range - 1);
        if (unfinished === undefined) return;
        cursors = [{ ...unfinished, from: last.expiresAt, afterName: last.name }, ...remaining];
      }
    },

    async *streamDeletedCandidates(since) {
      for (let after = ''; ; ) {
        const found = candidateRow.read(await runQuery(selectDeletedCandidates(since, after)));
        yield found.map(toReminder);
        const last = found.at(-1);
        if (last === undefined || found.length < PAGE_SIZE) return;
        after = last.name;
      }
    },

    ...wrapStore<Omit<ReminderStore, 'streamCandidates' | 'streamDeletedCandidates'>>('reminders', {
      listUnconfirmedRenewals: async (before, now, limit) =>
        readDomains(await run(selectUnconfirmedRenewals(before, now, limit))),

      openDigest: (digestId, now) => execute(insertDigest(teamId, digestId, now)),

      claim: async (digestId, claims, now) =>
        claims.length === 0 ? 0 : transaction((tx) => claimReminders(tx, teamId, digestId, claims, now)),

      findLastClaimTime: async (digestId) => {
        const { _max: latest } = await prisma.reminder.aggregate({
          where: { digestId },
          _max: { claimedAt: true },
        });
        return latest.claimedAt ?? undefined;
      },

      listPlanned: async (digestId, purpose) =>
        readPlannedReminders(await run(selectPlannedReminders(teamId, digestId, purpose))),

      assign: (digestId, purpose, reminders) => execute(assignReminders(digestId, purpose, reminders)),

      redirect: (digestId, destination) => execute(redirectReminders(teamId, digestId, destination)),

      releaseClaims: (digestId, keys) => execute(releaseReminders(teamId, digestId, keys)),

      isComplete: async (digestId) => {
        const complete = { subjectId: { gte: digestId }, dueAt: null };
        return (await prisma.notification.count({ where: { ...digestPlan, ...complete } })) > 0;
      },

      listOwnerReminders: async (subject) => readPlannedReminders(await run(selectOwnerReminders(subject))),

      redirectOwnerReminders: (subject, now) =>
        transaction((tx) => redirectOwnerReminders(tx, teamId, subject, now)),

      findPrevious: (digestId) => findLatestDigest({ ...digestPlan, subjectId: { lt: digestId } }),

      findLatestWithChart: () => findLatestDigest({ purpose: MONTHS_CHART_PURPOSE, ts: { not: null } }),

      listReminderKeys: async (digestId, destination) => {
        const copied = destination === DEFAULT_DESTINATION ? [{ copyPurpose: { not: null } }] : [];
        const where = { digestId, OR: [{ destination }, ...copied] };
        const found = await prisma.reminder.findMany({ where });
        return found.map(({ name, expiresAt, threshold }) => ({
          name,
          expiry: getUtcDay(expiresAt),
          threshold,
        }));
      },

      listUnasked: async (day, from, until) =>
        readDomains(await run(selectUnaskedNames(teamId, day, from, until))),

      queueQuestions: (questions) => transaction((tx) => queueOwnerQuestion(tx, teamId, questions)),

      loadQuestions: async (subject) => readDomains(await run(selectAskedNames(subject))),
    }),
  };
}
