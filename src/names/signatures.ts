import { DAY_MS, SECOND_MS } from '../lib/duration.ts';
import type { SignatureRecord } from '../registry/dns/records.ts';
import { MIN_DAILY_INTERVAL_MS } from './delegation-health.ts';
import { createFact, createUnseenFact, type Fact } from './facts.ts';
import type { KnownValue } from './history.ts';

/** When the DNSSEC signatures of a name expire. They aren't verified. Pure. */

/** Marks signatures that are made daily or per answer, whose end is always near. */
const SHORT = 'short';
const MAX_SHORT_LIFETIME_MS = 7 * DAY_MS;
const WARNING_MS = 3 * DAY_MS;
/** The bot's clock or the signer's may be off by this much. */
const CLOCK_ERROR_MS = DAY_MS;

interface Lifetime {
  readonly begin: number;
  readonly end: number;
}

/**
 * A resolver needs one valid signature of each RRset, so the one that ends last counts. The result is for the RRset
 * that needs the earliest warning.
 */
export function toSignaturesFact(signaturesByRrset: readonly (readonly SignatureRecord[])[], at: Date): Fact {
  const lifetimes: Lifetime[] = [];
  for (const signatures of signaturesByRrset) {
    const [latest] = signatures
      .map((signature) => toLifetime(signature, at.getTime()))
      .filter(({ begin, end }) => begin < end && begin <= at.getTime() + CLOCK_ERROR_MS)
      .sort((a, b) => b.end - a.end);
    if (latest === undefined) return createUnseenFact('unsigned_answer');
    lifetimes.push(latest);
  }
  const [first] = lifetimes.sort((a, b) => getWarningTime(a) - getWarningTime(b));
  if (first === undefined) return createUnseenFact('unsigned_answer');
  return createFact([new Date(first.end).toISOString(), ...(isShort(first) ? [SHORT] : [])]);
}

/**
 * When to warn, in ms. A short signature counts as renewed, unless it had already ended or the next daily lookup found
 * the same one.
 * @returns undefined if it was renewed
 */
export function getSignatureWarning({ value, firstSeen, lastSeen }: KnownValue): number | undefined {
  const [end = '', kind] = value;
  const endsAt = Date.parse(end);
  if (Number.isNaN(endsAt)) return undefined;
  const since = Math.max(endsAt - WARNING_MS, firstSeen.getTime());
  if (kind !== SHORT || endsAt <= lastSeen.getTime()) return since;
  return lastSeen.getTime() - firstSeen.getTime() >= MIN_DAILY_INTERVAL_MS ? since : undefined;
}

/** Times are 32-bit serial numbers (RFC 4034, section 3.1.5; RFC 1982), so the nearest possible time is meant. */
function toLifetime({ inception, expiration }: SignatureRecord, at: number): Lifetime {
  const now = Math.floor(at / SECOND_MS);
  const toNearestTime = (serial: number) => (now + ((serial - now) | 0)) * SECOND_MS;
  return { begin: toNearestTime(inception), end: toNearestTime(expiration) };
}

function isShort({ begin, end }: Lifetime): boolean {
  return end - begin < MAX_SHORT_LIFETIME_MS;
}

function getWarningTime(lifetime: Lifetime): number {
  return isShort(lifetime) ? lifetime.end : lifetime.end - WARNING_MS;
}
