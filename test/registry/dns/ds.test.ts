import { describe, expect, test } from 'vitest';
import { computeDsDigest, computeKeyTag, matchDs } from '../../../src/registry/dns/ds.ts';

/** The key of RFC 4034, 5.4 and RFC 4509, 2.3. */
const EXAMPLE_KEY = {
  flags: 256,
  algorithm: 5,
  key: Buffer.from(
    'AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw==',
    'base64',
  ),
};
const SHA1 = '2bb183af5f22588179a53b0a98631fad1a292118';
const SHA256 = 'd4b7d520e7bb5f0f67674a0cceb1e3e0614b93c4f9e99b8383f6a1e4469da50a';
/** RFC 6605, 6.2. */
const P384_KEY = {
  flags: 257,
  algorithm: 14,
  key: Buffer.from(
    'xKYaNhWdGOfJ+nPrL8/arkwf2EY3MDJ+SErKivBVSum1w/egsXvSADtNJhyem5RCOpgQ6K8X1DRSEkrbYQ+OB+v8/uX45NBwY8rp65F6Glur8I/mlVNgF6W/qTI37m40',
    'base64',
  ),
};
const P384_DIGEST =
  '72d7b62976ce06438e9c0bf319013cf801f09ecc84b8d7e9495f27e305c6a9b0563a9b5f4d288405c3008a946df983d6';

describe('the digest of a key', () => {
  test('matches the examples of the RFCs', () => {
    expect(computeKeyTag(EXAMPLE_KEY)).toBe(60_485);
    expect(computeDsDigest('dskey.example.com', EXAMPLE_KEY, 1)).toBe(SHA1);
    expect(computeDsDigest('DSKEY.Example.com.', EXAMPLE_KEY, 2)).toBe(SHA256);
    expect(computeKeyTag(P384_KEY)).toBe(10_771);
    expect(computeDsDigest('example.net', P384_KEY, 4)).toBe(P384_DIGEST);
  });

  test('of an unknown type isn’t computed', () => {
    expect(computeDsDigest('dskey.example.com', EXAMPLE_KEY, 3)).toBeUndefined();
  });
});

describe('a DS', () => {
  const ds = { keyTag: 60_485, algorithm: 5, digestType: 2, digest: SHA256.toUpperCase() };

  test('matches its key among others', () => {
    expect(matchDs('dskey.example.com', ds, [P384_KEY, EXAMPLE_KEY])).toBe('match');
  });

  test.each([
    ['another name', 'other.example.com', ds, [EXAMPLE_KEY]],
    ['no key', 'dskey.example.com', ds, []],
    ['another tag', 'dskey.example.com', { ...ds, keyTag: 1 }, [EXAMPLE_KEY]],
    ['another algorithm', 'dskey.example.com', { ...ds, algorithm: 8 }, [EXAMPLE_KEY]],
    ['another digest', 'dskey.example.com', { ...ds, digest: SHA1 }, [EXAMPLE_KEY]],
  ] as const)('doesn’t match %s', (_case, name, given, keys) => {
    expect(matchDs(name, given, keys)).toBe('mismatch');
  });

  test('doesn’t match a key without the zone key flag', () => {
    const other = { ...EXAMPLE_KEY, flags: 0 };
    const digest = computeDsDigest('dskey.example.com', other, 2) ?? '';
    expect(matchDs('dskey.example.com', { ...ds, keyTag: computeKeyTag(other), digest }, [other])).toBe(
      'mismatch',
    );
  });

  test('with an unknown digest type is neither valid nor invalid', () => {
    expect(matchDs('dskey.example.com', { ...ds, digestType: 3 }, [EXAMPLE_KEY])).toBe('unknown');
  });
});
