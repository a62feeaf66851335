import type { TeamSettings } from '../../src/config/environment.ts';
import type { ImportedName } from '../../src/expiry/import.ts';
import type { WatchedDomain, WatchListStore } from '../../src/expiry/ports.ts';
import * as list from '../../src/expiry/watch-list.ts';
import {
  type DetailsChange,
  listEditedNames,
  NO_DETAILS,
  type QuestionAnswer,
} from '../../src/names/portfolio.ts';
import type { PortfolioStore, ReportProgress } from '../../src/names/ports.ts';
import { type Protection, separateChanges } from '../../src/names/weakening.ts';
import type { MessagePlace } from '../../src/outbox/notifications.ts';
import type { Database } from '../../src/store/database.ts';
import { isUniqueViolation } from '../../src/store/database.ts';
import {
  buildReminderUpdates,
  changedNameRowsSchema,
  importNames as importStatement,
  insertDomain,
  updateDomain,
} from '../../src/store/domain-statements.ts';
import { createWatchListStore } from '../../src/store/domains.ts';
import { namesContextWith } from './names-context.ts';
import { newTeamSettings } from './settings.ts';

/* The watch list and the portfolio without protected names, so that every change takes effect at once. */

/** No rule, budget, mandate, incident or order. */
const NO_PROTECTION: Protection = {
  settings: newTeamSettings(),
  policy: { version: 0, rules: [], isCharterMissing: false, tags: [], charterProblem: undefined },
  budgetTags: new Set(),
  mandates: [],
  parentTags: new Map(),
  busyNames: new Set(),
};

/** @returns the names that changed */
export async function editNames(
  store: PortfolioStore,
  edits: ReadonlyMap<string, DetailsChange>,
  by: string,
  at: Date,
): Promise<readonly string[]> {
  const changes = listEditedNames(await store.findMany([...edits.keys()]), edits);
  const { allowed } = await separateChanges(changes, by, NO_PROTECTION);
  const written = await store.write(allowed, by, at);
  if (written !== 'written') throw new Error(written);
  return allowed.changes.map(({ name }) => name);
}

export async function applyImportPlan(
  store: PortfolioStore,
  hash: string,
  by: string,
  at: Date,
  progress: ReportProgress = () => undefined,
) {
  const plan = await store.findImportPlan(hash, by, at, progress);
  if (plan === 'gone' || 'stale' in plan) return plan;
  const { allowed } = await separateChanges(plan.changedNames, by, NO_PROTECTION);
  return store.write(allowed, by, at, hash, progress);
}

interface Deps {
  readonly store: WatchListStore;
  readonly portfolio: PortfolioStore;
  readonly now: () => Date;
}

const contextOf = ({ store, now }: Deps) => namesContextWith({ watchList: store, now });

/** Saves changes as in the product, but with no protected names. */
function createUnprotectedSave({ portfolio, now }: Omit<Deps, 'store'>, by: string): list.SaveChanges {
  return async (requested) => {
    const found = await portfolio.findMany(requested.map(({ name }) => name));
    const changes = requested.flatMap((each) => {
      const before = each.isNew ? NO_DETAILS : found.get(each.name);
      const after = before && { ...before, ...(each.owner && { owner: each.owner }) };
      return before === undefined ? [] : [{ ...each, before, after }];
    });
    const { allowed } = await separateChanges(changes, by, NO_PROTECTION);
    const written = await portfolio.write(allowed, by, now());
    if (written === 'gone') throw new Error(written);
    return written === 'written'
      ? { changedNames: allowed.changes.map(({ name }) => name), proposal: undefined }
      : written;
  };
}

export async function watchName(
  deps: Deps,
  lookUp: (name: string) => Promise<void>,
  text: string,
  date: string | undefined,
  by: string,
) {
  const added = await list.addName(contextOf(deps), { text, date }, createUnprotectedSave(deps, by));
  if (!added.ok) return added;
  await lookUp(added.name);
  return list.loadAddedName(contextOf(deps), added);
}

export const importNames = (
  deps: Deps,
  text: string,
  by: string,
  progress: Parameters<typeof list.importNames>[3],
) => list.importNames(contextOf(deps), text, createUnprotectedSave(deps, by), progress);

export const snoozeName = (
  deps: Deps,
  name: string,
  days: number,
  by: string,
  reason: string | undefined,
  origin?: MessagePlace,
) =>
  list.snoozeName(
    contextOf(deps),
    { name, reason, ...(origin && { origin }) },
    days,
    createUnprotectedSave(deps, by),
  );

export const answerQuestion = (
  { settings, ...deps }: Deps & { readonly settings: TeamSettings },
  question: { readonly name: string; readonly by: string },
  answer: QuestionAnswer,
) =>
  list.answerOwnerQuestion(
    namesContextWith({ watchList: deps.store, now: deps.now, settings: async () => settings }),
    question,
    answer,
    createUnprotectedSave(deps, question.by),
  );

export const requestLapse = (deps: Deps, name: string, by: string, reason: string, origin?: MessagePlace) =>
  list.requestLapse(
    contextOf(deps),
    { name, reason, ...(origin && { origin }) },
    createUnprotectedSave(deps, by),
  );

/** Confirms the pending request to let a name lapse. */
export async function confirmLapse(deps: Deps, name: string, by: string, origin?: MessagePlace) {
  const { requestedBy: askedBy = '', reason = '' } = (await deps.store.find(name))?.lapse ?? {};
  const decision = { kind: 'lapse_confirmed' as const, reason, askedBy, ...(origin && { origin }) };
  const written = await createUnprotectedSave(deps, by)([{ name, decision }]);
  return typeof written === 'string' ? written : 'confirmed';
}

export async function unwatchName({ portfolio, now }: Deps, name: string, by: string): Promise<void> {
  const found = await portfolio.findMany([name]);
  const changes = [...found].map(([, before]) => ({ name, before, after: undefined }));
  const { allowed } = await separateChanges(changes, by, NO_PROTECTION);
  await portfolio.write(allowed, by, now());
}

/** The store of the watch list, with functions that write rows directly. */
export function createTestWatchList(database: Database) {
  return {
    ...createWatchListStore(database),

    /** @returns false if the name is already on the list */
    async add(domain: WatchedDomain): Promise<boolean> {
      try {
        await database.run(insertDomain(domain));
        return true;
      } catch (error) {
        if (isUniqueViolation(error)) return false;
        throw error;
      }
    },

    /** @returns false if the name was changed meanwhile */
    change: (before: WatchedDomain, after: WatchedDomain): Promise<boolean> =>
      database.transaction(async (tx) => {
        if (changedNameRowsSchema.parse(await tx(updateDomain(before, after))).length === 0) return false;
        for (const statement of buildReminderUpdates(before.name, before, after)) await tx(statement);
        return true;
      }),

    async importBatch(names: readonly ImportedName[], actor: string, at: Date): Promise<void> {
      await database.run(importStatement(names, { actor, at, confirmedBy: undefined }));
    },
  };
}
