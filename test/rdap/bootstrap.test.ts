import { describe, expect, test } from 'vitest';
import { rdapAddress, readRdapBootstrap } from '../../src/rdap/bootstrap.ts';
import { readRfc3339 } from '../../src/rdap/rfc3339.ts';
import fc from '../support/properties.ts';

describe('a time by RFC 3339', () => {
  test.each([
    ['2027-03-01T12:00:00Z', '2027-03-01T12:00:00.000Z'],
    ['2027-03-01t12:00:00z', '2027-03-01T12:00:00.000Z'],
    ['2027-03-01T12:00:00.123456Z', '2027-03-01T12:00:00.000Z'],
    ['2027-03-01T00:30:00+01:00', '2027-02-28T23:30:00.000Z'],
    ['2027-03-01T23:30:00-03:30', '2027-03-02T03:00:00.000Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['2026-12-31T23:59:60Z', '2026-12-31T23:59:59.000Z'],
  ])('%s is read', (text, moment) => {
    expect(readRfc3339(text)?.toISOString()).toBe(moment);
  });

  test.each([
    '2027-03-01',
    '2027-03-01T12:00:00',
    '2027-03-01 12:00:00Z',
    '2027-02-29T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-00-10T00:00:00Z',
    '2027-04-31T00:00:00Z',
    '2027-03-01T24:00:00Z',
    '2027-03-01T12:60:00Z',
    '2027-03-01T12:00:61Z',
    '2027-03-01T12:00:00+24:00',
    '2027-03-01T12:00:00+0100',
    '9999-12-31T23:59:59Z',
    '0001-01-01T00:00:00Z',
    '1772366400',
    1772366400,
    null,
    {},
  ])('%j is not', (value) => {
    expect(readRfc3339(value)).toBeUndefined();
  });

  test('agrees with the clock for every moment', () => {
    const moments = fc.date({
      min: new Date('1990-01-01'),
      max: new Date('2190-01-01'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moments, (moment) => {
        const second = Math.floor(moment.getTime() / 1000) * 1000;
        expect(readRfc3339(moment.toISOString())?.getTime()).toBe(second);
      }),
    );
  });
});

describe('the bootstrap file', () => {
  const file = {
    version: '1.0',
    services: [
      [
        ['COM', 'net'],
        ['http://rdap.example/com/', 'https://rdap.example/com'],
      ],
      [['co.uk'], ['https://couk.example/']],
      [['uk'], ['https://uk.example/']],
      [['broken'], ['ftp://rdap.example/', 'no address']],
      ['odd'],
      [['rest'], ['http://rdap.rest.example/v1/']],
    ],
  };

  function addressOf(name: string, body: unknown = file): string | undefined {
    const bootstrap = readRdapBootstrap(body);
    if (!bootstrap) throw new Error('the bootstrap file was not read');
    return rdapAddress(bootstrap, name)?.href;
  }

  test.each([
    ['example.com', 'https://rdap.example/com/domain/example.com'],
    ['example.co.uk', 'https://couk.example/domain/example.co.uk'],
    ['example.org.uk', 'https://uk.example/domain/example.org.uk'],
    ['cafe.rest', 'http://rdap.rest.example/v1/domain/cafe.rest'],
    ['example.broken', undefined],
    ['example.odd', undefined],
    ['example.xcom', undefined],
  ])('sends %s to %s', (name, address) => {
    expect(addressOf(name)).toBe(address);
  });

  test('may have a server for everything else', () => {
    const services = [...file.services, [[''], ['https://root.example/']]];
    expect(addressOf('example.xyz', { services })).toBe('https://root.example/domain/example.xyz');
    expect(addressOf('example.com', { services })).toContain('rdap.example');
  });

  test.each([undefined, [], {}, { services: {} }, { services: [] }, { services: [['a']] }])(
    '%j is none',
    (body) => {
      expect(readRdapBootstrap(body)).toBeUndefined();
    },
  );
});
