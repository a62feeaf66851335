import { getServers } from 'node:dns';
import { isIP } from 'node:net';

/** Where a DNS server listens. */
export interface DnsServer {
  /** IPv4 or IPv6, without brackets. */
  readonly address: string;
  readonly port: number;
}

/** What reading a list of servers gave: the servers, or a sentence that tells its writer what to do. */
export type ParsedDnsServers =
  | { readonly ok: true; readonly value: readonly DnsServer[] }
  | { readonly ok: false; readonly issue: string };

export const DNS_PORT = 53;

/**
 * Reads a list of resolvers.
 *
 * @param text `address` or `address:port`, comma-separated; IPv6 with a port stands in brackets.
 */
export function parseDnsServers(text: string): ParsedDnsServers {
  const entries = text.split(',').map((entry) => entry.trim());
  const servers: DnsServer[] = [];
  for (const entry of entries) {
    const server = parseServer(entry);
    if (server === undefined) {
      const what = entry === '' ? 'an entry is empty' : `“${entry}” is no address`;
      return { ok: false, issue: `${what}; give addresses such as 192.0.2.53 or [2001:db8::53]:5353` };
    }
    if (!servers.some(({ address, port }) => address === server.address && port === server.port)) {
      servers.push(server);
    }
  }
  return { ok: true, value: servers };
}

/** Whether an address is the machine's own. */
export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** The resolvers that the operating system uses. */
export function systemDnsServers(): readonly DnsServer[] {
  return getServers().flatMap((entry) => parseServer(entry) ?? []);
}

function parseServer(entry: string): DnsServer | undefined {
  if (isIP(entry) !== 0) return { address: entry, port: DNS_PORT };
  const [, v6, v4, portText] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const address = v6 ?? v4 ?? '';
  const port = portText === undefined ? DNS_PORT : Number(portText);
  const isAddress = isIP(address) === (v6 === undefined ? 4 : 6);
  return isAddress && port >= 1 && port <= 65_535 ? { address, port } : undefined;
}
