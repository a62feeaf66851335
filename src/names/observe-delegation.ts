import { getDomain } from 'tldts';
import { DAY_MS, HOUR_MS } from '../lib/duration.ts';
import type { DnsClient } from '../registry/dns/client.ts';
import type { RdapClient } from '../registry/rdap/client.ts';
import type { NamesContext } from './context.ts';
import { HEALTH_FACTS } from './delegation-health.ts';
import { ABSENT, createFact, createUnknownFact, type Fact, type Facts } from './facts.ts';
import type { LookupPlanner } from './lookup-planner.ts';
import { checkServerAuthority } from './nameserver-check.ts';
import { getLookupBudgetKey } from './registry-of.ts';
import { parseRegistryAnswer } from './registry-record.ts';

/** Queries the servers of a delegation for the name, and registries for the servers' domains. */

/** The state of a nameserver's domain, according to its registry. */
type DomainState =
  | { readonly kind: 'registered'; readonly expiresAt: Date | undefined }
  | { readonly kind: 'unregistered' }
  | { readonly kind: 'unknown' };

/** Delegations rarely have more servers. */
const MAX_HOSTS = 13;
/** States are cached, because many names use the same DNS providers' domains. */
const CACHE_MS = 12 * HOUR_MS;
const UNKNOWN_CACHE_MS = HOUR_MS;
const MAX_CACHED_DOMAINS = 10_000;
const EXPIRING_SOON_MS = 30 * DAY_MS;

export function createDelegationObserver(
  dns: DnsClient,
  rdap: RdapClient,
  planner: LookupPlanner,
  now: () => Date,
): NamesContext['observeDelegation'] {
  const domainCache = new Map<string, { readonly state: Promise<DomainState>; readonly until: number }>();

  function getDomainState(domain: string, signal: AbortSignal): Promise<DomainState> {
    const cached = domainCache.get(domain);
    if (cached !== undefined && cached.until > now().getTime()) return cached.state;
    const state = lookUpDomain(domain, signal);
    if (domainCache.size >= MAX_CACHED_DOMAINS) domainCache.clear();
    const cacheFor = (ms: number) => domainCache.set(domain, { state, until: now().getTime() + ms });
    cacheFor(CACHE_MS);
    state.then(
      ({ kind }) => kind === 'unknown' && cacheFor(UNKNOWN_CACHE_MS),
      () => domainCache.delete(domain),
    );
    return state;
  }

  async function lookUpDomain(domain: string, signal: AbortSignal): Promise<DomainState> {
    // Uses the same budget as other lookups. If it is used up, the domain is checked on another day.
    if (planner.reserve(getLookupBudgetKey(domain), false, now()) > now()) return { kind: 'unknown' };
    const { result } = parseRegistryAnswer(await rdap.fetchRecord(domain, signal), domain, now());
    switch (result.kind) {
      case 'registered':
        return { kind: 'registered', expiresAt: result.registration.expiresAt };
      case 'not_registered': {
        // The registry's record may be missing, but the parent zone delegates registered domains.
        const delegation = await dns.query(domain, 'NS', signal);
        if (delegation.kind === 'unanswered') return { kind: 'unknown' };
        return delegation.kind === 'no_such_name'
          ? { kind: 'unregistered' }
          : { kind: 'registered', expiresAt: undefined };
      }
      case 'failed':
        return { kind: 'unknown' };
    }
  }

  return async (name, hosts, signal) => {
    const queriedHosts = hosts.slice(0, MAX_HOSTS);
    const hostDomains = [...new Set(queriedHosts.flatMap((host) => getDomain(host) ?? []))].filter(
      (domain) => domain !== name,
    );
    const [servers, states] = await Promise.all([
      Promise.all(queriedHosts.map((host) => checkServerAuthority(dns, name, host, signal))),
      Promise.all(
        hostDomains.map(async (domain) => ({ domain, state: await getDomainState(domain, signal) })),
      ),
    ]);
    return assessDelegationHealth(servers, states, now());
  };
}

/** Combines the answers of the servers with those of their domains' registries. */
function assessDelegationHealth(
  servers: readonly Awaited<ReturnType<typeof checkServerAuthority>>[],
  domains: readonly { readonly domain: string; readonly state: DomainState }[],
  now: Date,
): Facts {
  const createHostsFact = (...states: readonly (typeof servers)[number]['state'][]): Fact =>
    createFact(servers.filter(({ state }) => states.includes(state)).map(({ host }) => host));
  // A registry's record may be missing. A domain whose hosts have addresses is registered.
  const serversWithAddress = servers.filter(({ state }) => state !== 'no_address' && state !== 'unseen');
  const isInUse = (domain: string) => serversWithAddress.some(({ host }) => getDomain(host) === domain);
  // A domain that wasn't looked up may be unregistered.
  const areAllDomainsKnown = domains.every(({ state }) => state.kind !== 'unknown');
  const createDomainsFact = (matches: (state: DomainState, domain: string) => boolean): Fact => {
    const matchingDomains = domains.flatMap(({ domain, state }) => (matches(state, domain) ? [domain] : []));
    return matchingDomains.length > 0 || areAllDomainsKnown
      ? createFact(matchingDomains)
      : createUnknownFact('registry_unavailable');
  };
  const authoritativeServers = servers.filter(({ state }) => state === 'authoritative');
  const expiresBefore = now.getTime() + EXPIRING_SOON_MS;
  return {
    lame_nameservers: createHostsFact('not_authoritative'),
    silent_nameservers: createHostsFact('no_answer', 'unseen'),
    addressless_nameservers: createHostsFact('no_address'),
    registrable_domains: createDomainsFact(({ kind }, domain) => kind === 'unregistered' && !isInUse(domain)),
    expiring_domains: createDomainsFact(
      (state) =>
        state.kind === 'registered' &&
        state.expiresAt !== undefined &&
        state.expiresAt.getTime() < expiresBefore,
    ),
    mismatched_ds:
      authoritativeServers.length === 0 || authoritativeServers.some(({ ds }) => ds === 'unknown')
        ? createUnknownFact('not_published')
        : createFact(authoritativeServers.filter(({ ds }) => ds === 'mismatch').map(({ host }) => host)),
  };
}

/** Without a delegation, no server can be faulty. */
export const NO_FAULTS: Facts = Object.fromEntries(HEALTH_FACTS.map((fact) => [fact, ABSENT]));
