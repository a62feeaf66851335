import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createInUseError, systemCode } from './error.ts';
import { isAlive, ownIdentity, processSpace } from './processes.ts';

/** How often the lock is touched, and how old it may be if the process that holds it can't be seen. */
const TOUCH_MS = 2_000;
const FRESH_MS = 10_000;
/** How long to watch the lock of another machine. The lock of a killed container is no longer touched. */
const AGING_MS = 15_000;

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
 * @param agingMs how long to wait for a holder that can't be seen, in milliseconds
 * @returns a function that releases the lock
 * @throws {EmbeddedPostgresError} `in_use`
 */
export async function lockFolder(folder: string, agingMs = AGING_MS): Promise<() => Promise<void>> {
  const me = JSON.stringify({ ...(await ownIdentity()), space: await processSpace() });
  const deadline = Date.now() + agingMs;
  for (;;) {
    const current = await highestLock(folder);
    const holder = current === 0 ? NOBODY : await secretOwner(join(folder, `lock.${current}`));
    if (holder === NOBODY) {
      const mine = join(folder, `lock.${current + 1}`);
      if (await createNew(mine, me)) {
        if ((await highestLock(folder)) === current + 1) {
          await removeLocksBelow(folder, current + 1);
          const stopTouching = keepFresh(mine);
          return async () => {
            stopTouching();
            await writeFile(mine, RELEASED);
          };
        }
        // The lock has had other holders since then, so this file is outdated.
        await rm(mine, { force: true });
      }
      continue;
    }
    if (holder.pid !== undefined) throw createInUseError(folder, `process ${holder.pid}`);
    if (Date.now() > deadline) throw createInUseError(folder, 'another machine or container');
    await sleep(20);
  }
}

/** Touches a file every two seconds until stopped, so that other processes see that it is in use. */
function keepFresh(file: string): () => void {
  const timer = setInterval(() => {
    const now = new Date();
    // It doesn't matter if an update fails, because the next one follows.
    utimes(file, now, now).catch(() => undefined);
  }, TOUCH_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * The holder of a lock: nobody, a process on this machine, or (without `pid`) a process that can't be seen from here.
 */
type CurrentHolder = typeof NOBODY | { readonly pid: number | undefined };
const NOBODY = 'nobody';
const UNKNOWN_HOLDER: CurrentHolder = { pid: undefined };

async function secretOwner(file: string): Promise<CurrentHolder> {
  let text: string;
  let touchedAt: number;
  try {
    text = await readFile(file, 'utf8');
    touchedAt = (await stat(file)).mtimeMs;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return UNKNOWN_HOLDER; // there is a higher number now: check again
    throw error;
  }
  if (text === RELEASED) return NOBODY;
  const holder = holderSchema.safeParse(parseJson(text));
  if (holder.success && holder.data.space === (await processSpace())) {
    return (await isAlive(holder.data)) ? { pid: holder.data.pid } : NOBODY;
  }
  // The file belongs to another machine, or it is empty: its creator is about to write it, or died before writing it.
  return Date.now() - touchedAt < FRESH_MS ? UNKNOWN_HOLDER : NOBODY;
}

async function highestLock(folder: string): Promise<number> {
  return Math.max(0, ...(await lockNumbers(folder)));
}

async function removeLocksBelow(folder: string, number: number): Promise<void> {
  for (const n of await lockNumbers(folder)) {
    if (n < number) await rm(join(folder, `lock.${n}`), { force: true });
  }
}

async function lockNumbers(folder: string): Promise<number[]> {
  const numbers: number[] = [];
  for (const name of await readdir(folder)) {
    const digits = /^lock\.(\d+)$/.exec(name)?.[1];
    if (digits !== undefined) numbers.push(Number(digits));
  }
  return numbers;
}

async function createNew(file: string, text: string): Promise<boolean> {
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
