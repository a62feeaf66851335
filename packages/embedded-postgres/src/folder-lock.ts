import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { EmbeddedPostgresError, systemCode } from './error.ts';
import { isAlive, ownIdentity, processSpace } from './processes.ts';

/** How often a file that says "in use" is touched, and how old its time may be for a reader who cannot see the process. */
const TOUCH_MS = 2_000;
const FRESH_MS = 10_000;

const RELEASED = 'released';

const Holder = z.object({
  pid: z.int(),
  startedAt: z.string().nullable(),
  space: z.string(),
});

/**
 * Takes the folder's lock: one process at a time prepares, starts or stops the server in it.
 *
 * The lock is the file `lock.<n>` with the highest n. A holder who died is succeeded by creating n + 1, which
 * only one process can; so nobody ever removes a lock that somebody else has just taken.
 *
 * @param waitMs how long to wait for another holder, in milliseconds
 * @returns what gives the lock back
 * @throws {EmbeddedPostgresError} `locked` when another process holds it for longer than that
 */
export async function lockFolder(folder: string, waitMs: number): Promise<() => Promise<void>> {
  const me = JSON.stringify({ ...(await ownIdentity()), space: await processSpace() });
  const deadline = Date.now() + waitMs;
  for (;;) {
    const current = await highestLock(folder);
    if (current === 0 || !(await isHeld(join(folder, `lock.${current}`)))) {
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
        // Created after the lock had gone through other hands: theirs counts.
        await rm(mine, { force: true });
      }
      continue;
    }
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        'locked',
        `preparing the embedded PostgreSQL: another process has been starting or stopping it for ${Math.round(waitMs / 1000)} s (see ${join(folder, `lock.${current}`)})`,
      );
    }
    await sleep(20);
  }
}

/** Touches a file every two seconds until told to stop, so that others can tell it is in use. */
export function keepFresh(file: string): () => void {
  const timer = setInterval(() => {
    const now = new Date();
    // A touch that is missed is made up for by the next one.
    utimes(file, now, now).catch(() => undefined);
  }, TOUCH_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Whether somebody has touched the file lately; false when it is not there. */
export async function isFresh(file: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(file)).mtimeMs < FRESH_MS;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

async function isHeld(file: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return true; // succeeded by a higher number: look again
    throw error;
  }
  if (text === RELEASED) return false;
  const holder = Holder.safeParse(parseJson(text));
  // Empty: about to be written by who has just created it, unless that process died in between.
  if (!holder.success) return isFresh(file);
  return holder.data.space === (await processSpace()) ? isAlive(holder.data) : isFresh(file);
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
    // For all to read: root may have run the bot once in another user's folder.
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
