import { type Database, Prisma, storeOf } from './database.ts';

/** Which workspace the rows of this database belong to. */
export interface InstallationStore {
  /** New rows belong to this workspace from now on. Those of another one stay its own. May be repeated. */
  serve(teamId: string): Promise<void>;
}

/** The installation, in PostgreSQL. @throws {StoreError} when the database fails */
export function createInstallationStore({ run }: Database): InstallationStore {
  return storeOf('installation', {
    serve: async (teamId) => {
      await run(Prisma.sql`
        INSERT INTO installation (id, team_id) VALUES (1, ${teamId})
        ON CONFLICT (id) DO UPDATE SET team_id = excluded.team_id WHERE installation.team_id <> excluded.team_id`);
    },
  });
}
