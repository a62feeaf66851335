import type { DnsClient } from '../registry/dns/client.ts';
import type { NamesContext } from './context.ts';
import type { Observation } from './facts.ts';
import { fetchRegistryLookup } from './lookup.ts';
import { observeImpact } from './observe.ts';
import { createEmptyLookup } from './registry-record.ts';
import { createTimeLimit } from './time-limit.ts';

/** Looks up a name while a person waits. Late answers count as missing. The result isn't stored. */
export async function lookUpNow(
  context: NamesContext,
  name: string,
  dns: DnsClient,
  timeoutMs: number,
): Promise<Observation> {
  const at = context.now();
  const limit = createTimeLimit(context.signal, timeoutMs);
  const [dnsFacts, registry] = await Promise.all([
    observeImpact(dns, name, limit),
    fetchRegistryLookup(context, context.quickObserver, name, limit).catch((error: unknown) => {
      if (!limit.aborted) throw error;
      return createEmptyLookup(name, at, { code: 'timeout', detail: String(timeoutMs / 1_000) });
    }),
  ]);
  return { name, at, facts: { ...registry.facts, ...dnsFacts } };
}
