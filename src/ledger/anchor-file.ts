import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../lib/log.ts';

const savedAnchorSchema = z.object({ n: z.int(), hash: z.string(), at: z.string() });
export type SavedAnchor = Readonly<z.output<typeof savedAnchorSchema>>;

/** Keeps the newest anchor outside the database, so that a restored database is detected. */
export interface AnchorFile {
  load(): Promise<SavedAnchor | undefined>;
  /** Logs a failure instead of throwing, because the ledger works without the file. */
  save(anchor: SavedAnchor): Promise<void>;
}

/** @returns undefined if the file is missing or invalid */
export async function readAnchorFile(folder: string, teamId: string): Promise<SavedAnchor | undefined> {
  try {
    return savedAnchorSchema.parse(JSON.parse(await readFile(buildAnchorPath(folder, teamId), 'utf8')));
  } catch {
    return undefined;
  }
}

function buildAnchorPath(folder: string, teamId: string): string {
  return join(folder, `ledger-anchor-${teamId.replace(/\W/g, '') || 'team'}.json`);
}

/** @param folder must persist across restarts */
export function createAnchorFile(folder: string, teamId: string, log: Log): AnchorFile {
  const path = buildAnchorPath(folder, teamId);
  return {
    load: () => readAnchorFile(folder, teamId),
    async save(anchor) {
      try {
        await mkdir(folder, { recursive: true });
        await writeFile(`${path}.new`, JSON.stringify(anchor));
        await rename(`${path}.new`, path);
      } catch (err) {
        log.warn({ err }, 'saving the newest anchor in DATA_DIR failed');
      }
    },
  };
}
