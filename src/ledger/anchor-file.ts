import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../lib/log.ts';

const remembered = z.object({ n: z.int(), hash: z.string(), at: z.string() });
export type RememberedAnchor = Readonly<z.output<typeof remembered>>;

/** The newest anchor, kept beside the database: what tells a database that was put back. */
export interface AnchorMemory {
  /** Undefined when nothing is kept that can be read. */
  recall(): Promise<RememberedAnchor | undefined>;
  /** Never fails: without it, a database that was put back is told by others' anchors alone. */
  remember(anchor: RememberedAnchor): Promise<void>;
}

/** The newest anchor that a folder remembers of a team’s ledger. @returns undefined when nothing is kept that can be read */
export async function readAnchorFile(folder: string, teamId: string): Promise<RememberedAnchor | undefined> {
  try {
    return remembered.parse(JSON.parse(await readFile(fileIn(folder, teamId), 'utf8')));
  } catch {
    return undefined;
  }
}

function fileIn(folder: string, teamId: string): string {
  return join(folder, `ledger-anchor-${teamId.replace(/\W/g, '') || 'team'}.json`);
}

/** A file in a folder that outlives the process, at best. */
export function createAnchorFile(folder: string, teamId: string, log: Log): AnchorMemory {
  const file = fileIn(folder, teamId);
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
