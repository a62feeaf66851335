import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Addresses that no registry's public server has (IANA special-purpose registries, RFC 6890). */
const special = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  special.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 127],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001:db8::', 32],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const) {
  special.addSubnet(network, prefix, 'ipv6');
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** A server that must not be asked because of where it is. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';

  constructor(host: string) {
    super(`asking ${host}: its address is private`);
  }
}

/** Resolves a name to all of its addresses, as `lookup` of `node:dns` does. */
export type Resolve = (
  host: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Decides which hosts may be asked. */
export interface AddressGuard {
  /** @throws PrivateAddressError when the host is a private address itself; names are checked when they are resolved. */
  check(url: URL): void;
  /** Resolves a name as the operating system does and refuses it when any of its addresses is private. */
  readonly lookup: LookupFunction;
}

/**
 * Keeps requests to servers that others name (a bootstrap file, a redirect) away from the private network the bot
 * runs in.
 *
 * @param trusted the address that the operator set. Its host may be asked wherever it is; if it is the loopback,
 *   so may every other server there, which is what a sandbox on one machine needs.
 * @param resolve the operating system's when left out.
 */
export function createAddressGuard(trusted: URL, resolve: Resolve = systemLookup): AddressGuard {
  const trustedHost = bareHost(trusted);
  const loopbackTrusted = trustedHost === 'localhost' || isLoopback(trustedHost);

  function allowed(host: string, address: string): boolean {
    if (host === trustedHost) return true;
    if (loopbackTrusted && isLoopback(address)) return true;
    return !isSpecial(address);
  }

  return {
    check(url) {
      const host = bareHost(url);
      if (isIP(host) !== 0 && !allowed(host, host)) throw new PrivateAddressError(url.host);
    },
    lookup(host, options, callback) {
      resolve(host, { ...options, all: true }, (error, addresses) => {
        if (error) return callback(error, []);
        const [first] = addresses;
        if (first === undefined || !addresses.every(({ address }) => allowed(host, address))) {
          return callback(new PrivateAddressError(host), []);
        }
        return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
      });
    },
  };
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function isLoopback(address: string): boolean {
  return within(loopback, address);
}

function isSpecial(address: string): boolean {
  return isIP(address) === 0 || within(special, address);
}

function within(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
