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
 * Whether the DNS servers are a sandbox: on a loopback address with a port of their own. Ordinary systems and
 * containers use port 53 of the loopback address.
 * @param configured the setting, never the operating system's resolvers
 */
export function isSandbox(configured: readonly DnsServer[]): boolean {
  return configured.some(({ address, port }) => isLoopback(address) && port !== DNS_PORT);
}
