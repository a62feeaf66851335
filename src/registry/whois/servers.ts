import { domainToASCII } from 'node:url';

export interface WhoisServer {
  /** An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
}

export const WHOIS_PORT = 43;

const ENTRY = /^\.?(?<zone>[^=\s]+)=(?:\[(?<v6>[0-9a-f:]+)\]|(?<host>[a-z0-9.-]+))(?::(?<port>\d{1,5}))?$/i;

/**
 * @param text `zone=host` or `zone=host:port`, comma-separated; IPv6 addresses are in brackets
 * @returns the servers, keyed by zone in ASCII; undefined if an entry is invalid
 */
export function parseWhoisServers(text: string): ReadonlyMap<string, WhoisServer> | undefined {
  const servers = new Map<string, WhoisServer>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const { zone = '', v6, host = v6, port = String(WHOIS_PORT) } = ENTRY.exec(entry)?.groups ?? {};
    const asciiZone = domainToASCII(zone);
    if (asciiZone === '' || host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
    servers.set(asciiZone, { host, port: Number(port) });
  }
  return servers;
}
