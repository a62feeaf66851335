import { dropMissing, splitIntoChunks } from '../lib/collections.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import { type DateIssue, parseEnteredDate } from '../lib/entered-date.ts';
import { computeStaleLimit } from '../names/dates.ts';
import {
  MAX_WATCHED_NAMES,
  type NameLimit,
  type QuestionAnswer,
  type ReminderChange,
  type ReminderDecision,
} from '../names/portfolio.ts';
import type { EditResult } from '../names/protected-changes.ts';
import type { MessagePlace } from '../outbox/notifications.ts';
import type { ExpiryContext } from './context.ts';
import { type ImportReport, type NameIssue, parseImport, parseRegistrableName } from './import.ts';
import { type AnswerIssue, buildOwnerDayKey, findAnswerRefusal, findMessageDay } from './owner-question.ts';
import { computeSnoozeEnd } from './plan.ts';
import type { WatchedDomain } from './ports.ts';

/** Actions on the watch list. Refusals are codes with data; the texts are in the views. */

export type WatchRefusal =
  | NameIssue
  | DateIssue
  | { readonly code: 'not_watched'; readonly name: string }
  | { readonly code: 'removed_meanwhile' }
  /** No registry registers names for more than ten years. */
  | { readonly code: 'date_too_far_ahead'; readonly text: string }
  | { readonly code: 'list_full'; readonly limit: number }
  | { readonly code: 'invalid_snooze'; readonly maxDays: number }
  /** Not after the known expiry, or in the past. */
  | { readonly code: 'not_renewed'; readonly text: string }
  | { readonly code: 'lapse_decided' }
  | AnswerIssue;

export type WatchOutcome =
  | { readonly ok: true; readonly domain: WatchedDomain }
  | { readonly ok: false; readonly refusal: WatchRefusal };

export type AddNameOutcome =
  | {
      readonly ok: true;
      readonly domain: WatchedDomain;
      readonly wasWatched: boolean;
      /** The given date, if it was ignored because a better one is known. */
      readonly ignoredDate: Date | undefined;
      /** The date weakens protection, so it waits for confirmation. */
      readonly proposal: EditResult['proposal'];
    }
  | { readonly ok: false; readonly refusal: WatchRefusal };

export interface ImportSummary {
  readonly rejected: ImportReport['rejected'];
  readonly unusedHeadings?: ImportReport['unusedHeadings'];
  readonly lacksExpiry?: ImportReport['lacksExpiry'];
  readonly added: number;
  readonly dated: number;
  /** Names that were already on the list and didn't change. */
  readonly kept: number;
  readonly duplicates: number;
  /** New names that weren't added because of the limit. */
  readonly beyondLimit: number;
  readonly tooFarAhead: number;
  /** Dates that weaken protection and wait for confirmation. */
  readonly proposal: EditResult['proposal'];
}

/**
 * Saves changes that one person makes in one channel, or proposes those that weaken protection. `changed`: a name
 * has changed since it was read, so read it again and retry.
 */
export type SaveChanges = (changes: readonly ReminderChange[]) => Promise<EditResult | 'changed' | NameLimit>;

const IMPORT_BATCH = 1_000;
export const MAX_SNOOZE_DAYS = 365;

/** A name that was added to the list but not looked up yet. */
export interface AddedName {
  readonly ok: true;
  readonly name: string;
  readonly wasWatched: boolean;
  /** The date from the person. */
  readonly givenDate: Date | undefined;
  readonly proposal: EditResult['proposal'];
}

/**
 * Adds a name. If it was lapsing, it is watched again.
 * @param date as entered; undefined if not given
 */
export async function addName(
  context: ExpiryContext,
  { text, date }: { readonly text: string; readonly date: string | undefined },
  saveChanges: SaveChanges,
): Promise<AddedName | Extract<AddNameOutcome, { readonly ok: false }>> {
  const read = parseRegistrableName(text);
  if (!read.ok) return { ok: false, refusal: read.issue };
  const at = context.now();
  const given = date === undefined ? undefined : parseEnteredDate(date);
  if (given?.ok === false) return { ok: false, refusal: given.issue };
  if (date !== undefined && given !== undefined && isTooFarAhead(given.value, at))
    return { ok: false, refusal: { code: 'date_too_far_ahead', text: date } };
  const name = read.value.ascii;

  const { known, written } = await compareAndSwap(
    `watching ${name}`,
    () => context.watchList.find(name),
    async (known) => {
      const dateChange = known && given && buildDateChange(known, given.value);
      const written = await saveChanges(
        known === undefined
          ? [{ name, isNew: true, ...(given && { date: { after: given.value } }) }]
          : [{ name, decision: { kind: 'name_watched' } }, ...dropMissing([dateChange])],
      );
      return written === 'changed' ? undefined : { known, written };
    },
  );
  if (typeof written === 'string')
    return { ok: false, refusal: { code: 'list_full', limit: MAX_WATCHED_NAMES } };
  const { proposal } = written;
  return { ok: true, name, wasWatched: known !== undefined, givenDate: given?.value, proposal };
}

/**
 * Reads the name after its lookup. The registry's date takes precedence over an order's, which takes precedence over
 * the given one.
 */
export async function readAdded(
  { watchList }: Pick<ExpiryContext, 'watchList'>,
  { name, wasWatched, givenDate, proposal }: AddedName,
): Promise<AddNameOutcome> {
  const domain = await watchList.find(name);
  if (domain === undefined) return { ok: false, refusal: { code: 'removed_meanwhile' } };
  const isUsed =
    givenDate === undefined || proposal !== undefined || domain.expiry?.at.getTime() === givenDate.getTime();
  return { ok: true, domain, wasWatched, ignoredDate: isUsed ? undefined : givenDate, proposal };
}

/** No registry registers names for longer. */
const MAX_YEARS_AHEAD = 10;

export function isTooFarAhead(date: Date, now: Date): boolean {
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + MAX_YEARS_AHEAD);
  return date > latest;
}

/** @returns undefined if an equal or better date is known */
export function buildDateChange({ name, expiry }: WatchedDomain, after: Date): ReminderChange | undefined {
  if (expiry === undefined) return { name, date: { after } };
  if (expiry.source === 'whois' && after < expiry.at)
    return { name, date: { before: { at: expiry.at }, after } };
  if (expiry.source !== 'person' || expiry.at.getTime() === after.getTime()) return undefined;
  return { name, date: { before: { at: expiry.at, by: expiry.by }, after } };
}

/**
 * Imports in batches. If one fails, the earlier ones are kept.
 * @param list the parsed list, or text that is known to be valid
 * @param progress called after each batch with the number of names done and the total
 */
export async function importNames(
  context: ExpiryContext,
  list: ImportReport | string,
  saveChanges: SaveChanges,
  progress: (done: number, total: number) => Promise<void>,
): Promise<ImportSummary> {
  const report = typeof list === 'string' ? await parseImport(list) : list;
  if ('issue' in report) throw new Error(`the list can’t be read: ${report.issue.code}`);
  const { accepted: read, rejected, duplicates, ...headings } = report;
  const now = context.now();
  const accepted = read.filter(({ expiresAt }) => expiresAt === undefined || !isTooFarAhead(expiresAt, now));
  let [done, added, beyondLimit] = [0, 0, 0];
  const dateChanges: ReminderChange[] = [];
  for (const batch of splitIntoChunks(accepted, IMPORT_BATCH)) {
    const imported = await compareAndSwap(
      'importing names',
      async () => ({
        known: await context.watchList.findMany(batch.map(({ name }) => name)),
        capacity: Math.max(0, MAX_WATCHED_NAMES - (await context.watchList.countWatched())),
      }),
      async ({ known, capacity }) => {
        const watched = new Map(known.map((domain) => [domain.name, domain]));
        const newNames = batch.filter(({ name }) => !watched.has(name));
        const fitting = newNames.slice(0, capacity).map(({ name, expiresAt: after }) => ({
          ...{ name, isNew: true as const },
          ...(after && { date: { after } }),
        }));
        const written = fitting.length === 0 ? NO_CHANGES : await saveChanges(fitting);
        if (typeof written === 'string') return undefined;
        return { watched, added: fitting.length, beyond: newNames.length - fitting.length };
      },
    );
    added += imported.added;
    beyondLimit += imported.beyond;
    dateChanges.push(
      ...batch.flatMap(({ name, expiresAt }) => {
        const domain = imported.watched.get(name);
        return (domain && expiresAt && buildDateChange(domain, expiresAt)) ?? [];
      }),
    );
    done += batch.length;
    await progress(done, accepted.length);
  }
  const written = dateChanges.length === 0 ? NO_CHANGES : await saveChanges(dateChanges);
  // A name that was changed concurrently keeps its date.
  const { changed, proposal } = typeof written === 'string' ? NO_CHANGES : written;
  const kept = accepted.length - added - beyondLimit - changed.length - (proposal?.payload.names.length ?? 0);
  const counts = {
    added,
    dated: changed.length,
    kept,
    beyondLimit,
    tooFarAhead: read.length - accepted.length,
  };
  return { ...headings, ...counts, duplicates: duplicates.length, rejected, proposal };
}

const NO_CHANGES: EditResult = { changed: [], proposal: undefined };

async function decide(
  { watchList }: ExpiryContext,
  name: string,
  saveChanges: SaveChanges,
  decideFor: (known: WatchedDomain) => ReminderDecision | WatchRefusal,
): Promise<WatchOutcome> {
  return compareAndSwap(
    `changing ${name} on the watch list`,
    () => watchList.find(name),
    async (known) => {
      if (known === undefined) return buildNotWatchedRefusal(name);
      const decision = decideFor(known);
      if ('code' in decision) return { ok: false, refusal: decision };
      const owner = decision.kind === 'name_handed_over' ? { owner: decision.to } : {};
      if (typeof (await saveChanges([{ name, decision, ...owner }])) === 'string') return undefined;
      const domain = await watchList.find(name);
      return domain && { ok: true, domain };
    },
  );
}

export interface ReminderRequest {
  readonly name: string;
  readonly reason: string | undefined;
  readonly origin?: MessagePlace;
}

/** Snoozes the name's reminders, until its expiry at the latest. */
export async function snoozeName(
  context: ExpiryContext,
  { name, ...details }: ReminderRequest,
  days: number,
  saveChanges: SaveChanges,
): Promise<WatchOutcome> {
  if (!Number.isInteger(days) || days < 1 || days > MAX_SNOOZE_DAYS) {
    return { ok: false, refusal: { code: 'invalid_snooze', maxDays: MAX_SNOOZE_DAYS } };
  }
  return decide(context, name, saveChanges, ({ expiry }) => ({
    ...{ kind: 'name_snoozed', until: computeSnoozeEnd(expiry?.at, days, context.now()) },
    ...details,
  }));
}

/**
 * Records a renewal at another registrar. Its date is used until the registry shows a new one.
 * @param expires as entered
 */
export async function recordRenewal(
  context: ExpiryContext,
  { name, ...details }: ReminderRequest,
  expires: string,
  saveChanges: SaveChanges,
): Promise<WatchOutcome & { readonly proposal?: EditResult['proposal'] }> {
  const read = parseEnteredDate(expires);
  if (!read.ok) return { ok: false, refusal: read.issue };
  const { value: until } = read;
  const now = context.now();
  if (isTooFarAhead(until, now)) return { ok: false, refusal: { code: 'date_too_far_ahead', text: expires } };
  return compareAndSwap(
    `recording the renewal of ${name}`,
    () => context.watchList.find(name),
    async (known) => {
      if (known === undefined) return buildNotWatchedRefusal(name);
      if (until <= now || (known.expiry !== undefined && until <= known.expiry.at))
        return { ok: false, refusal: { code: 'not_renewed', text: expires } };
      const decision = {
        kind: 'name_renewed',
        until,
        staleUntil: computeStaleLimit(known),
        ...details,
      } as const;
      const dateChange = known.expiry && buildDateChange(known, until);
      const written = await saveChanges([{ name, ...dateChange, decision }]);
      if (typeof written === 'string') return undefined;
      const domain = await context.watchList.find(name);
      return domain && { ok: true, domain, proposal: written.proposal };
    },
  );
}

/** Takes effect when another person confirms it. */
export function requestLapse(
  context: ExpiryContext,
  { name, ...details }: ReminderRequest & { readonly reason: string },
  saveChanges: SaveChanges,
): Promise<WatchOutcome> {
  return decide(context, name, saveChanges, ({ lapse }) =>
    lapse?.confirmed === undefined ? { kind: 'lapse_requested', ...details } : { code: 'lapse_decided' },
  );
}

/** Records that the owner keeps the name or hands it over. */
export async function answerQuestion(
  context: ExpiryContext,
  { name, by }: { readonly name: string; readonly by: string },
  answer: QuestionAnswer,
  saveChanges: SaveChanges,
): Promise<WatchOutcome> {
  const { day } = findMessageDay(await context.settings(), context.now());
  const decision =
    answer.kind === 'name_kept' ? answer : { ...answer, subject: buildOwnerDayKey(answer.to, day) };
  return decide(context, name, saveChanges, (known) => findAnswerRefusal(known, by, answer.kind) ?? decision);
}

function buildNotWatchedRefusal(name: string): { readonly ok: false; readonly refusal: WatchRefusal } {
  return { ok: false, refusal: { code: 'not_watched', name } };
}
