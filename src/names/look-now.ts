import type { DnsClient } from '../registry/dns/client.ts';
import type { Observation } from './facts.ts';
import { fetchLook, type LookDeps } from './look.ts';
import { observeImpact } from './observe.ts';
import { unreadLook } from './registry-record.ts';
import { timeLimit } from './time-limit.ts';

/** What a look at a name at this moment needs. */
export interface LookNowDeps extends Pick<LookDeps, 'rdap' | 'observer' | 'now'> {
  /** Ends what is under way at shutdown. */
  readonly signal: AbortSignal;
}

/** Asks the DNS and the registry about a name at this moment, side by side. */
export type LookNow = (name: string, dns: DnsClient, ms: number) => Promise<Observation>;

/**
 * Makes looks for people who decide now. What has not arrived in time is not seen; nothing is kept, so that a look
 * that somebody waits for changes no history. The client of the registries has one budget for all looks.
 */
export function createLookNow(deps: LookNowDeps): LookNow {
  const { now, signal } = deps;
  return async (name, dns, ms) => {
    const at = now();
    const limit = timeLimit(signal, ms);
    const [records, registry] = await Promise.all([
      observeImpact(dns, name, limit),
      fetchLook(deps, name, limit).catch((error: unknown) => {
        if (!limit.aborted) throw error;
        return unreadLook(name, at, { code: 'timeout', detail: String(ms / 1_000) });
      }),
    ]);
    return { name, at, facts: { ...registry.facts, ...records } };
  };
}
