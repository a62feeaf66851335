import { createAddressGuard, PrivateAddressError } from '../http/public-address.ts';
import type { DnsServer } from '../registry/dns/servers.ts';
import { DNS_PORT, isLoopback } from '../registry/dns/servers.ts';

/**
 * Public addresses only, because anyone may point a name into the bot's network.
 * @param allowLoopback for a sandbox on this machine
 */
export function createReachability(allowLoopback: boolean): (address: string) => boolean {
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
 * On a loopback address with its own port. Port 53 of the loopback belongs to ordinary systems and containers.
 * @param configured the setting, never the operating system's resolvers
 */
export function isSandbox(configured: readonly DnsServer[]): boolean {
  return configured.some(({ address, port }) => isLoopback(address) && port !== DNS_PORT);
}
