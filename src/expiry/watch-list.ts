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
import {
  type ImportReport,
  type InvalidNameIssue,
  parseRegistrableName,
  parseWatchListImport,
} from './import.ts';
import { type AnswerIssue, buildOwnerDayKey, checkAnswer, findMessageDay } from './owner-question.ts';
import { computeSnoozeEnd } from './plan.ts';
import type { WatchedDomain } from './ports.ts';

export type WatchRefusal =
  | InvalidNameIssue
  | DateIssue
  | { readonly code: 'not_watched'; readonly name: string }
  | { readonly code: 'removed_meanwhile' }
  | { readonly code: 'date_too_far_ahead'; readonly text: string }
  | { readonly code: 'list_full'; readonly limit: number }
  | { readonly code: 'invalid_snooze'; readonly maxDays: number }
  /** The date is in the past or not after the known expiry. */
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
      /** Set if the date weakens protection, so it waits for confirmation. */
      readonly proposal: EditResult['proposal'];
    }
  | { readonly ok: false; readonly refusal: WatchRefusal };

export interface ImportSummary {
  readonly rejected: ImportReport['rejected'];
  readonly unusedHeadings?: ImportReport['unusedHeadings'];
  readonly lacksExpiry?: ImportReport['lacksExpiry'];
  readonly addedCount: number;
  readonly datedCount: number;
  /** Names that were already on the list and didn't change. */
  readonly unchangedCount: number;
  readonly duplicateCount: number;
  /** New names that weren't added because of the limit. */
  readonly beyondLimitCount: number;
  readonly tooFarAheadCount: number;
  /** Dates that weaken protection and wait for confirmation. */
  readonly proposal: EditResult['proposal'];
}

/**
 * Saves one person's changes, or proposes those that weaken protection. Returns `changed` if a name has
 * changed since it was read. The caller then reads it again.
 */
export type SaveChanges = (changes: readonly ReminderChange[]) => Promise<EditResult | 'changed' | NameLimit>;

const IMPORT_BATCH_SIZE = 1_000;
export const MAX_SNOOZE_DAYS = 365;

/** A name that was added to the list but not looked up yet. */
export interface AddedName {
  readonly ok: true;
  readonly name: string;
  readonly wasWatched: boolean;
  /** The date that the person entered. */
  readonly enteredDate: Date | undefined;
  readonly proposal: EditResult['proposal'];
}

/**
 * Adds a name. If it was lapsing, its lapse is canceled.
 * @param date as entered
 */
export async function addName(
  context: ExpiryContext,
  { text, date }: { readonly text: string; readonly date: string | undefined },
  saveChanges: SaveChanges,
): Promise<AddedName | Extract<AddNameOutcome, { readonly ok: false }>> {
  const parsedName = parseRegistrableName(text);
  if (!parsedName.ok) return { ok: false, refusal: parsedName.issue };
  const parsedDate = date === undefined ? undefined : parseEnteredDate(date);
  if (parsedDate?.ok === false) return { ok: false, refusal: parsedDate.issue };
  const enteredDate = parsedDate?.value;
  if (date !== undefined && enteredDate !== undefined && isTooFarAhead(enteredDate, context.now()))
    return { ok: false, refusal: { code: 'date_too_far_ahead', text: date } };
  const name = parsedName.value.ascii;

  const { wasWatched, result } = await compareAndSwap(
    `watching ${name}`,
    () => context.watchList.find(name),
    async (domain) => {
      const dateChange = domain && enteredDate && buildDateChange(domain, enteredDate);
      const result = await saveChanges(
        domain === undefined
          ? [{ name, isNew: true, ...(enteredDate && { date: { after: enteredDate } }) }]
          : [{ name, decision: { kind: 'name_watched' } }, ...dropMissing([dateChange])],
      );
      return result === 'changed' ? undefined : { wasWatched: domain !== undefined, result };
    },
  );
  if (typeof result === 'string')
    return { ok: false, refusal: { code: 'list_full', limit: MAX_WATCHED_NAMES } };
  return { ok: true, name, wasWatched, enteredDate, proposal: result.proposal };
}

/** Reads the name after its lookup. The entered date is used only if no registry or order has one. */
export async function loadAddedName(
  { watchList }: Pick<ExpiryContext, 'watchList'>,
  { name, wasWatched, enteredDate, proposal }: AddedName,
): Promise<AddNameOutcome> {
  const domain = await watchList.find(name);
  if (domain === undefined) return { ok: false, refusal: { code: 'removed_meanwhile' } };
  const isIgnored = proposal === undefined && domain.expiry?.at.getTime() !== enteredDate?.getTime();
  return { ok: true, domain, wasWatched, ignoredDate: isIgnored ? enteredDate : undefined, proposal };
}

/** No registry registers names for longer. */
const MAX_YEARS_AHEAD = 10;

export function isTooFarAhead(date: Date, now: Date): boolean {
  const latestDate = new Date(now);
  latestDate.setUTCFullYear(latestDate.getUTCFullYear() + MAX_YEARS_AHEAD);
  return date > latestDate;
}

/** @returns undefined if the same date or one from a better source is known */
export function buildDateChange(
  { name, expiry }: WatchedDomain,
  newExpiry: Date,
): ReminderChange | undefined {
  if (expiry === undefined) return { name, date: { after: newExpiry } };
  if (expiry.source === 'whois' && newExpiry < expiry.at)
    return { name, date: { before: { at: expiry.at }, after: newExpiry } };
  if (expiry.source !== 'person' || expiry.at.getTime() === newExpiry.getTime()) return undefined;
  return { name, date: { before: { at: expiry.at, by: expiry.enteredBy }, after: newExpiry } };
}

/**
 * Imports names in batches. If a batch fails, the earlier batches stay imported.
 * @param list the parsed list, or text that is known to be valid
 * @param reportProgress called after each batch with the number of names done and the total
 */
export async function importNames(
  context: ExpiryContext,
  list: ImportReport | string,
  saveChanges: SaveChanges,
  reportProgress: (done: number, total: number) => Promise<void>,
): Promise<ImportSummary> {
  const report = typeof list === 'string' ? await parseWatchListImport(list) : list;
  if ('issue' in report) throw new Error(`the list can’t be read: ${report.issue.code}`);
  const { accepted: parsedNames, rejected, duplicates, ...headings } = report;
  const now = context.now();
  const namesToImport = parsedNames.filter(
    ({ expiresAt }) => expiresAt === undefined || !isTooFarAhead(expiresAt, now),
  );
  let [doneCount, addedCount, beyondLimitCount] = [0, 0, 0];
  const dateChanges: ReminderChange[] = [];
  for (const batch of splitIntoChunks(namesToImport, IMPORT_BATCH_SIZE)) {
    const batchResult = await compareAndSwap(
      'importing names',
      async () => ({
        domains: await context.watchList.findMany(batch.map(({ name }) => name)),
        capacity: Math.max(0, MAX_WATCHED_NAMES - (await context.watchList.countWatched())),
      }),
      async ({ domains, capacity }) => {
        const watchedByName = new Map(domains.map((domain) => [domain.name, domain]));
        const newNames = batch.filter(({ name }) => !watchedByName.has(name));
        const additions = newNames.slice(0, capacity).map(({ name, expiresAt: after }) => ({
          name,
          isNew: true as const,
          ...(after && { date: { after } }),
        }));
        const result = additions.length === 0 ? NO_CHANGES : await saveChanges(additions);
        if (typeof result === 'string') return undefined;
        return {
          watched: watchedByName,
          added: additions.length,
          beyondLimit: newNames.length - additions.length,
        };
      },
    );
    addedCount += batchResult.added;
    beyondLimitCount += batchResult.beyondLimit;
    dateChanges.push(
      ...batch.flatMap(({ name, expiresAt }) => {
        const domain = batchResult.watched.get(name);
        return (domain && expiresAt && buildDateChange(domain, expiresAt)) ?? [];
      }),
    );
    doneCount += batch.length;
    await reportProgress(doneCount, namesToImport.length);
  }
  const result = dateChanges.length === 0 ? NO_CHANGES : await saveChanges(dateChanges);
  // On a conflict, the known dates are kept.
  const { changedNames, proposal } = typeof result === 'string' ? NO_CHANGES : result;
  const changedCount = changedNames.length + (proposal?.payload.names.length ?? 0);
  return {
    ...headings,
    rejected,
    addedCount,
    datedCount: changedNames.length,
    unchangedCount: namesToImport.length - addedCount - beyondLimitCount - changedCount,
    duplicateCount: duplicates.length,
    beyondLimitCount,
    tooFarAheadCount: parsedNames.length - namesToImport.length,
    proposal,
  };
}

const NO_CHANGES: EditResult = { changedNames: [], proposal: undefined };

async function saveDecision(
  { watchList }: ExpiryContext,
  name: string,
  saveChanges: SaveChanges,
  decide: (domain: WatchedDomain) => ReminderDecision | WatchRefusal,
): Promise<WatchOutcome> {
  return compareAndSwap(
    `changing ${name} on the watch list`,
    () => watchList.find(name),
    async (before) => {
      if (before === undefined) return buildNotWatchedRefusal(name);
      const decision = decide(before);
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
  return saveDecision(context, name, saveChanges, ({ expiry }) => ({
    kind: 'name_snoozed',
    until: computeSnoozeEnd(expiry?.at, days, context.now()),
    ...details,
  }));
}

/**
 * Records a renewal at another registrar. The entered date is used until the registry shows a new one.
 * @param expiryText as entered
 */
export async function recordRenewal(
  context: ExpiryContext,
  { name, ...details }: ReminderRequest,
  expiryText: string,
  saveChanges: SaveChanges,
): Promise<WatchOutcome & { readonly proposal?: EditResult['proposal'] }> {
  const parsedDate = parseEnteredDate(expiryText);
  if (!parsedDate.ok) return { ok: false, refusal: parsedDate.issue };
  const { value: until } = parsedDate;
  const now = context.now();
  if (isTooFarAhead(until, now))
    return { ok: false, refusal: { code: 'date_too_far_ahead', text: expiryText } };
  return compareAndSwap(
    `recording the renewal of ${name}`,
    () => context.watchList.find(name),
    async (before) => {
      if (before === undefined) return buildNotWatchedRefusal(name);
      if (until <= now || (before.expiry !== undefined && until <= before.expiry.at))
        return { ok: false, refusal: { code: 'not_renewed', text: expiryText } };
      const decision = {
        kind: 'name_renewed',
        until,
        staleUntil: computeStaleLimit(before),
        ...details,
      } as const;
      const dateChange = before.expiry && buildDateChange(before, until);
      const result = await saveChanges([{ name, ...dateChange, decision }]);
      if (typeof result === 'string') return undefined;
      const domain = await context.watchList.find(name);
      return domain && { ok: true, domain, proposal: result.proposal };
    },
  );
}

/** The name lapses only after another person has confirmed the request. */
export function requestLapse(
  context: ExpiryContext,
  { name, ...details }: ReminderRequest & { readonly reason: string },
  saveChanges: SaveChanges,
): Promise<WatchOutcome> {
  return saveDecision(context, name, saveChanges, ({ lapse }) =>
    lapse?.confirmed === undefined ? { kind: 'lapse_requested', ...details } : { code: 'lapse_decided' },
  );
}

/** Records that the owner keeps the name or hands it over to another person. */
export async function answerOwnerQuestion(
  context: ExpiryContext,
  { name, by }: { readonly name: string; readonly by: string },
  answer: QuestionAnswer,
  saveChanges: SaveChanges,
): Promise<WatchOutcome> {
  const { day } = findMessageDay(await context.settings(), context.now());
  const decision =
    answer.kind === 'name_kept' ? answer : { ...answer, subject: buildOwnerDayKey(answer.to, day) };
  return saveDecision(
    context,
    name,
    saveChanges,
    (domain) => checkAnswer(domain, by, answer.kind) ?? decision,
  );
}

function buildNotWatchedRefusal(name: string): { readonly ok: false; readonly refusal: WatchRefusal } {
  return { ok: false, refusal: { code: 'not_watched', name } };
}
