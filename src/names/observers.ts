import { createDnsClient, type DnsClient } from '../dns/client.ts';
import { type DnsServer, systemDnsServers } from '../dns/servers.ts';
import { readCertificate } from './certificate.ts';
import { unseen } from './facts.ts';
import { createDnsObserver, type DnsObserver } from './observe.ts';
import { createReachability, isSandbox } from './reachability.ts';

/** The DNS client, and the observers that use it. */
export interface Observers {
  readonly dns: DnsClient;
  readonly quickDns: DnsClient;
  readonly observer: DnsObserver;
  /** For a person who waits: gives each server less time and reads no certificate. */
  readonly quickObserver: DnsObserver;
}

const QUICK_TIMEOUT_MS = 500;

/** @param configured what the operator set; undefined: the resolvers of the operating system */
export function createObservers(configured: readonly DnsServer[] | undefined, now: () => Date): Observers {
  const mayConnect = createReachability(configured !== undefined && isSandbox(configured));
  const options = { servers: configured ?? systemDnsServers(), mayConnect };
  const dns = createDnsClient(options);
  const quickDns = createDnsClient({ ...options, timeoutMs: QUICK_TIMEOUT_MS, rounds: 1 });
  return {
    dns,
    quickDns,
    observer: createDnsObserver({
      dns,
      now,
      readCertificate: (name, addresses, signal) => readCertificate(name, addresses, { mayConnect }, signal),
    }),
    quickObserver: createDnsObserver({
      dns: quickDns,
      now,
      readCertificate: async () => unseen('stale'),
    }),
  };
}
