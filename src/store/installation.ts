import { type Database, Prisma, storeOf } from './database.ts';

/** The workspace of this database's rows. */
export interface InstallationStore {
  /** New rows belong to this workspace from now on. Rows of another workspace keep theirs. Idempotent. */
  serve(teamId: string): Promise<void>;
}

/** @throws {StoreError} when the database fails */
export function createInstallationStore({ run }: Database): InstallationStore {
  return storeOf('installation', {
    serve: async (teamId) => {
      await run(Prisma.sql`
        INSERT INTO installation (id, team_id) VALUES (1, ${teamId})
        ON CONFLICT (id) DO UPDATE SET team_id = excluded.team_id WHERE installation.team_id <> excluded.team_id`);
    },
  });
}
