/**
 * The accounts of a new sandbox. They aren't secret: they give access to a service that runs on one machine and owns
 * nothing.
 */
export const SANDBOX_ACCOUNTS = {
  alice: { user: 'alice', context: 4, password: 'alice-sandbox-password' },
  /** The same person in the demo system. */
  aliceDemoSystem: { user: 'alice', context: 1, password: 'alice-sandbox-password' },
  bob: { user: 'bob', context: 4, password: 'bob-sandbox-password' },
  /** Two-factor: XML interface only, with a token made from `totpSecret` (base32, RFC 6238 defaults). */
  tina: {
    user: 'tina',
    context: 4,
    password: 'tina-sandbox-password',
    totpSecret: 'ONQW4ZDCN54C25DXN4WWMYLDORXXELJR',
  },
  /** A sub-user of alice, for tests with sub-users of a sub-user. */
  frontdesk: { user: 'frontdesk', context: 4, password: 'frontdesk-sandbox-password' },
  trustedApplication: {
    uuid: '5a1c7d52-6f0e-4c1b-9d53-0f3c2b7e9a41',
    application: 'steward-sandbox',
    password: 'application-sandbox-password',
  },
} as const;

/** Another customer's domain, for trying a transfer. */
export const SANDBOX_TRANSFER = { name: 'bistro.rest', authCode: 'sandbox-auth-code' } as const;

/** Contacts that every seeded account may use as owner, admin and tech. */
export const SANDBOX_CONTACTS = [1001, 1002, 1003, 1004] as const;

/** Nameservers of the seeded domains. */
export const SANDBOX_NAMESERVERS = ['ns1.dns.example', 'ns2.dns.example'] as const;
