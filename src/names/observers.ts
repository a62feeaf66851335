import { readCertificate } from '../registry/certificate.ts';
import { createDnsClient, type DnsClient } from '../registry/dns/client.ts';
import { createParentZones, type ParentZones } from '../registry/dns/parent-zones.ts';
import { type DnsServer, getSystemDnsServers } from '../registry/dns/servers.ts';
import { createUnknownFact } from './facts.ts';
import { type CertificateReader, createDnsObserver, type DnsObserver } from './observe.ts';
import { createAddressFilter, isSandbox } from './reachability.ts';

export interface Observers {
  readonly dns: DnsClient;
  readonly quickDns: DnsClient;
  /** Queries parent zones, without retries. */
  readonly parentDns: DnsClient;
  readonly parents: ParentZones;
  readonly observer: DnsObserver;
  /** Used while a person waits. Has shorter timeouts and reads no certificates. */
  readonly quickObserver: DnsObserver;
}

const QUICK_TIMEOUT_MS = 500;
const PARENT_TIMEOUT_MS = 1_500;

/**
 * @param configuredServers default: the operating system's resolvers
 * @param certificateReader default: connects to the website
 * @param isPrivateAllowed whether certificates may be read from private and loopback addresses
 */
export function createObservers(
  configuredServers: readonly DnsServer[] | undefined,
  now: () => Date,
  certificateReader?: CertificateReader,
  isPrivateAllowed = false,
): Observers {
  const mayConnect = createAddressFilter(configuredServers !== undefined && isSandbox(configuredServers));
  const certificateOptions = { mayConnect: isPrivateAllowed ? () => true : createAddressFilter(false) };
  const dnsOptions = { resolvers: configuredServers ?? getSystemDnsServers(), mayConnect };
  const dns = createDnsClient(dnsOptions);
  const quickDns = createDnsClient({ ...dnsOptions, timeoutMs: QUICK_TIMEOUT_MS, rounds: 1 });
  const parents = createParentZones(dns, now);
  return {
    dns,
    quickDns,
    parentDns: createDnsClient({ ...dnsOptions, timeoutMs: PARENT_TIMEOUT_MS, rounds: 1 }),
    parents,
    observer: createDnsObserver(
      dns,
      parents,
      certificateReader ??
        ((name, addresses, signal) => readCertificate(name, addresses, certificateOptions, signal)),
      now,
    ),
    quickObserver: createDnsObserver(
      quickDns,
      createParentZones(quickDns, now),
      async () => createUnknownFact('stale'),
      now,
    ),
  };
}
