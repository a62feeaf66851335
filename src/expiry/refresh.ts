import type { Log } from '../log.ts';
import type { RdapClient, RdapFound, RdapResult } from '../rdap/client.ts';
import { zoneFor } from '../zones/rules.ts';
import { changeWatched } from './change.ts';
import { type KnownExpiry, mergeRegistryDate } from './expiry-date.ts';
import type { WatchedDomain, WatchListStore } from './ports.ts';
import { type Doubt, doubtOf, trustAfter } from './trust.ts';

/** What look-ups need. */
export interface RefreshDeps {
  readonly store: WatchListStore;
  readonly rdap: Pick<RdapClient, 'lookup'>;
  readonly now: () => Date;
  readonly log: Log;
  /** From 0 to below 1; spreads the look-ups. */
  readonly random?: () => number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NEAR_DAYS = 60;
/** A process that has claimed a name and is silent for this long has lost it. */
const CLAIM_MS = 10 * 60_000;
const CLAIMED_AT_ONCE = 5;
const WORKERS = 6;
/** A run ends after this; what is left is due in the next one. */
const TURN_MS = 4 * 60_000;
/** A registry's record may be behind a deletion by this much. */
const DELETION_DELAY_MS = HOUR_MS;
/** The registry shows a renewal within hours. After this long it does not seem to know of it. */
export const DISPUTE_DAYS = 14;
/** The beginning of the problem of a name that was renewed long ago and that the registry shows unrenewed. */
export const DISPUTED_PROBLEM = 'it was renewed, but the registry still shows';
/** A date that moves forward by more than this is a new end of the name, not a better date for the same end. */
const NEW_END_MS = 30 * DAY_MS;

/**
 * Looks up the names that are due, a few at a time, until none is left or the run is over. Any number of processes
 * may do it at once; each name goes to one.
 * @returns how many names were looked up
 */
export async function refreshDue(deps: RefreshDeps, signal: AbortSignal): Promise<number> {
  const began = performance.now();
  let count = 0;
  const worker = async () => {
    while (!signal.aborted && performance.now() - began < TURN_MS) {
      const now = deps.now();
      const until = new Date(now.getTime() + CLAIM_MS);
      const claimed = await deps.store.claimDueChecks(now, until, CLAIMED_AT_ONCE);
      if (claimed.length === 0) return;
      for (const { name } of claimed) {
        if (signal.aborted) return;
        await refreshName(deps, name, signal);
        count += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  return count;
}

/**
 * Looks one name up and keeps the result.
 * @param signal gives up; the name is due again later
 * @returns the name as it is then on the list; undefined when it is not, or the look-up was given up
 */
export async function refreshName(
  deps: RefreshDeps,
  name: string,
  signal: AbortSignal,
): Promise<WatchedDomain | undefined> {
  let result: RdapResult;
  try {
    result = await deps.rdap.lookup(name, signal);
  } catch (err) {
    if (signal.aborted) return undefined;
    deps.log.error({ err, name }, 'looking a name up at its registry');
    result = { kind: 'unavailable', reason: 'the look-up ended with an error of mine' };
  }
  return changeWatched(deps.store, name, (known) =>
    afterLookup(known, result, deps.now(), deps.random ?? Math.random),
  );
}

/** The name on the list after its registry was asked. */
export function afterLookup(
  known: WatchedDomain,
  result: RdapResult,
  now: Date,
  random: () => number,
): WatchedDomain {
  if (result.kind !== 'found') {
    const checked = { ...known, checkedAt: now };
    const checkProblem =
      result.kind === 'not_found'
        ? 'the registry has no record of it, so it may not be registered'
        : result.reason;
    const wait = result.kind === 'unavailable' ? result.retryAfterMs : undefined;
    return { ...checked, checkProblem, nextCheckAt: nextAfterFailure(checked, wait, now, random) };
  }

  const { trusted } = known;
  const doubt = doubtOf(trusted, result, now);
  const checked = {
    ...known,
    checkedAt: now,
    ...recordsAfter(known, result, now),
    trusted: doubt === undefined ? trustAfter(trusted, result, now) : trusted,
    deletedAt: result.deletedAt ?? deletionNotShownYet(known, now),
  };
  const before: KnownExpiry | undefined = known.expiry && {
    expiresAt: known.expiry.at,
    source: known.expiry.source,
    ...(known.renewed && { renewedUntil: known.renewed.until }),
  };
  const believed = mergeRegistryDate(before, result, zoneFor(known.name), now);
  const hasNewEnd = before !== undefined && isNewEnd(before, believed);
  const scheduled = (after: WatchedDomain): WatchedDomain => ({
    ...after,
    nextCheckAt: nextAfterSuccess(after, now, random),
  });
  // The name keeps its old end, so that reminders go on.
  if (doubt !== undefined && hasNewEnd)
    return scheduled({ ...checked, checkProblem: formatDoubt(doubt, result.expiresAt) });
  if (before !== undefined && believed === before) {
    const disputed = known.renewed && now.getTime() - known.renewed.at.getTime() > DISPUTE_DAYS * DAY_MS;
    const shown = result.expiresAt.toISOString().slice(0, 10);
    return scheduled({ ...checked, checkProblem: disputed ? `${DISPUTED_PROBLEM} ${shown}` : undefined });
  }
  return scheduled({
    ...checked,
    expiry: { at: believed.expiresAt, source: believed.source },
    renewed: undefined,
    checkProblem: undefined,
    ...(hasNewEnd && { snooze: undefined, lapse: undefined }),
  });
}

/** A deletion so short ago that the registry's record may not show it yet. */
function deletionNotShownYet({ deletedAt }: WatchedDomain, now: Date): Date | undefined {
  return deletedAt !== undefined && now.getTime() - deletedAt.getTime() < DELETION_DELAY_MS
    ? deletedAt
    : undefined;
}

function isNewEnd(before: KnownExpiry, after: KnownExpiry): boolean {
  return after.expiresAt.getTime() - before.expiresAt.getTime() > NEW_END_MS;
}

/** The registry's record as it is now, and as it was before its last change. */
function recordsAfter(
  { record, recordBefore }: WatchedDomain,
  { expiresAt, registrar, secure }: RdapFound,
  now: Date,
): Pick<WatchedDomain, 'record' | 'recordBefore'> {
  const isSame =
    record?.expiresAt.getTime() === expiresAt.getTime() &&
    record.registrar === registrar &&
    record.secure === secure;
  return isSame
    ? { record, recordBefore }
    : { record: { expiresAt, registrar, secure, seenAt: now }, recordBefore: record };
}

/**
 * Weekly; daily within 60 days of the expiry and wherever something is under way. Spread, so that a list is not due
 * at once.
 */
function nextAfterSuccess(
  domain: Pick<WatchedDomain, 'expiry' | 'renewed' | 'deletedAt'>,
  now: Date,
  random: () => number,
): Date {
  const near = (domain.expiry?.at.getTime() ?? 0) - NEAR_DAYS * DAY_MS;
  const daily = near <= now.getTime() || domain.renewed !== undefined || domain.deletedAt !== undefined;
  const interval = daily ? DAY_MS : 7 * DAY_MS;
  const next = now.getTime() + interval * (1 - random() * 0.2);
  return new Date(daily ? next : Math.min(next, near));
}

function nextAfterFailure(
  domain: WatchedDomain,
  retryAfterMs: number | undefined,
  now: Date,
  random: () => number,
): Date {
  const near =
    domain.expiry === undefined || domain.expiry.at.getTime() - NEAR_DAYS * DAY_MS <= now.getTime();
  const wait = Math.max(retryAfterMs ?? 0, near ? HOUR_MS : 6 * HOUR_MS);
  return new Date(now.getTime() + wait * (1 + random() * 0.2));
}

/** Completes “the registry’s record cannot be used: …”. */
function formatDoubt(doubt: Doubt, movedTo: Date): string {
  const date = `its date moved to ${movedTo.toISOString().slice(0, 10)}`;
  switch (doubt.code) {
    case 'another_registrar':
      return `${date} together with the registrar, from “${doubt.before}” to “${doubt.now}”: that is a transfer, not a renewal`;
    case 'registrar_unseen':
      return `${date}, and it does not name the registrar any more, which was “${doubt.before}”: it may be a transfer, not a renewal`;
    case 'transferred':
      return `${date} with a transfer on ${doubt.at.toISOString().slice(0, 10)}: that is no renewal`;
  }
}
