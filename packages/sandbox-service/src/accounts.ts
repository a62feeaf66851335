/** Not secret, because the sandbox runs only on this machine and controls nothing real. */
export const SANDBOX_ACCOUNTS = {
  alice: { user: 'alice', context: 4, password: 'alice-sandbox-password' },
  /** The same person in the demo system. */
  aliceDemoSystem: { user: 'alice', context: 1, password: 'alice-sandbox-password' },
  bob: { user: 'bob', context: 4, password: 'bob-sandbox-password' },
  /** A two-factor user, for the XML interface only. `totpSecret` is in base32; tokens use the defaults of RFC 6238. */
  tina: {
    user: 'tina',
    context: 4,
    password: 'tina-sandbox-password',
    totpSecret: 'ONQW4ZDCN54C25DXN4WWMYLDORXXELJR',
  },
  /** A sub-user of alice, for tests of sub-users of a sub-user. */
  frontdesk: { user: 'frontdesk', context: 4, password: 'frontdesk-sandbox-password' },
  trustedApplication: {
    uuid: '5a1c7d52-6f0e-4c1b-9d53-0f3c2b7e9a41',
    application: 'steward-sandbox',
    password: 'application-sandbox-password',
  },
} as const;

/** A domain of another customer that can be transferred. */
export const SANDBOX_TRANSFERABLE_DOMAIN = { name: 'bistro.rest', authCode: 'sandbox-auth-code' } as const;

/** Contacts that all seeded accounts may use as owner, admin and tech contact. */
export const SANDBOX_CONTACTS = [1001, 1002, 1003, 1004] as const;

/** Nameservers of the seeded domains. */
export const SANDBOX_NAMESERVERS = ['ns1.dns.example', 'ns2.dns.example'] as const;
