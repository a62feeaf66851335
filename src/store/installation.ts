import { type Database, Prisma, withStoreError } from './database.ts';

/** The tables whose rows take their team from the installation: those of before every store knew its team. */
export const INSTALLATION_TABLES = [
  'orders',
  'domains',
  'reminders',
  'digests',
  'settings',
  'setting_changes',
  'calendar_feeds',
  'name_decisions',
] as const;

/** Which workspace the rows of this database belong to. */
export interface InstallationStore {
  /**
   * New rows belong to this workspace from now on, and so do those that belong to none. Those of another one stay its own.
   * May be repeated.
   */
  serve(teamId: string): Promise<void>;
}

/** The installation, in PostgreSQL. @throws {StoreError} when the database fails */
export function createInstallationStore({ run }: Pick<Database, 'run'>): InstallationStore {
  return {
    serve: (teamId) =>
      withStoreError('noting which workspace is served', async () => {
        await run(Prisma.sql`
          INSERT INTO installation (id, team_id) VALUES (1, ${teamId})
          ON CONFLICT (id) DO UPDATE SET team_id = excluded.team_id WHERE installation.team_id <> excluded.team_id`);
        for (const table of INSTALLATION_TABLES) {
          await run(Prisma.sql`UPDATE ${Prisma.raw(table)} SET team_id = ${teamId} WHERE team_id = ''`);
        }
      }),
  };
}
