import { describe, expect, test } from 'vitest';
import { addYears, type KnownExpiry, mergeRegistryDate } from '../../src/expiry/expiry-date.ts';
import type { RdapRegistration } from '../../src/rdap/registration.ts';
import { general } from '../../src/zones/general.ts';
import { rest } from '../../src/zones/rest.ts';

const now = new Date('2026-06-10T00:00:00Z');

function record(expiresAt: string, ...statuses: string[]): RdapRegistration {
  return { kind: 'found', expiresAt: new Date(expiresAt), registrar: undefined, nameServers: [], statuses };
}

describe('adding years', () => {
  test('a leap day becomes the day before, never the day after', () => {
    expect(addYears(new Date('2028-02-29T23:00:00Z'), 1)).toEqual(new Date('2029-02-28T23:00:00Z'));
    expect(addYears(new Date('2028-02-29T23:00:00Z'), 4)).toEqual(new Date('2032-02-29T23:00:00Z'));
    expect(addYears(new Date('2027-03-31T00:00:00Z'), -1)).toEqual(new Date('2026-03-31T00:00:00Z'));
  });
});

describe('the registry is believed', () => {
  const given: KnownExpiry = { expiresAt: new Date('2026-09-01'), source: 'person' };

  test('over a person and where nothing was known', () => {
    const observed = { expiresAt: new Date('2026-08-01T10:00:00Z'), source: 'rdap' };
    expect(mergeRegistryDate(given, record('2026-08-01T10:00:00Z'), rest, now)).toEqual(observed);
    expect(mergeRegistryDate(undefined, record('2026-08-01T10:00:00Z'), rest, now)).toEqual(observed);
  });

  test('after a renewal only once it shows it', () => {
    const renewedUntil = new Date('2028-06-12T10:00:00Z');
    const renewed: KnownExpiry = { expiresAt: renewedUntil, source: 'order', renewedUntil };
    expect(mergeRegistryDate(renewed, record('2026-06-12T10:00:00Z'), rest, now)).toBe(renewed);
    expect(mergeRegistryDate(renewed, record('2027-06-12T10:00:00Z'), rest, now)).toBe(renewed);
    for (const shown of ['2028-06-12T10:00:00Z', '2028-06-11T22:00:00Z', '2029-06-12T10:00:00Z']) {
      expect(mergeRegistryDate(renewed, record(shown), rest, now)).toEqual({
        expiresAt: new Date(shown),
        source: 'rdap',
      });
    }
  });

  test('but not for the year that it adds by itself in the auto-renew grace', () => {
    const grace = record('2027-06-01T10:00:00Z', 'active', 'auto renew period');
    expect(mergeRegistryDate(given, grace, rest, now).expiresAt).toEqual(new Date('2026-06-01T10:00:00Z'));
    expect(mergeRegistryDate(given, grace, general, now).expiresAt).toEqual(new Date('2026-06-01T10:00:00Z'));
    const renewed: KnownExpiry = { ...given, renewedUntil: new Date('2027-06-01T10:00:00Z') };
    expect(mergeRegistryDate(renewed, grace, rest, now).expiresAt).toEqual(new Date('2027-06-01T10:00:00Z'));
    const registryDoesNotAdd = record('2026-06-01T10:00:00Z', 'auto renew period');
    expect(mergeRegistryDate(given, registryDoesNotAdd, rest, now).expiresAt).toEqual(
      new Date('2026-06-01T10:00:00Z'),
    );
    const graceIsOver = record('2027-04-01T10:00:00Z', 'auto renew period');
    expect(mergeRegistryDate(given, graceIsOver, rest, now).expiresAt).toEqual(
      new Date('2027-04-01T10:00:00Z'),
    );
  });
});
