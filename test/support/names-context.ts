import type { ExpiryContext } from '../../src/expiry/context.ts';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type { NameHistory } from '../../src/names/history.ts';
import type { NameRecord } from '../../src/names/ports.ts';

/** Members that a test sets. Stores and clients need only some of their functions. */
type TestMembers = {
  readonly [Key in keyof ExpiryContext]?: NonNullable<ExpiryContext[Key]> extends (...args: never) => unknown
    ? ExpiryContext[Key]
    : Partial<ExpiryContext[Key]>;
};

/** A context with only these members; reading another one throws. */
export function namesContextWith(members: TestMembers): ExpiryContext {
  return new Proxy(
    { random: Math.random, certificateWarningDays: [14, 7, 3, 1], ...members },
    {
      get(target, name) {
        if (name in target) return Reflect.get(target, name);
        throw new Error(`the context of this test has no ${String(name)}`);
      },
    },
  ) as ExpiryContext;
}

/** A name's record that has only a history. */
export function newNameRecord(name: string, history: NameHistory, now: Date): NameRecord {
  return {
    ...createWatchedDomain(name, 'U0ALICE', now),
    ...{ name, version: 1, history, knownChanges: [], lapse: undefined },
    ...{ hasOwner: false, posture: undefined, findings: [] },
    ...{ nextDnsLookupAt: now, nextRegistryLookupAt: now, isRegistryReserved: false, isUrgent: false },
  };
}
