import { describe, expect, test } from 'vitest';
import { rdapAddress, readRdapBootstrap } from '../../src/rdap/bootstrap.ts';
import { readRdapAnswer, readRfc3339 } from '../../src/rdap/registration.ts';
import fc from '../support/properties.ts';

const full = {
  rdapConformance: ['rdap_level_0'],
  objectClassName: 'domain',
  handle: 'D1-REST',
  ldhName: 'CAFE.REST.',
  status: ['Client Transfer Prohibited', 'active', 7],
  nameservers: [
    { objectClassName: 'nameserver', ldhName: 'NS1.EXAMPLE.NET' },
    { objectClassName: 'nameserver' },
    { objectClassName: 'nameserver', ldhName: 'ns2.example.net.' },
  ],
  entities: [
    { roles: ['technical'], handle: 'T1' },
    {
      roles: ['Registrar'],
      handle: '292',
      vcardArray: [
        'vcard',
        [
          ['version', {}, 'text', '4.0'],
          ['fn', {}, 'text', 'Example\u202e Registrar\nInc.'],
        ],
      ],
    },
  ],
  events: [
    { eventAction: 'registration', eventDate: '2020-03-01T12:00:00.5Z' },
    { eventAction: 'last changed' },
    'nonsense',
    { eventAction: 'expiration', eventDate: '2027-03-01T14:00:00+02:00' },
    { eventAction: 'last update of RDAP database', eventDate: '2026-06-01T00:00:00Z' },
  ],
};

describe('the record of a domain', () => {
  test('gives what a watch list needs', () => {
    expect(readRdapAnswer(full, 'cafe.rest')).toEqual({
      kind: 'found',
      expiresAt: new Date('2027-03-01T12:00:00Z'),
      registeredAt: new Date('2020-03-01T12:00:00.000Z'),
      registrar: 'Example Registrar Inc.',
      nameServers: ['ns1.example.net', 'ns2.example.net'],
      statuses: ['client transfer prohibited', 'active'],
    });
  });

  test('tells the registrar by its handle where its card has no name, and a transfer by its event', () => {
    const transfer = { eventAction: 'Transfer', eventDate: '2026-05-01T00:00:00Z' };
    const entities = [{ roles: ['registrar'], handle: '292', vcardArray: ['vcard', [['fn', {}, 'text']]] }];
    expect(
      readRdapAnswer({ ...full, entities, events: [...full.events, transfer] }, 'cafe.rest'),
    ).toMatchObject({ registrar: '292', transferredAt: new Date('2026-05-01T00:00:00Z') });
    const bare = readRdapAnswer({ ...full, entities: undefined, nameservers: undefined }, 'cafe.rest');
    expect(bare).toMatchObject({ registrar: undefined, nameServers: [] });
    expect(bare).not.toHaveProperty('transferredAt');
  });

  test('has its statuses in the words of RFC 8056, also where the registry writes them as in EPP', () => {
    const record = readRdapAnswer(
      { ...full, status: ['redemptionPeriod', 'autoRenewPeriod', 'ok'] },
      'cafe.rest',
    );
    expect(record).toMatchObject({ statuses: ['redemption period', 'auto renew period', 'active'] });
  });

  test('tells a deletion, by its event or else by the last change', () => {
    const events = [
      ...full.events,
      { eventAction: 'last changed', eventDate: '2026-05-02T00:00:00Z' },
    ].filter((event) => typeof event === 'string' || event.eventDate !== undefined);
    const deletion = { eventAction: 'deletion', eventDate: '2026-05-01T00:00:00Z' };
    const deleted = { ...full, status: ['redemption period', 'pending delete'], events };
    expect(readRdapAnswer(deleted, 'cafe.rest')).toMatchObject({
      deletedAt: new Date('2026-05-02T00:00:00Z'),
    });
    expect(readRdapAnswer({ ...deleted, events: [...events, deletion] }, 'cafe.rest')).toMatchObject({
      deletedAt: new Date('2026-05-01T00:00:00Z'),
    });
    expect(readRdapAnswer({ ...full, events: [...events, deletion] }, 'cafe.rest')).not.toHaveProperty(
      'deletedAt',
    );
  });

  test('counts the earlier of two expirations', () => {
    const events = [...full.events, { eventAction: 'Expiration', eventDate: '2026-09-01T00:00:00Z' }];
    expect(readRdapAnswer({ ...full, events }, 'cafe.rest')).toMatchObject({
      expiresAt: new Date('2026-09-01T00:00:00Z'),
    });
  });

  test('may name the domain with its own letters', () => {
    const { ldhName: _, ...unnamed } = full;
    expect(readRdapAnswer({ ...unnamed, unicodeName: 'München.rest' }, 'xn--mnchen-3ya.rest').kind).toBe(
      'found',
    );
    expect(readRdapAnswer({ ...full, ldhName: 'xn--MNCHEN-3ya.rest' }, 'xn--mnchen-3ya.rest').kind).toBe(
      'found',
    );
    expect(readRdapAnswer(unnamed, 'cafe.rest').kind).toBe('unreadable');
  });

  test.each([
    ['nothing', undefined],
    ['a list', [full]],
    ['an error object', { errorCode: 200, title: 'ok' }],
    ['an entity', { ...full, objectClassName: 'entity' }],
    ['another name', { ...full, ldhName: 'cafe.rest.example' }],
    ['no events', { ...full, events: undefined }],
    ['no expiration', { ...full, events: full.events.slice(0, 2) }],
    ['an expiration without a date', { ...full, events: [{ eventAction: 'expiration' }] }],
    [
      'one wrong date among two',
      { ...full, events: [...full.events, { eventAction: 'expiration', eventDate: 'x' }] },
    ],
  ])('is not read out of %s', (_case, body) => {
    expect(readRdapAnswer(body, 'cafe.rest').kind).toBe('unreadable');
  });

  test('anything at all is read without an error', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (body, events, entities) => {
        readRdapAnswer(body, 'cafe.rest');
        readRdapAnswer({ ...full, events, entities, status: body, nameservers: entities }, 'cafe.rest');
      }),
    );
  });
});

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
