import * as list from '../../src/expiry/watch-list.ts';
import { type DetailsChange, editedNames, lapseHash } from '../../src/names/portfolio.ts';
import type { PortfolioStore, Progress } from '../../src/names/ports.ts';
import { type Protection, separateChanges } from '../../src/names/weakening.ts';
import type { MessagePlace } from '../../src/notifications.ts';
import { newTeamSettings } from './settings.ts';

/* The watch list and the portfolio where nothing protects a name, so that every change takes effect at once. */

/** No rule, budget, mandate, incident or order. */
const NOTHING: Protection = {
  settings: newTeamSettings(),
  policy: { version: 0, rules: [], signsSettings: false, tags: [], lapsed: undefined },
  budgetTags: new Set(),
  mandates: [],
  tagsOf: new Map(),
  busy: new Set(),
};

/** Edits names. @returns those that changed */
export async function edit(
  store: PortfolioStore,
  edits: ReadonlyMap<string, DetailsChange>,
  by: string,
  at: Date,
): Promise<readonly string[]> {
  const changes = editedNames(await store.findMany([...edits.keys()]), edits);
  const { allowed } = await separateChanges(changes, by, NOTHING);
  const written = await store.write(allowed, by, at);
  if (written !== 'written') throw new Error(written);
  return allowed.changes.map(({ name }) => name);
}

/** Applies a plan of an import. */
export async function applyPlan(
  store: PortfolioStore,
  hash: string,
  by: string,
  at: Date,
  progress: Progress = () => undefined,
) {
  const plan = await store.readImport(hash, by, at, progress);
  if (plan === 'gone' || 'stale' in plan) return plan;
  const { allowed } = await separateChanges(plan.changed, by, NOTHING);
  return store.write(allowed, by, at, hash, progress);
}

type Deps = list.WatchListDeps & { readonly portfolio: PortfolioStore };

function datesBy({ portfolio, now }: Deps, by: string): list.ChangeDates {
  return async (names) => {
    const found = await portfolio.findMany(names.map(({ name }) => name));
    const changes = names.flatMap((each) => {
      const details = found.get(each.name);
      return details === undefined ? [] : { ...each, before: details, after: details };
    });
    const { allowed } = await separateChanges(changes, by, NOTHING);
    const written = await portfolio.write(allowed, by, now());
    if (written !== 'written') throw new Error(written);
    return { changed: allowed.changes.map(({ name }) => name), waiting: undefined };
  };
}

type Look = Parameters<typeof list.watchName>[1];

export const watchName = (deps: Deps, look: Look, text: string, date: string | undefined, by: string) =>
  list.watchName(deps, look, { text, date, by }, datesBy(deps, by));

export const importNames = (
  deps: Deps,
  text: string,
  by: string,
  progress: Parameters<typeof list.importNames>[4],
) => list.importNames(deps, text, by, datesBy(deps, by), progress);

/** Confirms the request that stands. */
export async function confirmLapse(
  deps: list.WatchListDeps,
  name: string,
  by: string,
  origin?: MessagePlace,
) {
  const lapse = (await deps.store.find(name))?.lapse;
  const shown = lapse === undefined ? '' : lapseHash(name, lapse);
  return list.confirmLapse(deps, { name, by, shown, ...(origin && { origin }) });
}

export async function unwatchName({ portfolio, now }: Deps, name: string, by: string): Promise<void> {
  const found = await portfolio.findMany([name]);
  const changes = [...found].map(([, before]) => ({ name, before, after: undefined }));
  const { allowed } = await separateChanges(changes, by, NOTHING);
  await portfolio.write(allowed, by, now());
}
