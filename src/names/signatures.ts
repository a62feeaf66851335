import { DAY_MS, SECOND_MS } from '../lib/duration.ts';
import type { SignatureRecord } from '../registry/dns/records.ts';
import { MIN_DAILY_INTERVAL_MS } from './delegation-health.ts';
import { createFact, createUnknownFact, type Fact } from './facts.ts';
import type { KnownValue } from './history.ts';

/** When the DNSSEC signatures of a name expire. The signatures aren't verified. */

/** Marks signatures that are made daily or per answer and therefore always expire soon. */
const SHORT_LIVED = 'short';
const MAX_SHORT_LIFETIME_MS = 7 * DAY_MS;
const WARNING_BEFORE_END_MS = 3 * DAY_MS;
/** The bot's clock or the signer's may be off by this much. */
const MAX_CLOCK_SKEW_MS = DAY_MS;

interface Lifetime {
  readonly begin: number;
  readonly end: number;
}

/**
 * A resolver needs one valid signature per RRset, so only the signature that expires last counts. The fact
 * describes the RRset that needs the earliest warning.
 */
export function toSignaturesFact(signaturesByRrset: readonly (readonly SignatureRecord[])[], at: Date): Fact {
  const lifetimes: Lifetime[] = [];
  for (const signatures of signaturesByRrset) {
    const [latestLifetime] = signatures
      .map((signature) => toLifetime(signature, at.getTime()))
      .filter(({ begin, end }) => begin < end && begin <= at.getTime() + MAX_CLOCK_SKEW_MS)
      .sort((a, b) => b.end - a.end);
    if (latestLifetime === undefined) return createUnknownFact('unsigned_answer');
    lifetimes.push(latestLifetime);
  }
  const [mostUrgent] = lifetimes.sort((a, b) => getWarningTime(a) - getWarningTime(b));
  if (mostUrgent === undefined) return createUnknownFact('unsigned_answer');
  return createFact([
    new Date(mostUrgent.end).toISOString(),
    ...(isShortLived(mostUrgent) ? [SHORT_LIVED] : []),
  ]);
}

/**
 * A short-lived signature counts as renewed, unless it had already expired or the next daily lookup found the
 * same signature.
 * @returns when to warn, in ms; undefined if the signature counts as renewed
 */
export function getSignatureWarningTime({ value, firstSeen, lastSeen }: KnownValue): number | undefined {
  const [end = '', kind] = value;
  const endsAt = Date.parse(end);
  if (Number.isNaN(endsAt)) return undefined;
  const warnAt = Math.max(endsAt - WARNING_BEFORE_END_MS, firstSeen.getTime());
  if (kind !== SHORT_LIVED || endsAt <= lastSeen.getTime()) return warnAt;
  return lastSeen.getTime() - firstSeen.getTime() >= MIN_DAILY_INTERVAL_MS ? warnAt : undefined;
}

/** A 32-bit serial number denotes the nearest possible time (RFC 4034, section 3.1.5; RFC 1982). */
function toLifetime({ inception, expiration }: SignatureRecord, atMs: number): Lifetime {
  const atSeconds = Math.floor(atMs / SECOND_MS);
  const toNearestTime = (serial: number) => (atSeconds + ((serial - atSeconds) | 0)) * SECOND_MS;
  return { begin: toNearestTime(inception), end: toNearestTime(expiration) };
}

function isShortLived({ begin, end }: Lifetime): boolean {
  return end - begin < MAX_SHORT_LIFETIME_MS;
}

function getWarningTime(lifetime: Lifetime): number {
  return isShortLived(lifetime) ? lifetime.end : lifetime.end - WARNING_BEFORE_END_MS;
}
