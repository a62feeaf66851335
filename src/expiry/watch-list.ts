import { type ChangedName, lapseHash, MAX_WATCHED } from '../names/portfolio.ts';
import type { Lapse } from '../names/ports.ts';
import type { EditedFacts } from '../names/protected-changes.ts';
import type { MessagePlace } from '../notifications.ts';
import { type DateIssue, parseTypedDate } from '../typed-date.ts';
import { changeWatched, newlyWatched } from './change-watched.ts';
import { type ImportReport, type NameIssue, parseImport, registrableName } from './import.ts';
import { snoozeUntil } from './plan.ts';
import type { WatchedDomain, WatchListStore } from './ports.ts';

/* What people do with the watch list. Every refusal is a code with its data; the sentences stand in the views. */

/** What changes of the watch list need. */
export interface WatchListDeps {
  readonly store: WatchListStore;
  readonly now: () => Date;
}

/** Why nothing was changed for a person. */
export type WatchRefusal =
  | NameIssue
  | DateIssue
  | { readonly code: 'not_watched'; readonly name: string }
  /** Somebody took the name off the list at the same moment. */
  | { readonly code: 'removed_meanwhile' }
  /** A date that a person gives is at most this far ahead: no registry registers a name for longer. */
  | { readonly code: 'date_too_far_ahead'; readonly text: string }
  /** No more names can be watched. */
  | { readonly code: 'list_full'; readonly limit: number }
  | { readonly code: 'invalid_snooze'; readonly maxDays: number }
  /** It is decided already that the name lapses. */
  | { readonly code: 'lapse_decided' }
  /** Nobody has asked to let the name lapse, or the request was withdrawn. */
  | { readonly code: 'lapse_not_requested' }
  /** The person who asked to let a name lapse cannot confirm it. */
  | { readonly code: 'own_lapse_request' }
  /** The request isn't the one that was shown. */
  | { readonly code: 'lapse_changed'; readonly lapse: Lapse };

/** How something that a person asked for ended. */
export type WatchOutcome =
  | { readonly ok: true; readonly domain: WatchedDomain }
  | { readonly ok: false; readonly refusal: WatchRefusal };

/** How `watch` ended. */
export type WatchedOutcome =
  | {
      readonly ok: true;
      readonly domain: WatchedDomain;
      /** It was on the list already. */
      readonly known: boolean;
      /** The given date that was not taken, because a better one is known. */
      readonly dateNotTaken: Date | undefined;
      /** The given date weakens protection, so it waits for confirmation. */
      readonly waiting: EditedFacts['waiting'];
    }
  | { readonly ok: false; readonly refusal: WatchRefusal };

/** The result of a list. */
export interface ImportSummary
  extends Pick<ImportReport, 'rejected'>,
    Partial<Pick<ImportReport, 'unusedHeadings' | 'lacksExpiry'>> {
  readonly added: number;
  readonly dated: number;
  /** Names that were on the list and did not change. */
  readonly kept: number;
  readonly duplicates: number;
  /** New names for which the list has no room. */
  readonly beyondLimit: number;
  /** Names that were not taken, because their date is too far ahead. */
  readonly tooFarAhead: number;
  /** Dates that weaken protection, so they wait for confirmation. */
  readonly waiting: EditedFacts['waiting'];
}

/** Changes dates that people gave: the gate for protected fields, for one person in one place. */
export type ChangeDates = (names: readonly Pick<ChangedName, 'name' | 'date'>[]) => Promise<EditedFacts>;

const LOOKUP_MS = 6_000;
const IMPORT_BATCH = 1_000;
/** The longest snooze of a name. */
export const MAX_SNOOZE_DAYS = 365;

/**
 * Puts a name on the list and asks its registry. The registry's date counts, else the one known from an order, else
 * the one that is given. A name that was to lapse is watched again.
 * @param look asks the registry of a name, and keeps what it shows
 * @param date as typed; undefined when none was given
 */
export async function watchName(
  deps: WatchListDeps,
  look: (name: string, timeoutMs: number) => Promise<void>,
  { text, date, by }: { readonly text: string; readonly date: string | undefined; readonly by: string },
  changeDates: ChangeDates,
): Promise<WatchedOutcome> {
  const read = registrableName(text);
  if (!read.ok) return { ok: false, refusal: read.issue };
  const at = deps.now();
  const given = date === undefined ? undefined : parseTypedDate(date);
  if (given?.ok === false) return { ok: false, refusal: given.issue };
  if (date !== undefined && given !== undefined && given.value > latestDate(at))
    return { ok: false, refusal: { code: 'date_too_far_ahead', text: date } };
  const name = read.value.ascii;

  const known = await deps.store.find(name);
  const dated = given !== undefined && known !== undefined ? datedName(known, given.value) : undefined;
  const waiting = dated === undefined ? undefined : (await changeDates([dated])).waiting;
  const decision = { kind: 'name_watched', actor: by, at, until: given?.value } as const;
  if (known === undefined) {
    if ((await deps.store.countWatched()) >= MAX_WATCHED)
      return { ok: false, refusal: { code: 'list_full', limit: MAX_WATCHED } };
    const expiry = given && ({ at: given.value, source: 'person', by } as const);
    const observation = given && ({ origin: 'person', at, expiresAt: given.value } as const);
    await deps.store.add({ ...newlyWatched(name, by, at), expiry }, decision, observation);
  } else {
    const watchAgain = (now: WatchedDomain) => ({ ...now, lapse: undefined });
    await changeWatched(deps.store, name, watchAgain, () => ({ ...decision, until: undefined }));
  }
  await look(name, LOOKUP_MS);
  const domain = await deps.store.find(name);
  if (domain === undefined) return { ok: false, refusal: { code: 'removed_meanwhile' } };
  const isTaken =
    given === undefined || waiting !== undefined || domain.expiry?.at.getTime() === given.value.getTime();
  return {
    ok: true,
    domain,
    known: known !== undefined,
    dateNotTaken: isTaken ? undefined : given.value,
    waiting,
  };
}

/** No registry registers a name for longer. */
const MAX_YEARS_AHEAD = 10;

function latestDate(now: Date): Date {
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + MAX_YEARS_AHEAD);
  return latest;
}

/** A known name with a given date; undefined where a better date is known, or the same one. */
function datedName(known: WatchedDomain, after: Date): Pick<ChangedName, 'name' | 'date'> | undefined {
  const { name, expiry } = known;
  if (expiry === undefined) return { name, date: { after } };
  if (expiry.source !== 'person' || expiry.at.getTime() === after.getTime()) return undefined;
  return { name, date: { before: { at: expiry.at, by: expiry.by }, after } };
}

/**
 * Puts a list on the watch list, in batches; finished batches stay.
 * @param list as it was read, or a text that is known to be readable
 * @param progress called after each batch with the number of names done and the total
 */
export async function importNames(
  deps: WatchListDeps,
  list: ImportReport | string,
  by: string,
  changeDates: ChangeDates,
  progress: (done: number, total: number) => Promise<void>,
): Promise<ImportSummary> {
  const report = typeof list === 'string' ? await parseImport(list) : list;
  if ('issue' in report) throw new Error(`the list cannot be read: ${report.issue.code}`);
  const { accepted: read, rejected, duplicates, ...rest } = report;
  const latest = latestDate(deps.now());
  const accepted = read.filter(({ expiresAt }) => expiresAt === undefined || expiresAt <= latest);
  const dated: Pick<ChangedName, 'name' | 'date'>[] = [];
  let room = MAX_WATCHED - (await deps.store.countWatched());
  let added = 0;
  let beyondLimit = 0;
  for (let from = 0; from < accepted.length; from += IMPORT_BATCH) {
    const batch = accepted.slice(from, from + IMPORT_BATCH);
    const known = new Map(
      (await deps.store.findMany(batch.map(({ name }) => name))).map((domain) => [domain.name, domain]),
    );
    const fresh = batch.filter(({ name }) => !known.has(name));
    const fitting = fresh.slice(0, Math.max(0, room));
    beyondLimit += fresh.length - fitting.length;
    room -= fitting.length;
    added += (await deps.store.importBatch(fitting, by, deps.now())).added;
    for (const { name, expiresAt } of batch) {
      const domain = known.get(name);
      const change =
        domain !== undefined && expiresAt !== undefined ? datedName(domain, expiresAt) : undefined;
      if (change !== undefined) dated.push(change);
    }
    await progress(from + batch.length, accepted.length);
  }
  const { changed, waiting } = dated.length === 0 ? NOTHING_DATED : await changeDates(dated);
  const kept = accepted.length - added - beyondLimit - changed.length - (waiting?.change.names.length ?? 0);
  const counts = {
    added,
    dated: changed.length,
    kept,
    beyondLimit,
    tooFarAhead: read.length - accepted.length,
  };
  return { ...rest, ...counts, duplicates: duplicates.length, rejected, waiting };
}

const NOTHING_DATED: EditedFacts = { changed: [], waiting: undefined };

/** Stops the reminders of a name for some days, until its expiry at the latest. @param origin where it is told, here and below */
export async function snoozeName(
  deps: WatchListDeps,
  name: string,
  days: number,
  by: string,
  reason: string | undefined,
  origin?: MessagePlace,
): Promise<WatchOutcome> {
  if (!Number.isInteger(days) || days < 1 || days > MAX_SNOOZE_DAYS) {
    return { ok: false, refusal: { code: 'invalid_snooze', maxDays: MAX_SNOOZE_DAYS } };
  }
  const now = deps.now();
  const domain = await changeWatched(
    deps.store,
    name,
    (known) => ({ ...known, snooze: { until: snoozeUntil(known.expiry?.at, days, now), by, reason } }),
    ({ snooze }) => ({ kind: 'name_snoozed', actor: by, at: now, until: snooze?.until, reason, origin }),
  );
  return domain === undefined ? notWatched(name) : { ok: true, domain };
}

/** Asks to let a name go. It is decided once somebody else confirms. */
export async function requestLapse(
  { store, now }: WatchListDeps,
  name: string,
  by: string,
  reason: string,
  origin?: MessagePlace,
): Promise<WatchOutcome> {
  let decided = false;
  const domain = await changeWatched(
    store,
    name,
    (known) => {
      decided = known.lapse?.confirmed !== undefined;
      return decided ? undefined : { ...known, lapse: { reason, requestedBy: by, confirmed: undefined } };
    },
    () => ({ kind: 'lapse_requested', actor: by, at: now(), reason, origin }),
  );
  if (domain === undefined) return notWatched(name);
  return decided ? { ok: false, refusal: { code: 'lapse_decided' } } : { ok: true, domain };
}

/** A click that confirms a lapse. */
export interface LapseConfirmation {
  readonly name: string;
  readonly by: string;
  /** The {@link lapseHash} of the request that was shown. */
  readonly shown: string;
  readonly origin?: MessagePlace;
}

/** A second person lets a name lapse: there are no more reminders. */
export async function confirmLapse(
  deps: WatchListDeps,
  { name, by, shown, origin }: LapseConfirmation,
): Promise<WatchOutcome> {
  let refusal: WatchRefusal | undefined;
  const at = deps.now();
  const domain = await changeWatched(
    deps.store,
    name,
    (known) => {
      refusal = refusalToConfirm(known, by, shown);
      if (refusal !== undefined || known.lapse === undefined) return undefined;
      return { ...known, lapse: { ...known.lapse, confirmed: { by, at } } };
    },
    ({ lapse }) => ({
      kind: 'lapse_confirmed',
      actor: by,
      at,
      reason: lapse?.reason,
      askedBy: lapse?.requestedBy,
      origin,
    }),
  );
  if (domain === undefined) return notWatched(name);
  return refusal === undefined ? { ok: true, domain } : { ok: false, refusal };
}

function refusalToConfirm(
  { name, lapse }: WatchedDomain,
  by: string,
  shown: string,
): WatchRefusal | undefined {
  if (lapse === undefined) return { code: 'lapse_not_requested' };
  if (lapse.confirmed !== undefined) return { code: 'lapse_decided' };
  if (lapse.requestedBy === by) return { code: 'own_lapse_request' };
  return lapseHash(name, lapse) === shown ? undefined : { code: 'lapse_changed', lapse };
}

function notWatched(name: string): { readonly ok: false; readonly refusal: WatchRefusal } {
  return { ok: false, refusal: { code: 'not_watched', name } };
}
