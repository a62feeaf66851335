import { rejectOnAbort } from '../../lib/abortable.ts';
import type { DnsClient } from './client.ts';

export interface ParentZones {
  /**
   * Finds the nameserver addresses of a name's parent zone. Results are cached for their TTL.
   * @returns an empty list if the addresses were never found
   * @throws only the signal's reason
   */
  findServers(name: string, signal?: AbortSignal): Promise<readonly string[]>;
}

const MAX_CACHED_ZONES = 2_000;
const MAX_SERVERS = 16;
const MIN_CACHE_SECONDS = 60;
const MAX_CACHE_SECONDS = 86_400;

interface CachedServers {
  readonly addresses: readonly string[];
  readonly expiresAt: number;
}

/** Uses expired entries while the resolvers don't respond. */
export function createParentZones(dns: DnsClient, now: () => Date): ParentZones {
  const serversByZone = new Map<string, CachedServers>();
  /** Concurrent lookups of the same zone share a query, so none of them can abort it. */
  const pendingLookups = new Map<string, Promise<CachedServers | 'none' | 'unanswered'>>();

  async function lookUpServers(zone: string): Promise<CachedServers | 'none' | 'unanswered'> {
    const nameservers = await dns.query(zone, 'NS');
    if (nameservers.kind === 'unanswered') return 'unanswered';
    if (nameservers.kind !== 'records') return 'none';
    const hostResults = await Promise.all(nameservers.records.slice(0, MAX_SERVERS).map(lookUpAddresses));
    const addresses = [...new Set(hostResults.flatMap((host) => host?.addresses.slice(0, 1) ?? []))];
    if (addresses.length === 0) return 'unanswered';
    const ttl = Math.min(nameservers.ttlSeconds, ...hostResults.flatMap((host) => host?.ttl ?? []));
    const cacheSeconds = Math.min(MAX_CACHE_SECONDS, Math.max(MIN_CACHE_SECONDS, ttl));
    const servers = { addresses, expiresAt: now().getTime() + cacheSeconds * 1_000 };
    if (serversByZone.size >= MAX_CACHED_ZONES) serversByZone.clear();
    serversByZone.set(zone, servers);
    return servers;
  }

  async function lookUpAddresses(host: string) {
    for (const type of ['A', 'AAAA'] as const) {
      const answer = await dns.query(host, type);
      if (answer.kind === 'records') return { addresses: answer.records, ttl: answer.ttlSeconds };
    }
    return undefined;
  }

  function lookUpOnce(zone: string) {
    const pendingLookup =
      pendingLookups.get(zone) ?? lookUpServers(zone).finally(() => pendingLookups.delete(zone));
    pendingLookups.set(zone, pendingLookup);
    return pendingLookup;
  }

  return {
    async findServers(name, signal) {
      const labels = name.split('.');
      for (let firstLabel = 1; firstLabel < labels.length; firstLabel += 1) {
        const zone = labels.slice(firstLabel).join('.');
        const cached = serversByZone.get(zone);
        if (cached !== undefined && cached.expiresAt > now().getTime()) return cached.addresses;
        const servers = await rejectOnAbort(lookUpOnce(zone), signal);
        if (servers === 'unanswered') return cached?.addresses ?? [];
        if (servers !== 'none') return servers.addresses;
      }
      return [];
    },
  };
}
