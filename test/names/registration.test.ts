import { describe, expect, test } from 'vitest';
import { parseRegistryAnswer, type RegistryLookup } from '../../src/names/registry-record.ts';
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

const AT = new Date('2026-11-22T00:00:00Z');

function resultOf(body: unknown, name: string): RegistryLookup['result'] {
  const answer = { kind: 'answered', body, server: 'rdap.example', isSecure: true } as const;
  return parseRegistryAnswer(answer, name, AT).result;
}

/** The registration in a record; otherwise why there is none. */
function registrationIn(body: unknown, name: string) {
  const result = resultOf(body, name);
  return result.kind === 'registered' ? result.registration : result;
}

describe('the record of a domain', () => {
  test('is parsed in full', () => {
    expect(registrationIn(full, 'cafe.rest')).toEqual({
      transferredAt: undefined,
      deletedAt: undefined,
      usedHttps: true,
      hasExactDates: true,
      expiresAt: new Date('2027-03-01T12:00:00Z'),
      registeredAt: new Date('2020-03-01T12:00:00.000Z'),
      registrar: 'Example Registrar Inc.',
      nameServers: ['ns1.example.net', 'ns2.example.net'],
      statuses: ['7', 'active', 'client transfer prohibited'],
    });
  });

  test('falls back to the registrar’s handle, and reads the date of a transfer', () => {
    const transfer = { eventAction: 'Transfer', eventDate: '2026-05-01T00:00:00Z' };
    const entities = [{ roles: ['registrar'], handle: '292', vcardArray: ['vcard', [['fn', {}, 'text']]] }];
    expect(
      registrationIn({ ...full, entities, events: [...full.events, transfer] }, 'cafe.rest'),
    ).toMatchObject({ registrar: '292', transferredAt: new Date('2026-05-01T00:00:00Z') });
    const bare = registrationIn({ ...full, entities: undefined, nameservers: undefined }, 'cafe.rest');
    expect(bare).toMatchObject({ registrar: undefined, nameServers: [] });
    expect(bare).toMatchObject({ transferredAt: undefined });
  });

  test('has RFC 8056 statuses, even if the registry uses EPP spelling', () => {
    const record = registrationIn(
      { ...full, status: ['redemptionPeriod', 'autoRenewPeriod', 'ok'] },
      'cafe.rest',
    );
    expect(record).toMatchObject({ statuses: ['active', 'auto renew period', 'redemption period'] });
  });

  test('dates a deletion by its event, or else by the last change', () => {
    const events = [
      ...full.events,
      { eventAction: 'last changed', eventDate: '2026-05-02T00:00:00Z' },
    ].filter((event) => typeof event === 'string' || event.eventDate !== undefined);
    const deletion = { eventAction: 'deletion', eventDate: '2026-05-01T00:00:00Z' };
    const deleted = { ...full, status: ['redemption period', 'pending delete'], events };
    expect(registrationIn(deleted, 'cafe.rest')).toMatchObject({
      deletedAt: new Date('2026-05-02T00:00:00Z'),
    });
    expect(registrationIn({ ...deleted, events: [...events, deletion] }, 'cafe.rest')).toMatchObject({
      deletedAt: new Date('2026-05-01T00:00:00Z'),
    });
    expect(registrationIn({ ...full, events: [...events, deletion] }, 'cafe.rest')).toMatchObject({
      deletedAt: undefined,
    });
  });

  test('uses the earlier of two expirations', () => {
    const events = [...full.events, { eventAction: 'Expiration', eventDate: '2026-09-01T00:00:00Z' }];
    expect(registrationIn({ ...full, events }, 'cafe.rest')).toMatchObject({
      expiresAt: new Date('2026-09-01T00:00:00Z'),
    });
  });

  test('may name the domain in Unicode', () => {
    const { ldhName: _, ...unnamed } = full;
    expect(resultOf({ ...unnamed, unicodeName: 'München.rest' }, 'xn--mnchen-3ya.rest').kind).toBe(
      'registered',
    );
    expect(resultOf({ ...full, ldhName: 'xn--MNCHEN-3ya.rest' }, 'xn--mnchen-3ya.rest').kind).toBe(
      'registered',
    );
    expect(resultOf(unnamed, 'cafe.rest').kind).toBe('failed');
  });

  test.each([
    ['nothing', undefined],
    ['a list', [full]],
    ['an error object', { errorCode: 200, title: 'ok' }],
    ['an entity', { ...full, objectClassName: 'entity' }],
    ['another name', { ...full, ldhName: 'cafe.rest.example' }],
  ])('is not read from %s', (_case, body) => {
    expect(resultOf(body, 'cafe.rest').kind).toBe('failed');
  });

  test.each([
    ['no events', undefined],
    ['no expiration', full.events.slice(0, 2)],
    ['an expiration without a date', [{ eventAction: 'expiration' }]],
    ['an unreadable expiration date', [{ eventAction: 'expiration', eventDate: 'x' }]],
  ])('keeps everything else with %s', (_case, events) => {
    expect(registrationIn({ ...full, events }, 'cafe.rest')).toMatchObject({
      expiresAt: undefined,
      registrar: 'Example Registrar Inc.',
      nameServers: ['ns1.example.net', 'ns2.example.net'],
      statuses: ['7', 'active', 'client transfer prohibited'],
    });
  });

  test('keeps a date despite an unreadable one', () => {
    const events = [...full.events, { eventAction: 'expiration', eventDate: 'x' }];
    expect(registrationIn({ ...full, events }, 'cafe.rest')).toMatchObject({
      expiresAt: new Date('2027-03-01T12:00:00Z'),
    });
  });

  test('is parsed from any input without an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (body, events, entities) => {
        registrationIn(body, 'cafe.rest');
        registrationIn({ ...full, events, entities, status: body, nameservers: entities }, 'cafe.rest');
      }),
    );
  });
});
