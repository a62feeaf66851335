import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createInUseError, systemCode } from './error.ts';
import { isAlive, ownIdentity, processSpace } from './processes.ts';

const TOUCH_INTERVAL_MS = 2_000;
/** A lock that was touched this recently is in use, even if the process that holds it can't be seen from here. */
const MAX_TOUCH_AGE_MS = 10_000;
/** How long to wait for another machine or container to stop touching its lock. */
const EXPIRY_WAIT_MS = 15_000;

const RELEASED = 'released';

const holderSchema = z.object({
  pid: z.int(),
  startedAt: z.string().nullable(),
  space: z.string(),
});

/**
 * Takes the lock of a folder, to be held while its server is in use. Two servers on the same data folder destroy it.
 * PostgreSQL prevents that on a single machine. If the folder is mounted in two containers or machines, the
 * modification time of the lock prevents it, because the holder keeps updating it.
 *
 * The lock is the file `lock.<n>` with the highest n. A process takes over from a dead holder by creating n + 1, which
 * only one process can do. So no process ever removes a lock that another one has just taken.
 * @param waitMs how long to wait for a holder that can't be seen from here, in milliseconds
 * @returns a function that releases the lock
 * @throws {EmbeddedPostgresError} `in_use`
 */
export async function lockFolder(folder: string, waitMs = EXPIRY_WAIT_MS): Promise<() => Promise<void>> {
  const ownHolder = JSON.stringify({ ...(await ownIdentity()), space: await processSpace() });
  const deadline = Date.now() + waitMs;
  for (;;) {
    const current = await findHighestLock(folder);
    const holder = current === 0 ? NOBODY : await readHolder(join(folder, `lock.${current}`));
    if (holder === NOBODY) {
      const ownFile = join(folder, `lock.${current + 1}`);
      if (await createFile(ownFile, ownHolder)) {
        if ((await findHighestLock(folder)) === current + 1) {
          await removeLocksBelow(folder, current + 1);
          const stopTouching = keepTouching(ownFile);
          return async () => {
            stopTouching();
            await writeFile(ownFile, RELEASED);
          };
        }
        // The lock has had other holders since then, so this file is outdated.
        await rm(ownFile, { force: true });
      }
      continue;
    }
    if (holder.pid !== undefined) throw createInUseError(folder, `process ${holder.pid}`);
    if (Date.now() > deadline) throw createInUseError(folder, 'another machine or container');
    await sleep(20);
  }
}

/** Touches a file until stopped, so that other processes see that it is in use. */
function keepTouching(file: string): () => void {
  const timer = setInterval(() => {
    const now = new Date();
    // It doesn't matter if an update fails, because the next one follows.
    utimes(file, now, now).catch(() => undefined);
  }, TOUCH_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Without `pid`, the holder is a process that can't be seen from here. */
type CurrentHolder = typeof NOBODY | { readonly pid: number | undefined };
const NOBODY = 'nobody';
const UNKNOWN_HOLDER: CurrentHolder = { pid: undefined };

async function readHolder(file: string): Promise<CurrentHolder> {
  let text: string;
  let touchedAt: number;
  try {
    text = await readFile(file, 'utf8');
    touchedAt = (await stat(file)).mtimeMs;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return UNKNOWN_HOLDER; // replaced by a lock with a higher number
    throw error;
  }
  if (text === RELEASED) return NOBODY;
  const holder = holderSchema.safeParse(parseJson(text));
  if (holder.success && holder.data.space === (await processSpace())) {
    return (await isAlive(holder.data)) ? { pid: holder.data.pid } : NOBODY;
  }
  // The file belongs to another machine, or it is empty: its creator is about to write it, or died before writing it.
  return Date.now() - touchedAt < MAX_TOUCH_AGE_MS ? UNKNOWN_HOLDER : NOBODY;
}

async function findHighestLock(folder: string): Promise<number> {
  return Math.max(0, ...(await listLockNumbers(folder)));
}

async function removeLocksBelow(folder: string, number: number): Promise<void> {
  for (const n of await listLockNumbers(folder)) {
    if (n < number) await rm(join(folder, `lock.${n}`), { force: true });
  }
}

async function listLockNumbers(folder: string): Promise<number[]> {
  const numbers: number[] = [];
  for (const name of await readdir(folder)) {
    const digits = /^lock\.(\d+)$/.exec(name)?.[1];
    if (digits !== undefined) numbers.push(Number(digits));
  }
  return numbers;
}

async function createFile(file: string, text: string): Promise<boolean> {
  try {
    // Readable for everyone, because root may have run the bot once in another user's folder.
    await writeFile(file, text, { flag: 'wx', mode: 0o644 });
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
