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

export function createReminderStore({ run, prisma, transaction }: Database, teamId: string): ReminderStore {
  const runQuery = (query: Statement): Promise<unknown> =>
    withStoreError('looking for names that are due', () => run(query));

  const findLatestDigestId = async (where: Prisma.NotificationWhereInput): Promise<string | undefined> => {
    const row = await prisma.notification.findFirst({
      where: { teamId, subjectKind: 'digest', ...where },
      orderBy: { subjectId: 'desc' },
    });
    return row?.subjectId;
  };

  const runWithoutResult = async (statement: Statement): Promise<void> => {
    await run(statement);
  };

  return {
    async *streamCandidates(ranges) {
      let cursors: readonly CandidateCursor[] = ranges.map((range) => ({ ...range, afterName: '' }));
      for (;;) {
        const rows = candidateRowsSchema.parse(await runQuery(selectCandidates(cursors)));
        yield rows.map(toReminder);
        const lastRow = rows.at(-1);
        if (lastRow === undefined || rows.length < PAGE_SIZE) return;
        const [cursor, ...remainingCursors] = cursors.slice(lastRow.range - 1);
        if (cursor === undefined) return;
        cursors = [{ ...cursor, from: lastRow.expiresAt, afterName: lastRow.name }, ...remainingCursors];
      }
    },

    async *streamDeletedCandidates(since) {
      for (let afterName = ''; ; ) {
        const rows = candidateRow.read(await runQuery(selectDeletedCandidates(since, afterName)));
        yield rows.map(toReminder);
        const lastRow = rows.at(-1);
        if (lastRow === undefined || rows.length < PAGE_SIZE) return;
        afterName = lastRow.name;
      }
    },

    ...wrapStore<Omit<ReminderStore, 'streamCandidates' | 'streamDeletedCandidates'>>('reminders', {
      listUnconfirmedRenewals: async (renewedBefore, now, limit) =>
        readDomains(await run(selectUnconfirmedRenewals(renewedBefore, now, limit))),

      openDigest: (digestId, now) => runWithoutResult(insertDigest(teamId, digestId, now)),

      claim: async (digestId, claims, now) =>
        claims.length === 0 ? 0 : transaction((tx) => claimReminders(tx, teamId, digestId, claims, now)),

      findLastClaimTime: async (digestId) => {
        const { _max } = await prisma.reminder.aggregate({ where: { digestId }, _max: { claimedAt: true } });
        return _max.claimedAt ?? undefined;
      },

      listPlannedReminders: async (digestId, purpose) =>
        readPlannedReminders(await run(selectPlannedReminders(teamId, digestId, purpose))),

      assign: (digestId, purpose, reminders) =>
        runWithoutResult(assignReminders(digestId, purpose, reminders)),

      redirectReminders: (digestId, destination) =>
        runWithoutResult(redirectReminders(teamId, digestId, destination)),

      releaseClaims: (digestId, keys) => runWithoutResult(releaseReminders(teamId, digestId, keys)),

      isDigestComplete: async (digestId) => {
        const planFilter = { teamId, subjectKind: 'digest', purpose: 'plan' };
        const where = { ...planFilter, subjectId: { gte: digestId }, dueAt: null };
        return (await prisma.notification.count({ where })) > 0;
      },

      listOwnerReminders: async (subject) => readPlannedReminders(await run(selectOwnerReminders(subject))),

      redirectOwnerReminders: (subject, now) =>
        transaction((tx) => redirectOwnerReminders(tx, teamId, subject, now)),

      findPreviousDigestId: (digestId) =>
        findLatestDigestId({ purpose: 'plan', subjectId: { lt: digestId } }),

      findLatestDigestIdWithChart: () =>
        findLatestDigestId({ purpose: MONTHS_CHART_PURPOSE, ts: { not: null } }),

      listReminderKeys: async (digestId, destination) => {
        const copyFilter = destination === DEFAULT_DESTINATION ? [{ copyPurpose: { not: null } }] : [];
        const where = { digestId, OR: [{ destination }, ...copyFilter] };
        const rows = await prisma.reminder.findMany({ where });
        return rows.map(({ name, expiresAt, threshold }) => ({
          name,
          expiry: getUtcDay(expiresAt),
          threshold,
        }));
      },

      listUnaskedNames: async (day, from, until) =>
        readDomains(await run(selectUnaskedNames(teamId, day, from, until))),

      queueQuestions: (questions) => transaction((tx) => queueOwnerQuestion(tx, teamId, questions)),

      loadAskedNames: async (subject) => readDomains(await run(selectAskedNames(subject))),
    }),
  };
}
