import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createInUseError, getSystemErrorCode } from './error.ts';
import { identifyPidSpace, isAlive, readOwnIdentity } from './processes.ts';

const TOUCH_INTERVAL_MS = 2_000;
/** A lock that was touched this recently is in use, even if its holder isn't a process of this system. */
const MAX_TOUCH_AGE_MS = 10_000;
/** How long to wait for another machine or container to stop touching its lock. */
const EXPIRY_WAIT_MS = 15_000;

const RELEASED_MARKER = 'released';

const holderSchema = z.object({
  pid: z.int(),
  startedAt: z.string().nullable(),
  space: z.string(),
});

/**
 * Locks a folder while its server is in use, because two servers would destroy its data. On a single machine,
 * PostgreSQL itself prevents a second server. If the folder is mounted in several containers or machines, the lock's
 * modification time shows that it is held, because the holder keeps updating the time.
 *
 * The lock is the file `lock.<n>` with the highest n. A process takes over from a dead holder by creating
 * `lock.<n + 1>`, which only one process can do. So no process ever removes a lock that another one has just taken.
 * @param waitMs how long to wait for a holder that isn't a process of this system, in milliseconds
 * @returns a function that releases the lock
 * @throws {EmbeddedPostgresError} `in_use`
 */
export async function lockFolder(folder: string, waitMs = EXPIRY_WAIT_MS): Promise<() => Promise<void>> {
  const ownHolderJson = JSON.stringify({ ...(await readOwnIdentity()), space: await identifyPidSpace() });
  const deadline = Date.now() + waitMs;
  for (;;) {
    const highestNumber = await findHighestLock(folder);
    const holder = highestNumber === 0 ? NO_HOLDER : await readHolder(join(folder, `lock.${highestNumber}`));
    if (holder === NO_HOLDER) {
      const ownFile = join(folder, `lock.${highestNumber + 1}`);
      if (await tryToCreateFile(ownFile, ownHolderJson)) {
        if ((await findHighestLock(folder)) === highestNumber + 1) {
          await removeLocksBelow(folder, highestNumber + 1);
          const stopTouching = startTouching(ownFile);
          return async () => {
            stopTouching();
            await writeFile(ownFile, RELEASED_MARKER);
          };
        }
        // Other processes have held the lock in the meantime, so this file is outdated.
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
function startTouching(file: string): () => void {
  const timer = setInterval(() => {
    const now = new Date();
    // It doesn't matter if an update fails, because the next one follows.
    utimes(file, now, now).catch(() => undefined);
  }, TOUCH_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** `pid` is undefined if the holder can't be identified, for example because it runs on another machine. */
type CurrentHolder = typeof NO_HOLDER | { readonly pid: number | undefined };
const NO_HOLDER = 'nobody';
const UNKNOWN_HOLDER: CurrentHolder = { pid: undefined };

async function readHolder(file: string): Promise<CurrentHolder> {
  let text: string;
  let touchedAt: number;
  try {
    text = await readFile(file, 'utf8');
    touchedAt = (await stat(file)).mtimeMs;
  } catch (error) {
    if (getSystemErrorCode(error) === 'ENOENT') return UNKNOWN_HOLDER; // replaced by a lock with a higher number
    throw error;
  }
  if (text === RELEASED_MARKER) return NO_HOLDER;
  const holder = holderSchema.safeParse(tryToParseJson(text));
  if (holder.success && holder.data.space === (await identifyPidSpace())) {
    return (await isAlive(holder.data)) ? { pid: holder.data.pid } : NO_HOLDER;
  }
  // The file belongs to another machine, or is empty because its creator is about to write it or died before that.
  return Date.now() - touchedAt < MAX_TOUCH_AGE_MS ? UNKNOWN_HOLDER : NO_HOLDER;
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

async function tryToCreateFile(file: string, text: string): Promise<boolean> {
  try {
    // Readable by everyone, because root may have run the bot once in another user's folder.
    await writeFile(file, text, { flag: 'wx', mode: 0o644 });
    return true;
  } catch (error) {
    if (getSystemErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function tryToParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
