import { describe, expect, test } from 'vitest';
import {
  ABSENT,
  createFact,
  type Fact,
  getFactValue,
  isSameValue,
  mergeSameValue,
  createUnknownFact as notSeen,
} from '../../src/names/facts.ts';
import { createFailedLookup, parseRegistryAnswer } from '../../src/names/registry-record.ts';
import fc from '../support/properties.ts';

const AT = new Date('2026-11-22T00:00:00Z');

const FIELDS: readonly (readonly unknown[])[] = [
  ['version', {}, 'text', '4.0'],
  ['fn', {}, 'text', 'Anna Example'],
  ['org', {}, 'text', 'Example  GmbH'],
  ['email', {}, 'text', 'Anna@Example.com'],
  ['tel', { type: 'voice' }, 'uri', 'tel:+49.30123'],
  ['adr', {}, 'text', ['', '', 'Some Street 1', 'Berlin', 'BE', '10115', 'DE']],
];
const REGISTRANT = { roles: ['registrant'], handle: 'C1', vcardArray: ['vcard', FIELDS] };

const RECORD = {
  objectClassName: 'domain',
  ldhName: 'CAFE.rest',
  status: ['client transfer prohibited', 'Active'],
  nameservers: [{ ldhName: 'NS2.Host.example.' }, { ldhName: 'ns1.host.example' }],
  secureDNS: { delegationSigned: true, dsData: [{ keyTag: 1 }] },
  entities: [
    REGISTRANT,
    {
      roles: ['Registrar'],
      publicIds: [{ type: 'IANA Registrar ID', identifier: '292' }],
      vcardArray: ['vcard', [['fn', {}, 'text', 'Example Registrar, Inc.']]],
    },
  ],
  events: [
    { eventAction: 'registration', eventDate: '2020-03-01T12:00:00Z' },
    { eventAction: 'expiration', eventDate: '2027-03-01T14:00:00+02:00' },
    { eventAction: 'registrar expiration', eventDate: '2027-02-01T00:00:00Z' },
    { eventAction: 'last changed', eventDate: '2026-01-01T00:00:00Z' },
    { eventAction: 'last update of RDAP database', eventDate: '2026-11-22T00:00:00Z' },
  ],
};

function factsOf(body: unknown, delegation?: Fact) {
  const origin = { server: 'rdap.example', isSecure: true };
  const answer =
    body === undefined
      ? ({ kind: 'not_found', ...origin } as const)
      : ({ kind: 'answered', body, ...origin } as const);
  return parseRegistryAnswer(answer, 'cafe.rest', AT, delegation).facts;
}

function ownerOf(registrant: unknown, more: object = {}) {
  return factsOf({ ...RECORD, entities: [registrant], ...more }).owner;
}

/** The same record, as another server may write it. */
function reordered(body: typeof RECORD) {
  return {
    ...body,
    ldhName: 'cafe.REST.',
    status: ['OK', 'clientTransferProhibited'],
    nameservers: body.nameservers.toReversed().map(({ ldhName }) => ({ ldhName: ldhName.toUpperCase() })),
    entities: body.entities.toReversed(),
    events: body.events.toReversed(),
  };
}

describe('a record', () => {
  test('is read in full', () => {
    const { owner, ...facts } = factsOf(RECORD);
    expect(facts).toEqual({
      transport: { state: 'seen', value: ['https'] },
      registration: { state: 'seen', value: ['registered'] },
      registrar: { state: 'seen', value: ['iana:292', 'name:Example Registrar, Inc.'] },
      statuses: { state: 'seen', value: ['active', 'client transfer prohibited'] },
      registry_nameservers: { state: 'seen', value: ['ns1.host.example', 'ns2.host.example'] },
      secure_dns: { state: 'seen', value: ['signed'] },
      registered_at: { state: 'seen', value: ['2020-03-01T12:00:00.000Z'] },
      expires_at: { state: 'seen', value: ['2027-03-01T12:00:00.000Z'] },
      registrar_expires_at: { state: 'seen', value: ['2027-02-01T00:00:00.000Z'] },
      updated_at: { state: 'seen', value: ['2026-01-01T00:00:00.000Z'] },
      transferred_at: { state: 'absent' },
      deleted_at: { state: 'absent' },
    });
    expect(getFactValue(owner)?.map((text) => text.split(':')[0])).toEqual([
      'country',
      'email',
      'fn',
      'org',
      'region',
      'street',
      'tel',
    ]);
  });

  test('keeps no personal data', () => {
    expect(JSON.stringify(factsOf(RECORD))).not.toMatch(/anna|gmbh|berlin|30123/i);
  });

  test('in another form has the same facts', () => {
    expect(factsOf(reordered(RECORD))).toEqual(factsOf(RECORD));
  });

  test('leaves missing facts unseen, not absent', () => {
    const { secureDNS: _s, nameservers: _n, entities: _e, status: _t, ...bare } = RECORD;
    const unseen = { state: 'unseen', reason: 'not_published' };
    expect(factsOf(bare)).toMatchObject({
      secure_dns: unseen,
      registry_nameservers: unseen,
      registrar: unseen,
      statuses: unseen,
      owner: unseen,
    });
    expect(factsOf({ ...RECORD, secureDNS: {} }).secure_dns).toEqual(unseen);
    expect(factsOf({ ...RECORD, secureDNS: { delegationSigned: false } }).secure_dns).toEqual({
      state: 'absent',
    });
    expect(
      factsOf({ ...RECORD, events: [{ eventAction: 'expiration', eventDate: 'soon' }] }).expires_at,
    ).toEqual({ state: 'unseen', reason: 'unreadable', text: 'soon' });
  });

  test('that is missing counts as absent only if the parent zone agrees', () => {
    expect(factsOf(undefined, ABSENT)).toMatchObject({ registration: ABSENT, registrar: ABSENT });
    const reasonOf = (delegation?: Fact) => factsOf(undefined, delegation).registration;
    expect(reasonOf(createFact(['ns1.host.example']))).toEqual(notSeen('delegated_without_record'));
    expect(reasonOf(notSeen('timeout'))).toEqual(notSeen('registry_unavailable'));
    expect(reasonOf()).toEqual(notSeen('registry_unavailable'));
  });

  test('that is unreadable leaves all facts unseen', () => {
    const unavailable = createFailedLookup('cafe.rest', AT, { code: 'busy' }).facts;
    expect(factsOf({ ...RECORD, ldhName: 'other.rest' })).toEqual(unavailable);
    expect(factsOf({ errorCode: 500 })).toEqual(unavailable);
    expect(unavailable.registration).toEqual({ state: 'unseen', reason: 'registry_unavailable' });
  });

  test('is parsed from any input without an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (body, one, other) => {
        factsOf(body);
        factsOf({ ...RECORD, entities: one, status: other, secureDNS: one, redacted: other });
        factsOf({
          ...RECORD,
          entities: [{ roles: ['registrant'], vcardArray: ['vcard', [one]] }],
          events: one,
        });
      }),
    );
  });
});

describe('an owner', () => {
  const full = getFactValue(ownerOf(REGISTRANT)) ?? [];
  const withFields = (change: (fields: typeof FIELDS) => typeof FIELDS) => ({
    ...REGISTRANT,
    vcardArray: ['vcard', change(FIELDS)],
  });
  const replaced = (field: string, value: unknown) =>
    withFields((fields) => fields.map((each) => (each[0] === field ? [...each.slice(0, 3), value] : each)));

  test('is the same in another order, case and spacing', () => {
    expect(getFactValue(ownerOf(withFields((fields) => fields.toReversed())))).toEqual(full);
    expect(getFactValue(ownerOf(replaced('org', 'EXAMPLE gmbh ')))).toEqual(full);
  });

  test.each([
    ['a privacy text', replaced('fn', 'REDACTED FOR PRIVACY'), {}],
    ['a missing value', withFields((fields) => fields.filter(([name]) => name !== 'fn')), {}],
    [
      'a replacement value (RFC 9537)',
      replaced('email', 'https://example.com/contact/8f3a'),
      { redacted: [{ name: { description: 'Registrant Email' }, method: 'replacementValue' }] },
    ],
  ])('is the same while a field is hidden by %s', (_case, registrant, more) => {
    const hidden = getFactValue(ownerOf(registrant, more)) ?? [];
    expect(hidden.length).toBe(full.length - 1);
    expect(isSameValue('owner', full, hidden)).toBe(true);
    expect(isSameValue('owner', hidden, full)).toBe(true);
    expect(mergeSameValue('owner', full, hidden)).toEqual(full);
  });

  test('is unseen if every field is hidden', () => {
    const all = withFields((fields) =>
      fields.map(([name, ...rest]) => [name, ...rest.slice(0, 2), 'REDACTED']),
    );
    expect(ownerOf(all)).toEqual({ state: 'unseen', reason: 'not_published' });
  });

  test('differs if a field that is visible in both differs', () => {
    const other = getFactValue(ownerOf(replaced('org', 'Thief Ltd'))) ?? [];
    expect(isSameValue('owner', full, other)).toBe(false);
    // Hidden in between: the earlier value is still known.
    const hidden = getFactValue(ownerOf(replaced('org', 'REDACTED FOR PRIVACY'))) ?? [];
    expect(isSameValue('owner', mergeSameValue('owner', full, hidden), other)).toBe(false);
  });
});

describe('a registrar', () => {
  test.each([
    [['iana:292', 'name:Example'], ['iana:292', 'name:Example Renamed'], true],
    [['iana:292', 'name:Example'], ['iana:293', 'name:Example'], false],
    [['name:Example, Inc.'], ['iana:292', 'name:EXAMPLE INC'], true],
    [['name:Example'], ['name:Other'], false],
    [['iana:292'], ['name:Other'], true],
    [['iana:292'], [], false],
  ])('%j and %j are the same: %s', (one, other, same) => {
    expect(isSameValue('registrar', one, other)).toBe(same);
    expect(isSameValue('registrar', other, one)).toBe(same);
  });
});
