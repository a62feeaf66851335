import type { LookupAddress } from 'node:dns';
import { describe, expect, test } from 'vitest';
import { createAddressGuard, PrivateAddressError } from '../../src/http/public-address.ts';

function resolve(guard: ReturnType<typeof createAddressGuard>, host: string, all: boolean) {
  return new Promise<string | LookupAddress[]>((done, fail) => {
    guard.lookup(host, { all }, (error, address) => (error ? fail(error) : done(address)));
  });
}

describe('the guard with a public bootstrap file', () => {
  const guard = createAddressGuard(new URL('https://data.iana.org/rdap/dns.json'));

  test.each([
    'http://127.0.0.1/',
    'http://127.9.9.9:8080/',
    'http://[::1]/',
    'http://[::]/',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://172.31.0.1/',
    'http://192.168.0.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/',
    'http://[fe80::1]/',
    'http://[fc00::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://224.0.0.1/',
    // NAT64 (RFC 6052, 8215), 6to4 (RFC 3056), IPv4-compatible (RFC 4291), ISATAP (RFC 5214)
    'http://[64:ff9b::10.0.0.1]/',
    'http://[64:ff9b::169.254.169.254]/',
    'http://[64:ff9b:1::8.8.8.8]/',
    'http://[64:ff9b:1:7f00:1::]/',
    'http://[2002:7f00:1::1]/',
    'http://[2002:a9fe:a9fe::]/',
    'http://[2002:c0a8:101:5::9]/',
    'http://[::127.0.0.1]/',
    'http://[::192.168.1.1]/',
    'http://[2606:4700::5efe:10.0.0.1]/',
    'http://[2606:4700::200:5efe:127.0.0.1]/',
    // Teredo (RFC 4380): its server, then the client with every bit inverted
    'http://[2001:0:a00:1::f7f7:f7f7]/',
    'http://[2001:0:808:808:0:1234:80ff:fffe]/',
    'http://[2001:0:808:808:0:1234:5601:5601]/',
  ])('refuses %s', (url) => {
    expect(() => guard.check(new URL(url))).toThrow(PrivateAddressError);
  });

  test.each([
    'http://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://172.32.0.1/',
    'https://[64:ff9b::8.8.8.8]/',
    'https://[2002:808:808::1]/',
    'https://[2001:0:808:808:0:1234:f7f7:f7f7]/',
    'https://[2001:500::7f00:1]/',
    'https://rdap.example/',
  ])('allows %s', (url) => {
    expect(() => guard.check(new URL(url))).not.toThrow();
  });

  test('refuses a name that resolves to the loopback', async () => {
    await expect(resolve(guard, 'localhost', true)).rejects.toThrow(PrivateAddressError);
    await expect(resolve(guard, 'localhost', false)).rejects.toThrow('localhost has a private address');
  });

  test.each(['64:ff9b::a00:1', '2002:a00:1::', '2001:0:808:808:0:0:f5ff:fffe', '::10.0.0.1'])(
    'refuses a name that resolves to %s',
    async (address) => {
      const leading = createAddressGuard(
        new URL('https://data.iana.org/rdap/dns.json'),
        (_host, _options, done) =>
          done(null, [
            { address: '8.8.8.8', family: 4 },
            { address, family: 6 },
          ]),
      );
      await expect(resolve(leading, 'rdap.example', true)).rejects.toThrow(PrivateAddressError);
    },
  );

  test('throws the lookup error for a name without an address', async () => {
    await expect(resolve(guard, 'nowhere.invalid', true)).rejects.not.toBeInstanceOf(PrivateAddressError);
  });
});

describe('the guard with a sandbox on the loopback', () => {
  const guard = createAddressGuard(new URL('http://localhost:4000/dns.json'));

  test('allows other loopback servers, but no other private addresses', () => {
    expect(() => guard.check(new URL('http://127.0.0.1:4001/'))).not.toThrow();
    expect(() => guard.check(new URL('http://[::1]:4001/'))).not.toThrow();
    expect(() => guard.check(new URL('http://10.0.0.1/'))).toThrow(PrivateAddressError);
  });

  test('resolves names to one or all addresses, as sockets need', async () => {
    const one = await resolve(guard, 'localhost', false);
    const all = await resolve(guard, 'localhost', true);
    expect(all).toContainEqual(expect.objectContaining({ address: one }));
  });
});

test('the guard allows only the private host that the operator configured', () => {
  const guard = createAddressGuard(new URL('http://10.0.0.5/dns.json'));
  expect(() => guard.check(new URL('http://10.0.0.5:8080/'))).not.toThrow();
  expect(() => guard.check(new URL('http://10.0.0.6/'))).toThrow(PrivateAddressError);
  expect(() => guard.check(new URL('http://127.0.0.1/'))).toThrow(PrivateAddressError);
});
