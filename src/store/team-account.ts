import type { Account, TeamAccountStore } from '../accounts/account.ts';
import type { TeamEventOf } from '../ledger/events.ts';
import { toAccount, toStoredProfile } from './account-rows.ts';
import { createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

export function createTeamAccountStore({ prisma }: Database): TeamAccountStore {
  /** Runs one change at a time, so that the audit log names the account that was replaced. */
  const changeAccount = <T>(teamId: string, change: (tx: Transaction) => Promise<T>) =>
    createExclusiveRunner(prisma, JSON.stringify(['team account', teamId]))(change);

  const readAccount = async (tx: Transaction, teamId: string) => {
    const row = await tx.account.findUnique({ where: { teamKey: teamId } });
    return row === null ? undefined : toAccount(row);
  };

  const logChange = (
    tx: Transaction,
    kind: TeamEventOf<'team_account_linked'>['kind'],
    { teamId, login, application = '' }: Account,
    actor: string,
    at: Date,
  ) => writeEvents(tx, [{ kind, subject: { kind: 'account', id: login }, actor, at, application }], teamId);

  return wrapStore('teamAccount', {
    find: (teamId) => readAccount(prisma, teamId),

    save: (account, sealedCredentials, at) =>
      changeAccount(account.teamId, async (tx) => {
        const { id, teamId, slot, method, login, application, linkedBy } = account;
        const data = {
          method,
          login,
          application,
          sealed: sealedCredentials.bytes,
          keyId: sealedCredentials.keyId,
          linkedBy,
          verifiedAt: account.verifiedAt ?? null,
          profile: toStoredProfile(account.profile),
          updatedAt: at,
        };
        const previousAccount = await readAccount(tx, teamId);
        if (previousAccount?.login === login) {
          await tx.account.update({ where: { teamKey: teamId }, data });
          await logChange(tx, 'team_account_linked', account, linkedBy, at);
          return;
        }
        if (previousAccount !== undefined) {
          await tx.account.delete({ where: { teamKey: teamId } });
          await logChange(tx, 'team_account_unlinked', previousAccount, linkedBy, at);
        }
        await tx.account.create({ data: { id, teamId, teamKey: teamId, slot, createdAt: at, ...data } });
        await logChange(tx, 'team_account_linked', account, linkedBy, at);
      }),

    remove: (teamId, actor, at) =>
      changeAccount(teamId, async (tx) => {
        const previousAccount = await readAccount(tx, teamId);
        if (previousAccount === undefined) return undefined;
        await tx.account.delete({ where: { teamKey: teamId } });
        await logChange(tx, 'team_account_unlinked', previousAccount, actor, at);
        return previousAccount;
      }),
  });
}
