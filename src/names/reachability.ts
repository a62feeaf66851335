import { createAddressGuard, PrivateAddressError } from '../http/public-address.ts';
import type { DnsServer } from '../registry/dns/servers.ts';
import { DNS_PORT, isLoopback } from '../registry/dns/servers.ts';

/**
 * Decides which of the addresses in public records may be connected to: public ones only, because anybody may point a
 * name at an address in the bot's own network.
 * @param allowLoopback also the machine itself, where a sandbox has its servers
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
 * Whether the configured resolvers are a sandbox's: on the loopback, at a port of their own. Resolvers at port 53 of
 * the loopback are those of ordinary systems and of containers, and do not count.
 * @param configured the setting; never the resolvers of the operating system
 */
export function isSandbox(configured: readonly DnsServer[]): boolean {
  return configured.some(({ address, port }) => isLoopback(address) && port !== DNS_PORT);
}
