import { MONTHS, type ReminderStore } from '../expiry/ports.ts';
import { type Database, type Statement, storeOf, withStoreError } from './database.ts';
import { readDomains } from './domain-rows.ts';
import {
  askOwner,
  assignReminders,
  BATCH,
  type CandidateStep,
  candidateRow,
  candidateRows,
  candidatesQuery,
  claimedAtRows,
  claimReminders,
  deletedQuery,
  digestRows,
  disputedQuery,
  freeReminders,
  insertDigest,
  keyRows,
  readPlanned,
  redirectOwner,
  redirectReminders,
  reminderOf,
  selectAsked,
  selectComplete,
  selectLastClaimedAt,
  selectLatestWith,
  selectPlanned,
  selectPrevious,
  selectReminded,
  selectReminders,
  selectUnasked,
} from './reminder-statements.ts';

/** @throws {StoreError} from every method, when the database fails */
export function createReminderStore({ run, transaction }: Database, teamId: string): ReminderStore {
  const ask = (query: Statement): Promise<unknown> =>
    withStoreError('looking for names that are due', () => run(query));

  const change = async (statement: Statement): Promise<void> => {
    await run(statement);
  };

  return {
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
        const found = candidateRow.read(await ask(deletedQuery(since, after)));
        yield found.map(reminderOf);
        const last = found.at(-1);
        if (last === undefined || found.length < BATCH) return;
        after = last.name;
      }
    },

    ...storeOf<Omit<ReminderStore, 'candidates' | 'deletedCandidates'>>('reminders', {
      disputed: async (before, now, limit) => readDomains(await run(disputedQuery(before, now, limit))),

      open: (digestId, now) => change(insertDigest(teamId, digestId, now)),

      claim: async (digestId, claims, now) =>
        claims.length === 0
          ? 0
          : transaction((runInside) => claimReminders(runInside, teamId, digestId, claims, now)),

      lastClaimedAt: async (digestId) => claimedAtRows.parse(await run(selectLastClaimedAt(digestId)))[0]?.at,

      planned: async (digestId, purpose) => readPlanned(await run(selectPlanned(teamId, digestId, purpose))),

      assign: (digestId, purpose, reminders) => change(assignReminders(digestId, purpose, reminders)),

      redirect: (digestId, destination) => change(redirectReminders(teamId, digestId, destination)),

      free: (digestId, keys) => change(freeReminders(teamId, digestId, keys)),

      isComplete: async (digestId) =>
        digestRows.parse(await run(selectComplete(teamId, digestId))).length > 0,

      remindedIn: async (subject) => readPlanned(await run(selectReminded(subject))),

      redirectOwner: (subject, now) =>
        transaction((runInside) => redirectOwner(runInside, teamId, subject, now)),

      previous: async (digestId) => digestRows.parse(await run(selectPrevious(teamId, digestId)))[0]?.id,

      latestWithMonths: async () => digestRows.parse(await run(selectLatestWith(teamId, MONTHS)))[0]?.id,

      remindersOf: async (digestId, destination) =>
        keyRows.parse(await run(selectReminders(digestId, destination))),

      unasked: async (day, from, until) => readDomains(await run(selectUnasked(teamId, day, from, until))),

      ask: (questions) => transaction((runInside) => askOwner(runInside, teamId, questions)),

      loadQuestions: async (subject) => readDomains(await run(selectAsked(subject))),
    }),
  };
}
