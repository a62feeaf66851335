import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../lib/log.ts';

const remembered = z.object({ n: z.int(), hash: z.string(), at: z.string() });
export type SavedAnchor = Readonly<z.output<typeof remembered>>;

/** Keeps the newest anchor outside of the database, to detect a restored database. */
export interface AnchorMemory {
  recall(): Promise<SavedAnchor | undefined>;
  /** Never fails: without it, only external anchors detect a restored database. */
  remember(anchor: SavedAnchor): Promise<void>;
}

/** @returns undefined when the file is missing or unreadable */
export async function readAnchorFile(folder: string, teamId: string): Promise<SavedAnchor | undefined> {
  try {
    return remembered.parse(JSON.parse(await readFile(anchorPath(folder, teamId), 'utf8')));
  } catch {
    return undefined;
  }
}

function anchorPath(folder: string, teamId: string): string {
  return join(folder, `ledger-anchor-${teamId.replace(/\W/g, '') || 'team'}.json`);
}

/** @param folder should outlive the process */
export function createAnchorFile(folder: string, teamId: string, log: Log): AnchorMemory {
  const file = anchorPath(folder, teamId);
  return {
    recall: () => readAnchorFile(folder, teamId),
    async remember(anchor) {
      try {
        await mkdir(folder, { recursive: true });
        await writeFile(`${file}.new`, JSON.stringify(anchor));
        await rename(`${file}.new`, file);
      } catch (err) {
        log.warn({ err }, 'saving the newest anchor in DATA_DIR');
      }
    },
  };
}
