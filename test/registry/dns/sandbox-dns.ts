import { type SandboxDns, type SandboxDnsOptions, startSandboxDns } from '@domain-steward/sandbox-service';
import { onTestFinished } from 'vitest';
import { createDnsClient, type DnsClient, type DnsClientOptions } from '../../../src/registry/dns/client.ts';
import { parseDnsServers } from '../../../src/registry/dns/servers.ts';

/** Starts the sandbox's DNS, and closes it after the test. */
export async function startDns(options: SandboxDnsOptions = {}): Promise<SandboxDns> {
  const dns = await startSandboxDns(options);
  onTestFinished(() => dns.close());
  return dns;
}

/** Creates a client that uses the sandbox's resolver and connects only to loopback addresses. */
export function createTestDnsClient(dns: SandboxDns, options: Partial<DnsClientOptions> = {}): DnsClient {
  return createDnsClient({
    resolvers: parseDnsServers(dns.resolver) ?? [],
    mayConnect: (address) => address.startsWith('127.'),
    timeoutMs: 5_000,
    rounds: 1,
    ...options,
  });
}

/** Serves a zone on the nameservers and delegates the name to them. @returns the nameservers' addresses */
export async function serveName(
  dns: SandboxDns,
  name: string,
  zoneLines: readonly string[],
  hosts: readonly string[] = [`ns1.host.example`, `ns2.host.example`],
): Promise<string[]> {
  const addresses: string[] = [];
  for (const host of hosts) addresses.push(await dns.addNameserver(host));
  dns.world.serve(name, hosts, zoneLines);
  dns.world.delegate(name, hosts);
  return addresses;
}
