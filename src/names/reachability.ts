import { createAddressGuard, PrivateAddressError } from '../http/public-address.ts';
import { DNS_PORT, type DnsServer, isLoopback } from '../registry/dns/servers.ts';

/**
 * Allows public addresses only, because anyone may point a name at the bot's own network.
 * @param allowLoopback for a sandbox on this machine
 */
export function createAddressFilter(allowLoopback: boolean): (address: string) => boolean {
  const guard = createAddressGuard(new URL(allowLoopback ? 'http://127.0.0.1/' : 'http://nobody.invalid/'));
  return (address) => {
    try {
      guard.check(new URL(address.includes(':') ? `http://[${address}]/` : `http://${address}/`));
      return true;
    } catch (error) {
      if (error instanceof PrivateAddressError) return false;
      throw error;
    }
  };
}

/**
 * Whether the DNS servers are a sandbox, which has a loopback address and a port other than 53. Ordinary
 * systems and containers use port 53 of the loopback address.
 * @param configuredServers the servers from the settings, not the operating system's resolvers
 */
export function isSandbox(configuredServers: readonly DnsServer[]): boolean {
  return configuredServers.some(({ address, port }) => isLoopback(address) && port !== DNS_PORT);
}
