import { type SandboxDns, type SandboxDnsOptions, startSandboxDns } from '@domain-steward/sandbox-service';
import { onTestFinished } from 'vitest';
import { createDnsClient, type DnsClient, type DnsClientOptions } from '../../../src/registry/dns/client.ts';
import { parseDnsServers } from '../../../src/registry/dns/servers.ts';

/** A DNS of the sandbox, closed after the test. */
export async function startDns(options: SandboxDnsOptions = {}): Promise<SandboxDns> {
  const dns = await startSandboxDns(options);
  onTestFinished(() => dns.close());
  return dns;
}

/** A client of the sandbox's resolver, and of nameservers on the loopback. */
export function clientFor(dns: SandboxDns, options: Partial<DnsClientOptions> = {}): DnsClient {
  return createDnsClient({
    servers: parseDnsServers(dns.resolver) ?? [],
    mayConnect: (address) => address.startsWith('127.'),
    timeoutMs: 5_000,
    rounds: 1,
    ...options,
  });
}

/** Delegates a name to two nameservers with its zone. @returns the addresses of the nameservers */
export async function serveName(
  dns: SandboxDns,
  name: string,
  lines: readonly string[],
  hosts: readonly string[] = [`ns1.host.example`, `ns2.host.example`],
): Promise<string[]> {
  const addresses: string[] = [];
  for (const host of hosts) addresses.push(await dns.addNameserver(host));
  dns.world.serve(name, hosts, lines);
  dns.world.delegate(name, hosts);
  return addresses;
}
