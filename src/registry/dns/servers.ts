import { getServers } from 'node:dns';
import { isIP } from 'node:net';

export interface DnsServer {
  readonly address: string;
  readonly port: number;
}

export const DNS_PORT = 53;

/**
 * @param text `address` or `address:port`, comma-separated; an IPv6 address with a port must be in brackets
 * @returns the servers without duplicates; undefined if an entry is invalid
 */
export function parseDnsServers(text: string): readonly DnsServer[] | undefined {
  const servers = new Map<string, DnsServer>();
  for (const entry of text.split(',')) {
    const server = parseServer(entry.trim());
    if (server === undefined) return undefined;
    servers.set(`${server.address} ${server.port}`, server);
  }
  return [...servers.values()];
}

export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

export function getSystemDnsServers(): readonly DnsServer[] {
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
