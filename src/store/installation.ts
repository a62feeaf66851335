import { type Database, wrapStore } from './database.ts';

/** The workspace that this database's rows belong to. */
export interface InstallationStore {
  /** Assigns new rows to this workspace. Existing rows of other workspaces aren't changed. */
  assignWorkspace(teamId: string): Promise<void>;
}

export function createInstallationStore({ prisma }: Database): InstallationStore {
  return wrapStore('installation', {
    assignWorkspace: async (teamId) => {
      await prisma.installation.upsert({ where: { id: 1 }, create: { id: 1, teamId }, update: { teamId } });
    },
  });
}
