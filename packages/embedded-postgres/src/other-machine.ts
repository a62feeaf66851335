import { readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedPostgresError, systemCode } from './error.ts';
import { isFresh } from './folder-lock.ts';
import type { Home } from './home.ts';
import { processSpace } from './processes.ts';

/**
 * Two servers on one data folder destroy it. PostgreSQL guards against that within one machine; a folder that
 * is mounted in two containers or machines is guarded by a file that the bots of the one in use keep fresh.
 * Afterwards the file names this process space. Call it with the home's lock held.
 *
 * @param waitMs how long another machine's file may stay fresh, in milliseconds: a container that was killed
 *   leaves one that ages
 * @throws {EmbeddedPostgresError} `in_use_elsewhere`
 */
export async function refuseOtherMachine(
  home: Pick<Home, 'folder' | 'spaceFile'>,
  waitMs = 15_000,
): Promise<void> {
  const mine = await processSpace();
  const deadline = Date.now() + waitMs;
  for (;;) {
    const recorded = await readFile(home.spaceFile, 'utf8').catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (recorded === undefined || recorded === mine || !(await isFresh(home.spaceFile))) break;
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        'in_use_elsewhere',
        `the embedded database in ${home.folder} is in use by another machine or container. Several of them need a PostgreSQL of their own: set DATABASE_URL for each`,
      );
    }
    await sleep(250);
  }
  // Made anew: root may have run the bot once in another user's folder, and left a file of its own.
  await rm(home.spaceFile, { force: true });
  await writeFile(home.spaceFile, mine, { mode: 0o644 });
}
