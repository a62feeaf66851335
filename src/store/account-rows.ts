import { z } from 'zod';
import type { Account, LinkMethod } from '../accounts/account.ts';
import { type AccountProfile, parseProfile } from '../accounts/profile.ts';
import { Prisma } from './database.ts';

type AccountRow = Prisma.AccountGetPayload<Record<string, never>>;

const linkMethodSchema = z.enum({
  password: 'password',
  trusted_application: 'trusted_application',
  two_factor: 'two_factor',
} as const satisfies { readonly [Method in LinkMethod]: Method });

export function toAccount(row: Omit<AccountRow, 'sealed' | 'keyId' | 'createdAt' | 'updatedAt'>): Account {
  return {
    id: row.id,
    teamId: row.teamId,
    userId: row.userId ?? undefined,
    ...(row.linkedBy === null ? {} : { linkedBy: row.linkedBy }),
    method: linkMethodSchema.parse(row.method),
    slot: row.slot,
    context: row.context ?? undefined,
    login: row.login,
    application: row.application ?? undefined,
    isActive: row.activeKey !== null,
    verifiedAt: row.verifiedAt ?? undefined,
    profile: row.profile === null ? undefined : parseProfile(row.profile),
  };
}

export function toSealedAccount(row: AccountRow) {
  return { account: toAccount(row), sealed: { bytes: row.sealed, keyId: row.keyId } };
}

export function toStoredProfile(profile: AccountProfile | undefined) {
  return profile ?? Prisma.DbNull;
}
