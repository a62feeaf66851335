import type { MessagePlace } from '../notifications.ts';
import { changeWatched, newlyWatched } from './change-watched.ts';
import {
  type DateIssue,
  type ImportReport,
  type NameIssue,
  parseExpiryDate,
  parseImport,
  readName,
  registrableName,
} from './import.ts';
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
  | { readonly code: 'invalid_snooze'; readonly maxDays: number }
  /** It is decided already that the name lapses. */
  | { readonly code: 'lapse_decided' }
  /** Nobody has asked to let the name lapse, or the request was withdrawn. */
  | { readonly code: 'lapse_not_requested' }
  /** The person who asked to let a name lapse cannot confirm it. */
  | { readonly code: 'own_lapse_request' };

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
}

const LOOKUP_MS = 6_000;
const IMPORT_BATCH = 1_000;
/** The longest snooze of a name. */
export const MAX_SNOOZE_DAYS = 365;

/**
 * Puts a name on the list and asks its registry. The registry's date counts, else the one known from an order, else
 * the one that is given. A name that was to be let go is watched again.
 * @param look asks the registry of a name, and keeps what it shows
 * @param date as typed; undefined when none was given
 */
export async function watchName(
  deps: WatchListDeps,
  look: (name: string, timeoutMs: number) => Promise<void>,
  text: string,
  date: string | undefined,
  by: string,
): Promise<WatchedOutcome> {
  const read = registrableName(text);
  if (!read.ok) return { ok: false, refusal: read.issue };
  const given = date === undefined ? undefined : parseExpiryDate(date);
  if (given?.ok === false) return { ok: false, refusal: given.issue };
  const name = read.value.ascii;
  const expiry = given && ({ at: given.value, source: 'person' } as const);

  const at = deps.now();
  const decision = { kind: 'name_watched', actor: by, at, until: given?.value } as const;
  const observation = expiry && ({ origin: 'person', at, expiresAt: expiry.at } as const);
  const added = await deps.store.add({ ...newlyWatched(name, by, at), expiry }, decision, observation);
  if (!added) {
    const watchAgain = (known: WatchedDomain) => {
      const takesDate = expiry && (known.expiry === undefined || known.expiry.source === 'person');
      return { ...known, lapse: undefined, ...(takesDate && { expiry }) };
    };
    await changeWatched(deps.store, name, watchAgain, () => decision, observation);
  }
  await look(name, LOOKUP_MS);
  const domain = await deps.store.find(name);
  if (domain === undefined) return { ok: false, refusal: { code: 'removed_meanwhile' } };
  const dateNotTaken =
    given?.value !== undefined && domain.expiry?.at.getTime() !== given.value.getTime()
      ? given.value
      : undefined;
  return { ok: true, domain, known: !added, dateNotTaken };
}

/** Takes a name off the list. */
export async function unwatchName(
  { store, now }: WatchListDeps,
  text: string,
  by: string,
): Promise<WatchOutcome> {
  const read = readName(text);
  if (!read.ok) return { ok: false, refusal: read.issue };
  const domain = await store.find(read.value.ascii);
  const decision = { kind: 'name_unwatched', actor: by, at: now() } as const;
  if (domain === undefined || !(await store.remove(domain.name, decision)))
    return notWatched(read.value.unicode);
  return { ok: true, domain };
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
  progress: (done: number, total: number) => Promise<void>,
): Promise<ImportSummary> {
  const report = typeof list === 'string' ? await parseImport(list) : list;
  if ('issue' in report) throw new Error(`the list cannot be read: ${report.issue.code}`);
  const { accepted, rejected, duplicates, ...rest } = report;
  let added = 0;
  let dated = 0;
  for (let from = 0; from < accepted.length; from += IMPORT_BATCH) {
    const batch = accepted.slice(from, from + IMPORT_BATCH);
    const counts = await deps.store.importBatch(batch, by, deps.now());
    added += counts.added;
    dated += counts.dated;
    await progress(from + batch.length, accepted.length);
  }
  const kept = accepted.length - added - dated;
  return { ...rest, added, dated, kept, duplicates: duplicates.length, rejected };
}

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

/** A second person agrees to let a name go: there are no more reminders. */
export async function confirmLapse(
  deps: WatchListDeps,
  name: string,
  by: string,
  origin?: MessagePlace,
): Promise<WatchOutcome> {
  let refusal: WatchRefusal | undefined;
  const at = deps.now();
  const domain = await changeWatched(
    deps.store,
    name,
    (known) => {
      refusal = refusalToConfirm(known, by);
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

function refusalToConfirm({ lapse }: WatchedDomain, by: string): WatchRefusal | undefined {
  if (lapse === undefined) return { code: 'lapse_not_requested' };
  if (lapse.confirmed !== undefined) return { code: 'lapse_decided' };
  return lapse.requestedBy === by ? { code: 'own_lapse_request' } : undefined;
}

function notWatched(name: string): { readonly ok: false; readonly refusal: WatchRefusal } {
  return { ok: false, refusal: { code: 'not_watched', name } };
}
