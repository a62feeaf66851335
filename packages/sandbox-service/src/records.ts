import { SANDBOX_NAMESERVERS } from './accounts.ts';
import { DAY_MS } from './clock.ts';
import type { DomainRecord, UserRecord } from './model.ts';

export const SEED_GROUP = 'steward';

export type DomainSeed = Pick<DomainRecord, 'name' | 'context'> & Partial<DomainRecord>;
export type UserSeed = Pick<UserRecord, 'user' | 'context' | 'password'> & Partial<UserRecord>;

/** By default, the user belongs to the seeded group and isn't a sub-user. */
export function buildUserRecord(seed: UserSeed): UserRecord {
  return {
    group: SEED_GROUP,
    defaultEmail: `${seed.user}@team.example`,
    status: 1,
    substatus: 0,
    language: 'en',
    owner: { user: seed.user, context: seed.context },
    ...seed,
  };
}

/** By default, the domain belongs to the seeded group, was registered 400 days ago and expires in a year. */
export function buildDomainRecord(seed: DomainSeed, now: number): DomainRecord {
  const created = seed.created ?? now - 400 * DAY_MS;
  return {
    group: SEED_GROUP,
    created,
    updated: created,
    expires: now + 365 * DAY_MS,
    ownerc: 1001,
    adminc: 1002,
    techc: 1003,
    nameServers: [...SANDBOX_NAMESERVERS],
    authCode: `auth-of-${seed.name}`,
    ...seed,
  };
}
