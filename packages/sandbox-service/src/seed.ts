import {
  SANDBOX_ACCOUNTS,
  SANDBOX_CONTACTS,
  SANDBOX_NAMESERVERS,
  SANDBOX_TRANSFERABLE_DOMAIN,
} from './accounts.ts';
import { DAY_MS } from './clock.ts';
import type { DomainRecord, PreregRecord, RedirectRecord, SslContactRecord, StateData } from './model.ts';
import { buildDomainRecord, buildUserRecord, SEED_GROUP, type UserSeed } from './records.ts';

/** The group of another customer, for transfers. */
const OTHER_GROUP = 'elsewhere';

/** `days` is the time until the name expires (negative if it has expired). */
const SCENARIO_DOMAINS: readonly (readonly [
  name: string,
  days: number,
  overrides?: (now: number) => Partial<DomainRecord>,
])[] = [
  ['cafe.rest', 23],
  ['bar.rest', 5],
  ['deli.rest', 61],
  ['expired.rest', -4],
  ['gone.rest', 120, (now) => ({ deletedAt: now - 6 * DAY_MS })],
  ['locked.rest', 340, (now) => ({ created: now - 25 * DAY_MS, transferLockUntil: now + 35 * DAY_MS })],
  ['xn--mnchen-3ya.rest', 29],
  ['menu.example', 13],
  ['tables.example', 200],
];

const FILLER_LABELS =
  'bakery bistro-nord brunch buffet catering chef cocktail curry diner dessert espresso fondue gelato grill ' +
  'harvest juice kitchen ladle lunch mezze noodle olive oven pantry pasta picnic plate ramen saffron soup ' +
  'spoon sushi tapas tavern';

/** Dates are relative to `now`, so that some names always expire soon. */
export function buildSeedState(now: number, users: readonly UserSeed[] = []): StateData {
  return {
    version: 1,
    nextTransaction: 1,
    users: [...buildSeedUsers(), ...users].map(buildUserRecord),
    trustedApplications: [{ ...SANDBOX_ACCOUNTS.trustedApplication, user: 'alice', context: 4 }],
    domains: buildSeedDomains(now),
    contacts: [1, 4].flatMap((context) =>
      SANDBOX_CONTACTS.map((id) => ({ id, context, group: SEED_GROUP, email: `contact-${id}@team.example` })),
    ),
    redirects: buildSeedRedirects(now),
    sslContacts: [buildSeedSslContact(501, 'Alice'), buildSeedSslContact(502, 'Bob')],
    preregs: Array.from({ length: 120 }, (_, index) => buildSeedPrereg(index, now)),
    charges: [],
  };
}

function buildSeedUsers(): UserSeed[] {
  const { alice, aliceDemoSystem, bob, tina, frontdesk } = SANDBOX_ACCOUNTS;
  const owner = { user: alice.user, context: alice.context };
  return [alice, aliceDemoSystem, { ...bob, owner }, { ...tina, owner }, { ...frontdesk, owner }];
}

function buildSeedDomains(now: number): DomainRecord[] {
  const scenarioDomains = SCENARIO_DOMAINS.map(([name, days, overrides]) =>
    buildDomainRecord({ name, context: 4, expires: now + days * DAY_MS, ...overrides?.(now) }, now),
  );
  const fillerDomains = FILLER_LABELS.split(' ').map((label, index) =>
    buildDomainRecord({ name: `${label}.rest`, context: 4, expires: now + (8 + index * 11) * DAY_MS }, now),
  );
  const demoDomains = ['cafe.rest', 'try.rest'].map((name, index) =>
    buildDomainRecord({ name, context: 1, expires: now + (40 + index * 90) * DAY_MS }, now),
  );
  const transferableDomain = buildDomainRecord(
    { ...SANDBOX_TRANSFERABLE_DOMAIN, context: 4, group: OTHER_GROUP, expires: now + 90 * DAY_MS },
    now,
  );
  return [...scenarioDomains, ...fillerDomains, ...demoDomains, transferableDomain];
}

function buildSeedRedirects(now: number): RedirectRecord[] {
  const commonFields = {
    context: 4,
    group: SEED_GROUP,
    created: now - 300 * DAY_MS,
    updated: now - 300 * DAY_MS,
  };
  return [
    {
      ...commonFields,
      source: 'www.cafe.rest',
      target: 'https://cafe.example/menu',
      type: 'domain',
      mode: 'http',
      domain: 'cafe.rest',
    },
    {
      ...commonFields,
      source: 'shop.cafe.rest',
      target: 'https://shop.example/',
      type: 'domain',
      mode: 'frame',
      title: 'Shop',
      backup: 'https://backup.example/',
      domain: 'cafe.rest',
    },
    {
      ...commonFields,
      source: 'hello@cafe.rest',
      target: 'alice@team.example',
      type: 'email',
      mode: 'single',
      domain: 'cafe.rest',
    },
  ];
}

function buildSeedSslContact(id: number, fname: string): SslContactRecord {
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

/** Indexes below 100 are in .rest, the others in .example. Every sixth preregistration belongs to the sub-user. */
function buildSeedPrereg(index: number, now: number): PreregRecord {
  const tld = index < 100 ? 'rest' : 'example';
  const created = now - (120 - index) * DAY_MS;
  return {
    id: 9001 + index,
    group: SEED_GROUP,
    name: `table-${String(index + 1).padStart(3, '0')}.${tld}`,
    created,
    updated: created + DAY_MS,
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
      confirmation_end: created + 30 * DAY_MS,
      period_start: created + 40 * DAY_MS,
      period_end: created + 70 * DAY_MS,
    },
  };
}
