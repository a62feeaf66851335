import type { ExpiryContext } from '../../src/expiry/context.ts';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type { NameHistory } from '../../src/names/history.ts';
import type { NameRecord } from '../../src/names/ports.ts';

/** Members that a test uses; for stores and clients, their functions. */
type Known = {
  readonly [Key in keyof ExpiryContext]?: NonNullable<ExpiryContext[Key]> extends (...args: never) => unknown
    ? ExpiryContext[Key]
    : Partial<ExpiryContext[Key]>;
};

/** A context with the members that a test uses; reading another one throws. */
export function namesContextWith(given: Known): ExpiryContext {
  return new Proxy(
    { random: Math.random, certificateDays: [14, 7, 3, 1], ...given },
    {
      get(target, name) {
        if (name in target) return Reflect.get(target, name);
        throw new Error(`the context of this test has no ${String(name)}`);
      },
    },
  ) as ExpiryContext;
}

/** The record of a name with only its history. */
export function recordWith(name: string, history: NameHistory, now: Date): NameRecord {
  return {
    ...createWatchedDomain(name, 'U0ALICE', now),
    ...{ name, version: 1, history, knownChanges: [], lapse: undefined },
    ...{ hasOwner: false, posture: undefined, findings: [] },
    ...{ nextDnsLookupAt: now, nextRegistryLookupAt: now, isRegistryReserved: false, isUrgent: false },
  };
}
