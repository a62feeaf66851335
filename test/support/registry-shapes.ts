/*
 * RDAP responses in the formats of twenty registries. All are invented, based on RFC 9083, RFC 8056, RFC 9537 and real
 * registries; the people, names and registrars don't exist.
 */

export interface RegistryShape {
  readonly registry: string;
  /** The body of the response for `cafe.rest`. */
  readonly record: Readonly<Record<string, unknown>>;
  /** The expected facts: values, `[]` if absent, the raw text if unreadable, undefined if unknown. */
  readonly expectedFacts: Readonly<Record<string, readonly string[] | string | undefined>>;
}

const DATES = [
  { eventAction: 'registration', eventDate: '2019-12-16T12:00:00Z' },
  { eventAction: 'expiration', eventDate: '2026-12-16T12:00:00Z' },
  { eventAction: 'last changed', eventDate: '2026-10-01T00:00:00Z' },
];
const EXPIRY = ['2026-12-16T12:00:00.000Z'];
const vcard = (...fields: readonly (readonly [string, unknown])[]) => [
  'vcard',
  [['version', {}, 'text', '4.0'], ...fields.map(([name, value]) => [name, {}, 'text', value])],
];
const registrar = (name: string, id?: unknown, overrides: object = {}) => ({
  objectClassName: 'entity',
  roles: ['registrar'],
  ...(id !== undefined && { publicIds: [{ type: 'IANA Registrar ID', identifier: id }] }),
  vcardArray: vcard(['fn', name]),
  ...overrides,
});
const domain = (overrides: Readonly<Record<string, unknown>>) => ({
  rdapConformance: ['rdap_level_0'],
  objectClassName: 'domain',
  ldhName: 'cafe.rest',
  events: DATES,
  ...overrides,
});
const expiring = (...dates: readonly unknown[]) =>
  dates.map((eventDate) => ({ eventAction: 'expiration', eventDate }));

export const REGISTRY_SHAPES: readonly RegistryShape[] = [
  {
    registry: 'a large generic zone',
    record: domain({
      ldhName: 'CAFE.REST',
      status: ['client transfer prohibited', 'client delete prohibited'],
      entities: [registrar('Proper Registrar, Inc.', '292', { handle: '292' })],
      nameservers: [
        { objectClassName: 'nameserver', ldhName: 'NS1.HOST.EXAMPLE' },
        { objectClassName: 'nameserver', ldhName: 'NS2.HOST.EXAMPLE' },
      ],
      secureDNS: { delegationSigned: false },
    }),
    expectedFacts: {
      expires_at: EXPIRY,
      registrar: ['iana:292', 'name:Proper Registrar, Inc.'],
      statuses: ['client delete prohibited', 'client transfer prohibited'],
      registry_nameservers: ['ns1.host.example', 'ns2.host.example'],
      secure_dns: [],
      owner: undefined,
    },
  },
  {
    registry: 'statuses as in EPP',
    record: domain({ status: ['clientTransferProhibited', 'ok', 'autoRenewPeriod', 'linked'] }),
    expectedFacts: { statuses: ['active', 'associated', 'auto renew period', 'client transfer prohibited'] },
  },
  {
    registry: 'statuses with the URLs of explanations',
    record: domain({
      status: [
        'https://icann.org/epp#clientTransferProhibited',
        'serverHold https://www.icann.org/epp#serverHold',
        'clientUpdateProhibited (http://icann.org/epp#clientUpdateProhibited)',
      ],
    }),
    expectedFacts: { statuses: ['client transfer prohibited', 'client update prohibited', 'server hold'] },
  },
  {
    registry: 'statuses in capitals, with hyphens and underscores',
    record: domain({
      status: [
        'CLIENT_TRANSFER_PROHIBITED',
        'server-delete-prohibited',
        'Transfer  Prohibited',
        'LOCKED',
        'OK',
      ],
    }),
    expectedFacts: {
      statuses: [
        'active',
        'client transfer prohibited',
        'locked',
        'server delete prohibited',
        'transfer prohibited',
      ],
    },
  },
  {
    registry: 'a custom status, as a text instead of a list',
    record: domain({ status: 'Paid and in zone' }),
    expectedFacts: { statuses: ['Paid and in zone'], expires_at: EXPIRY },
  },
  {
    registry: 'a reserved ID for all registrars without accreditation',
    record: domain({ entities: [registrar('Proper Registrar GmbH', '9999')] }),
    expectedFacts: { registrar: ['iana:9999', 'name:Proper Registrar GmbH'] },
  },
  {
    registry: 'registrars with only a handle',
    record: domain({ entities: [{ roles: ['registrar'], handle: 'REG-0042' }] }),
    expectedFacts: { registrar: ['handle:REG-0042'], expires_at: EXPIRY },
  },
  {
    registry: 'registrars as organizations, with numeric IDs',
    record: domain({
      entities: { ...registrar('', 292), vcardArray: vcard(['fn', ''], ['org', 'Proper Registrar']) },
    }),
    expectedFacts: { registrar: ['iana:292', 'name:Proper Registrar'] },
  },
  {
    registry: 'dates without a time',
    record: domain({ events: expiring('2026-12-16') }),
    expectedFacts: { expires_at: ['2026-12-15T10:00:00.000Z', 'earliest reading'], registered_at: [] },
  },
  {
    registry: 'times without a time zone',
    record: domain({ events: expiring('2026-12-16T12:00:00') }),
    expectedFacts: { expires_at: ['2026-12-15T22:00:00.000Z', 'earliest reading'] },
  },
  {
    registry: 'lowercase letters in times, and an offset without a colon',
    record: domain({ events: expiring('2026-12-16t14:00:00+0200', '2026-12-16t12:00:00z') }),
    expectedFacts: { expires_at: EXPIRY },
  },
  {
    registry: 'several expirations, one without a valid date',
    record: domain({ events: expiring('never', '2027-12-16T12:00:00Z', '2026-12-16T12:00:00Z', null) }),
    expectedFacts: { expires_at: EXPIRY },
  },
  {
    registry: 'a custom date format',
    record: domain({ status: ['active'], events: expiring('16.12.2026') }),
    expectedFacts: { expires_at: '16.12.2026', statuses: ['active'], registered_at: [] },
  },
  {
    registry: 'events in other spellings, and several past transfers',
    record: domain({
      events: [
        { eventAction: 'Expiration', eventDate: '2026-12-16T12:00:00Z' },
        { eventAction: 'last_changed', eventDate: '2026-10-01T00:00:00Z' },
        { eventAction: 'transfer', eventDate: '2020-01-01T00:00:00Z' },
        { eventAction: 'transfer', eventDate: '2024-01-01T00:00:00Z' },
        'none',
      ],
    }),
    expectedFacts: {
      expires_at: EXPIRY,
      updated_at: ['2026-10-01T00:00:00.000Z'],
      transferred_at: ['2024-01-01T00:00:00.000Z'],
    },
  },
  {
    registry: 'no dates at all',
    record: domain({ events: [], status: ['active'], entities: [registrar('Proper Registrar GmbH')] }),
    expectedFacts: { expires_at: [], statuses: ['active'], registrar: ['name:Proper Registrar GmbH'] },
  },
  {
    registry: 'a deleted name without dates',
    record: domain({
      events: [{ eventAction: 'deletion', eventDate: '2026-11-20T00:00:00Z' }],
      status: ['pending delete'],
      nameservers: [],
    }),
    expectedFacts: {
      expires_at: [],
      deleted_at: ['2026-11-20T00:00:00.000Z'],
      statuses: ['pending delete'],
      registry_nameservers: [],
    },
  },
  {
    registry: 'nameservers as texts, one of them an invalid host name',
    record: domain({ nameservers: ['NS1.Host.Example.', 'ns 2.host.example'] }),
    expectedFacts: { registry_nameservers: ['ns 2.host.example', 'ns1.host.example'] },
  },
  {
    registry: 'unreadable nameservers beside readable facts',
    record: domain({ nameservers: [{ objectClassName: 'nameserver', host: 'ns1' }], status: ['active'] }),
    expectedFacts: {
      registry_nameservers: '[{"objectClassName":"nameserver","host":"ns1"}]',
      statuses: ['active'],
      expires_at: EXPIRY,
    },
  },
  {
    registry: 'DNSSEC as a text',
    record: domain({ secureDNS: 'unsigned' }),
    expectedFacts: { secure_dns: 'unsigned', expires_at: EXPIRY },
  },
  {
    registry: 'redacted personal data (RFC 9537)',
    record: domain({
      entities: [
        registrar('REDACTED FOR PRIVACY', '9998', { handle: 'R1' }),
        { roles: ['registrant'], vcardArray: vcard(['fn', 'REDACTED FOR PRIVACY'], ['org', '']) },
      ],
      redacted: [{ name: { type: 'Registrant Name' }, method: 'emptyValue' }],
      secureDNS: { delegationSigned: 'true' },
    }),
    expectedFacts: { registrar: ['handle:R1', 'iana:9998'], owner: undefined, secure_dns: ['signed'] },
  },
  {
    registry: 'members of the wrong type, and extra members',
    record: domain({
      status: null,
      entities: 'none',
      nameservers: { ldhName: 'ns1.host.example' },
      secureDNS: null,
      port43: 43,
      registry_serial: 1e300,
      events: DATES,
    }),
    expectedFacts: {
      statuses: undefined,
      registrar: undefined,
      registry_nameservers: ['ns1.host.example'],
      secure_dns: undefined,
      expires_at: EXPIRY,
    },
  },
];
