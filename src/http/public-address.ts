import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Addresses that aren't public (IANA special-purpose registries, RFC 6890). */
const specialAddresses = new BlockList();
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
  specialAddresses.addSubnet(network, prefix, 'ipv4');
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
  specialAddresses.addSubnet(network, prefix, 'ipv6');
}

const loopbackAddresses = new BlockList();
loopbackAddresses.addSubnet('127.0.0.0', 8, 'ipv4');
loopbackAddresses.addAddress('::1', 'ipv6');

export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';

  constructor(host: string) {
    super(`${host} has a private address`);
  }
}

/** Resolves all addresses of a host, like `lookup` in `node:dns`. */
export type HostResolver = (
  host: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface AddressGuard {
  /** Checks IP addresses only; names are checked when they are resolved. @throws {PrivateAddressError} */
  check(url: URL): void;
  /** Uses the operating system's resolver, but rejects a host that has any private address. */
  readonly lookup: LookupFunction;
}

/**
 * Blocks requests to private networks, for untrusted URLs (from a bootstrap file or a redirect).
 * @param trustedUrl the operator's URL. Its host is always allowed. If the host is a loopback address, all loopback
 * addresses are allowed, for a sandbox on the same machine
 */
export function createAddressGuard(trustedUrl: URL, resolve: HostResolver = systemLookup): AddressGuard {
  const trustedHost = getHost(trustedUrl);
  const isLoopbackTrusted = trustedHost === 'localhost' || isLoopback(trustedHost);

  function isAllowed(host: string, address: string): boolean {
    if (host === trustedHost) return true;
    if (isLoopbackTrusted && isLoopback(address)) return true;
    return !isSpecial(address);
  }

  return {
    check(url) {
      const host = getHost(url);
      if (isIP(host) !== 0 && !isAllowed(host, host)) throw new PrivateAddressError(url.host);
    },
    lookup(host, options, callback) {
      resolve(host, { ...options, all: true }, (error, addresses) => {
        if (error) return callback(error, []);
        const [first] = addresses;
        if (first === undefined || !addresses.every(({ address }) => isAllowed(host, address))) {
          return callback(new PrivateAddressError(host), []);
        }
        return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
      });
    },
  };
}

function getHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function isLoopback(address: string): boolean {
  return isInList(loopbackAddresses, address);
}

function isSpecial(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return isInList(specialAddresses, address);
    case 6:
      return (
        isInList(specialAddresses, address) ||
        extractEmbeddedAddresses(address).some((embedded) => isInList(specialAddresses, embedded))
      );
    default:
      return true;
  }
}

/**
 * IPv4 addresses embedded in an IPv6 address: NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380), ISATAP (RFC
 * 5214), IPv4-translated (RFC 7915) and IPv4-compatible addresses (RFC 4291, 2.5.5.1).
 */
function extractEmbeddedAddresses(address: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = parseGroups(address);
  const formatIPv4 = (high: number, low: number) => [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  const trailingAddress = formatIPv4(g, h);
  if (a === 0x2002) return [formatIPv4(b, c)];
  // Teredo stores the client's address with all bits inverted.
  if (a === 0x2001 && b === 0) return [formatIPv4(c, d), formatIPv4(g ^ 0xffff, h ^ 0xffff)];
  const isNat64 = a === 0x64 && b === 0xff9b && (c | d | e | f) === 0;
  const isIsatap = (e & ~0x0200) === 0 && f === 0x5efe;
  const isTranslatedOrCompatible = (a | b | c | d) === 0 && (e === 0 || e === 0xffff) && f === 0;
  return isNat64 || isIsatap || isTranslatedOrCompatible ? [trailingAddress] : [];
}

/** Uses `URL` to normalize the IPv6 address. */
function parseGroups(address: string): readonly number[] {
  const [head = '', tail = ''] = getHost(new URL(`http://[${address.replace(/%.*/, '')}]/`)).split('::');
  const parsePart = (groups: string) =>
    groups === '' ? [] : groups.split(':').map((group) => Number.parseInt(group, 16));
  const [front, back] = [parsePart(head), parsePart(tail)];
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
}

function isInList(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
