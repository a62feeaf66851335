import { z } from 'zod';
import type { Account, LinkMethod } from '../accounts/account.ts';
import { type AccountProfile, readProfile } from '../accounts/profile.ts';
import { sealedBytes } from './columns.ts';
import { named, Prisma, type Statement } from './database.ts';

/*
 * Rows of linked accounts, of people and of the team. Every order reads accounts several times, so these statements are
 * SQL.
 */

const accountRow = z.object({
  id: z.string(),
  teamId: z.string(),
  userId: z.string().nullable(),
  linkedBy: z.string().nullable(),
  method: z.string(),
  slot: z.string(),
  context: z.number().nullable(),
  login: z.string(),
  application: z.string().nullable(),
  activeKey: z.string().nullable(),
  verifiedAt: z.date().nullable(),
  profile: z.unknown(),
});
type Row = z.infer<typeof accountRow>;
/** What {@link selectAccountsOf} answers with. */
export const accountRows = z.array(accountRow);
/** Accounts with their sealed credentials; also what {@link selectSealedAccount} answers with. */
export const sealedAccountRows = z.array(
  accountRow
    .extend({ sealed: sealedBytes, keyId: z.string() })
    .transform((row) => ({ account: accountOf(row), sealed: { bytes: row.sealed, keyId: row.keyId } })),
);

const COLUMNS = Prisma.sql`id, team_id AS "teamId", user_id AS "userId", linked_by AS "linkedBy", method, slot, context,
  login, application, active_key AS "activeKey", verified_at AS "verifiedAt", profile`;

/** A person's accounts, in the order of the context numbers; the application comes last. */
export function selectAccountsOf(teamId: string, userId: string): Statement {
  return named(
    'accounts of a person',
    Prisma.sql`
    SELECT ${COLUMNS} FROM accounts WHERE team_id = ${teamId} AND user_id = ${userId} ORDER BY context NULLS LAST`,
  );
}

/** An account with its sealed credential. */
export function selectSealedAccount(id: string): Statement {
  return named(
    'account by id',
    Prisma.sql`SELECT ${COLUMNS}, sealed, key_id AS "keyId" FROM accounts WHERE id = ${id}`,
  );
}

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
  return profile ?? Prisma.DbNull;
}
