import { describe, expect, test } from 'vitest';
import { findRecordUrl, parseRdapBootstrap } from '../../../src/registry/rdap/bootstrap.ts';

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
    const bootstrap = parseRdapBootstrap(body);
    if (!bootstrap) throw new Error('the bootstrap file was not read');
    return findRecordUrl(bootstrap, name)?.href;
  }

  test.each([
    ['example.com', 'https://rdap.example/com/domain/example.com'],
    ['example.co.uk', 'https://couk.example/domain/example.co.uk'],
    ['example.org.uk', 'https://uk.example/domain/example.org.uk'],
    ['cafe.rest', 'http://rdap.rest.example/v1/domain/cafe.rest'],
    ['example.broken', undefined],
    ['example.odd', undefined],
    ['example.xcom', undefined],
  ])('maps %s to %s', (name, address) => {
    expect(addressOf(name)).toBe(address);
  });

  test('can have a default server', () => {
    const services = [...file.services, [[''], ['https://root.example/']]];
    expect(addressOf('example.xyz', { services })).toBe('https://root.example/domain/example.xyz');
    expect(addressOf('example.com', { services })).toContain('rdap.example');
  });

  test.each([[undefined], [[]], [{}], [{ services: {} }], [{ services: [] }], [{ services: [['a']] }]])(
    'is refused if it is %j (case %#)',
    (body) => {
      expect(parseRdapBootstrap(body)).toBeUndefined();
    },
  );
});
