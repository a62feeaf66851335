import type { DnsClient } from '../registry/dns/client.ts';
import type { NamesContext } from './context.ts';
import type { Observation } from './facts.ts';
import { fetchRegistryLookup } from './lookup.ts';
import { observeImpactFacts } from './observe.ts';
import { createFailedLookup } from './registry-record.ts';
import { createTimeoutSignal } from './time-limit.ts';

/** Looks up a name while a person waits. Late answers count as missing. The result isn't stored. */
export async function lookUpNow(
  context: NamesContext,
  name: string,
  dns: DnsClient,
  timeoutMs: number,
): Promise<Observation> {
  const at = context.now();
  const timeoutSignal = createTimeoutSignal(context.signal, timeoutMs);
  const [dnsFacts, registryLookup] = await Promise.all([
    observeImpactFacts(dns, name, timeoutSignal),
    fetchRegistryLookup(context, context.quickObserver, name, timeoutSignal).catch((error: unknown) => {
      if (!timeoutSignal.aborted) throw error;
      return createFailedLookup(name, at, { code: 'timeout', detail: String(timeoutMs / 1_000) });
    }),
  ]);
  return { name, at, facts: { ...registryLookup.facts, ...dnsFacts } };
}
