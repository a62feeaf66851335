import { z } from 'zod';
import type { TeamAccountChange, TeamAccountStore } from '../accounts/account.ts';
import { accountOf, storedProfile } from './account-rows.ts';
import { changeLines, exclusiveChanges } from './changes.ts';
import { type Database, type Transaction, withStoreError } from './database.ts';

const changeKind = z.enum(['linked', 'unlinked']);

/** The team's account and who changed it, on PostgreSQL. */
export function createTeamAccountStore({ prisma }: Pick<Database, 'prisma'>): TeamAccountStore {
  /** One change at a time, so that the audit log has what was forgotten for another one. */
  const changesOf = (teamId: string) => exclusiveChanges(prisma, JSON.stringify(['team account', teamId]));

  const read = async (tx: Pick<Transaction, 'account'>, teamId: string) => {
    const row = await tx.account.findUnique({ where: { teamKey: teamId } });
    return row === null ? undefined : accountOf(row);
  };

  const log = (tx: Transaction, teamId: string, change: TeamAccountChange) =>
    tx.teamAccountChange.create({ data: { teamId, ...change } });

  return {
    find: (teamId) => withStoreError('reading the team’s account', () => read(prisma, teamId)),

    save: (account, sealed, at) =>
      changesOf(account.teamId)('saving the team’s account', async (tx) => {
        const { id, teamId, slot, method, login, application, linkedBy } = account;
        const data = {
          method,
          login,
          application,
          sealed: sealed.bytes,
          keyId: sealed.keyId,
          linkedBy,
          verifiedAt: account.verifiedAt ?? null,
          profile: storedProfile(account.profile),
          updatedAt: at,
        };
        const before = await read(tx, teamId);
        const linked = { kind: 'linked', login, application, by: linkedBy, at } as const;
        if (before?.login === login) {
          await tx.account.update({ where: { teamKey: teamId }, data });
          await log(tx, teamId, linked);
          return;
        }
        if (before !== undefined) {
          await tx.account.delete({ where: { teamKey: teamId } });
          const { login: formerLogin, application: formerName = '' } = before;
          await log(tx, teamId, {
            ...linked,
            kind: 'unlinked',
            login: formerLogin,
            application: formerName,
          });
        }
        await tx.account.create({ data: { id, teamId, teamKey: teamId, slot, createdAt: at, ...data } });
        await log(tx, teamId, linked);
      }),

    remove: (teamId, by, at) =>
      changesOf(teamId)('forgetting the team’s account', async (tx) => {
        const before = await read(tx, teamId);
        if (before === undefined) return undefined;
        await tx.account.delete({ where: { teamKey: teamId } });
        const { login, application = '' } = before;
        await log(tx, teamId, { kind: 'unlinked', login, application, by, at });
        return before;
      }),

    async *changes(teamId, from, to) {
      const lines = changeLines('reading who changed the team’s account', from, to, (where, page) =>
        prisma.teamAccountChange.findMany({ where: { teamId, ...where }, ...page }),
      );
      for await (const { kind, login, application, by, at } of lines) {
        yield { kind: changeKind.parse(kind), login, application, by, at };
      }
    },
  };
}
