import { SANDBOX_ACCOUNTS, SANDBOX_CONTACTS, SANDBOX_NAMESERVERS, SANDBOX_TRANSFER } from './accounts.ts';
import { DAY } from './clock.ts';
import type { DomainRecord, PreregRecord, RedirectRecord, SslContactRecord, StateData } from './model.ts';
import { domainRecord, SEED_GROUP, type UserSeed, userRecord } from './records.ts';

/** The group of another customer, for transfers. */
const OTHER_GROUP = 'elsewhere';

/** Names, and the number of days until they expire (negative if expired). */
const NAMED_DOMAINS: readonly (readonly [
  name: string,
  days: number,
  overrides?: (now: number) => Partial<DomainRecord>,
])[] = [
  ['cafe.rest', 23],
  ['bar.rest', 5],
  ['deli.rest', 61],
  ['expired.rest', -4],
  ['gone.rest', 120, (now) => ({ deletedAt: now - 6 * DAY })],
  ['locked.rest', 340, (now) => ({ created: now - 25 * DAY, transferLockUntil: now + 35 * DAY })],
  ['xn--mnchen-3ya.rest', 29],
  ['menu.example', 13],
  ['tables.example', 200],
];

const MORE_NAMES =
  'bakery bistro-nord brunch buffet catering chef cocktail curry diner dessert espresso fondue gelato grill ' +
  'harvest juice kitchen ladle lunch mezze noodle olive oven pantry pasta picnic plate ramen saffron soup ' +
  'spoon sushi tapas tavern';

/** Dates are relative to `now`, so that there are always names that expire soon. */
export function seedState(now: number, users: readonly UserSeed[] = []): StateData {
  return {
    version: 1,
    nextTransaction: 1,
    users: [...seedUsers(), ...users].map(userRecord),
    trustedApplications: [{ ...SANDBOX_ACCOUNTS.trustedApplication, user: 'alice', context: 4 }],
    domains: seedDomains(now),
    contacts: [1, 4].flatMap((context) =>
      SANDBOX_CONTACTS.map((id) => ({ id, context, group: SEED_GROUP, email: `contact-${id}@team.example` })),
    ),
    redirects: seedRedirects(now),
    sslContacts: [seedSslContact(501, 'Alice'), seedSslContact(502, 'Bob')],
    preregs: Array.from({ length: 120 }, (_, index) => seedPrereg(index, now)),
    charges: [],
  };
}

function seedUsers(): UserSeed[] {
  const { alice, aliceDemoSystem, bob, tina, frontdesk } = SANDBOX_ACCOUNTS;
  const owner = { user: alice.user, context: alice.context };
  return [alice, aliceDemoSystem, { ...bob, owner }, { ...tina, owner }, { ...frontdesk, owner }];
}

function seedDomains(now: number): DomainRecord[] {
  const namedDomains = NAMED_DOMAINS.map(([name, days, overrides]) =>
    domainRecord({ name, context: 4, expires: now + days * DAY, ...overrides?.(now) }, now),
  );
  const moreDomains = MORE_NAMES.split(' ').map((label, index) =>
    domainRecord({ name: `${label}.rest`, context: 4, expires: now + (8 + index * 11) * DAY }, now),
  );
  const demoDomains = ['cafe.rest', 'try.rest'].map((name, index) =>
    domainRecord({ name, context: 1, expires: now + (40 + index * 90) * DAY }, now),
  );
  const transferableDomain = domainRecord(
    { ...SANDBOX_TRANSFER, context: 4, group: OTHER_GROUP, expires: now + 90 * DAY },
    now,
  );
  return [...namedDomains, ...moreDomains, ...demoDomains, transferableDomain];
}

function seedRedirects(now: number): RedirectRecord[] {
  const common = { context: 4, group: SEED_GROUP, created: now - 300 * DAY, updated: now - 300 * DAY };
  return [
    {
      ...common,
      source: 'www.cafe.rest',
      target: 'https://cafe.example/menu',
      type: 'domain',
      mode: 'http',
      domain: 'cafe.rest',
    },
    {
      ...common,
      source: 'shop.cafe.rest',
      target: 'https://shop.example/',
      type: 'domain',
      mode: 'frame',
      title: 'Shop',
      backup: 'https://backup.example/',
      domain: 'cafe.rest',
    },
    {
      ...common,
      source: 'hello@cafe.rest',
      target: 'alice@team.example',
      type: 'email',
      mode: 'single',
      domain: 'cafe.rest',
    },
  ];
}

function seedSslContact(id: number, fname: string): SslContactRecord {
  return {
    id,
    context: 4,
    group: SEED_GROUP,
    fields: {
      fname,
      lname: 'Example',
      organization: 'Team Example',
      address: ['1 Market Street'],
      pcode: '10115',
      city: 'Berlin',
      country: 'DE',
      phone: '+49-30-5550100',
      email: `${fname.toLowerCase()}@team.example`,
    },
  };
}

/** Creates 100 preregistrations in .rest and 20 in .example. Every sixth belongs to the sub-user. */
function seedPrereg(index: number, now: number): PreregRecord {
  const tld = index < 100 ? 'rest' : 'example';
  const created = now - (120 - index) * DAY;
  return {
    id: 9001 + index,
    group: SEED_GROUP,
    name: `table-${String(index + 1).padStart(3, '0')}.${tld}`,
    created,
    updated: created + DAY,
    owner: { user: index % 6 === 5 ? 'frontdesk' : 'alice', context: 4 },
    ownerc: 1001,
    zonec: 1004,
    adminc: 1002,
    techc: 1003,
    nameServers: [...SANDBOX_NAMESERVERS],
    status: 'PENDING',
    phase: 'sunrise1',
    orderReference: `order-${9001 + index}`,
    period: 1,
    recommended: index % 3 === 0,
    confirmed: index % 2 === 0,
    config: {
      confirmation_start: created,
      confirmation_end: created + 30 * DAY,
      period_start: created + 40 * DAY,
      period_end: created + 70 * DAY,
    },
  };
}
