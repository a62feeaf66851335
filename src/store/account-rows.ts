import { z } from 'zod';
import type { Account, AccountProfile, LinkMethod } from '../accounts/account.ts';
import { readProfile } from '../accounts/profile.ts';
import type { Sealed } from '../accounts/vault.ts';
import { Prisma } from './database.ts';

/*
 * Rows of linked accounts, of people and of the team.
 */

type Row = Prisma.AccountModel;

const linkMethod = z.enum({
  password: 'password',
  trusted_application: 'trusted_application',
  two_factor: 'two_factor',
} as const satisfies { readonly [Method in LinkMethod]: Method });

/** Reads an account from its row. */
export function accountOf(row: Row): Account {
  return {
    id: row.id,
    teamId: row.teamId,
    userId: row.userId ?? undefined,
    ...(row.linkedBy === null ? {} : { linkedBy: row.linkedBy }),
    method: linkMethod.parse(row.method),
    slot: row.slot,
    context: row.context ?? undefined,
    login: row.login,
    application: row.application ?? undefined,
    active: row.activeKey !== null,
    verifiedAt: row.verifiedAt ?? undefined,
    profile: row.profile === null ? undefined : readProfile(row.profile),
  };
}

/** A profile as its column holds it. */
export function storedProfile(profile: AccountProfile | undefined) {
  if (profile === undefined) return Prisma.DbNull;
  const { owner, ...rest } = profile;
  return { ...rest, owner: owner && { ...owner } };
}

/** The sealed credential of a row. */
export function sealedOf(row: Row): Sealed {
  return { bytes: row.sealed, keyId: row.keyId };
}
