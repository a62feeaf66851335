import { abortable } from '../../lib/abortable.ts';
import type { DnsClient } from './client.ts';

export interface ParentZones {
  /**
   * The result is cached for its TTL.
   * @returns an empty list if the servers were never found
   * @throws only the signal's reason
   */
  findServers(name: string, signal?: AbortSignal): Promise<readonly string[]>;
}

/** Entries are small, because a zone has only a few addresses. */
const MAX_ZONES = 2_000;
const MAX_SERVERS = 16;
const MIN_CACHE_SECONDS = 60;
const MAX_CACHE_SECONDS = 86_400;

interface Servers {
  readonly addresses: readonly string[];
  readonly expiresAt: number;
}

/** Uses expired entries while the resolvers don't respond. */
export function createParentZones(dns: DnsClient, now: () => Date): ParentZones {
  const zones = new Map<string, Servers>();
  /** Concurrent lookups of the same zone share a query, which one of them can't abort. */
  const pendingLookups = new Map<string, Promise<Servers | 'none' | 'unanswered'>>();

  async function find(zone: string): Promise<Servers | 'none' | 'unanswered'> {
    const hosts = await dns.query(zone, 'NS');
    if (hosts.kind === 'unanswered') return 'unanswered';
    if (hosts.kind !== 'records') return 'none';
    const found = await Promise.all(hosts.records.slice(0, MAX_SERVERS).map(findAddress));
    const addresses = [...new Set(found.flatMap((each) => each?.addresses.slice(0, 1) ?? []))];
    if (addresses.length === 0) return 'unanswered';
    const ttl = Math.min(hosts.ttl, ...found.flatMap((each) => each?.ttl ?? []));
    const cacheSeconds = Math.min(MAX_CACHE_SECONDS, Math.max(MIN_CACHE_SECONDS, ttl));
    const servers = { addresses, expiresAt: now().getTime() + cacheSeconds * 1_000 };
    if (zones.size >= MAX_ZONES) zones.clear();
    zones.set(zone, servers);
    return servers;
  }

  async function findAddress(host: string) {
    for (const type of ['A', 'AAAA'] as const) {
      const answer = await dns.query(host, type);
      if (answer.kind === 'records') return { addresses: answer.records, ttl: answer.ttl };
    }
    return undefined;
  }

  function findOnce(zone: string) {
    const pending = pendingLookups.get(zone) ?? find(zone).finally(() => pendingLookups.delete(zone));
    pendingLookups.set(zone, pending);
    return pending;
  }

  return {
    async findServers(name, signal) {
      const labels = name.split('.');
      for (let cut = 1; cut < labels.length; cut += 1) {
        const zone = labels.slice(cut).join('.');
        const cached = zones.get(zone);
        if (cached !== undefined && cached.expiresAt > now().getTime()) return cached.addresses;
        const found = await abortable(findOnce(zone), signal);
        if (found === 'unanswered') return cached?.addresses ?? [];
        if (found !== 'none') return found.addresses;
      }
      return [];
    },
  };
}
