import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { EmbeddedPostgresError, explainFileError, systemCode } from './error.ts';
import type { Home } from './home.ts';

const MAX_LOG_BYTES = 10_000_000;

export function spawnOptions(home: Home): {
  cwd: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
} {
  // The bot's own environment isn't passed on, because it has secrets and may have PG* variables for another server.
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C' };
  for (const name of ['PATH', 'TZ', 'SystemRoot', 'TEMP', 'TMPDIR', 'LD_LIBRARY_PATH']) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return { cwd: home.folder, env, ...(home.runAs ?? {}) };
}

/** Runs a program until it ends. `text` is the last part of its output. */
export async function runProgram(
  file: string,
  home: Home,
  args: readonly string[],
): Promise<{ code: number | null; text: string }> {
  const child = spawn(file, args, { ...spawnOptions(home), stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-4_000);
    });
  }
  return { code: await waitForExit(child), text };
}

/** Resolves when the process has ended. Rejects if it couldn't be started. */
export function waitForExit(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      const reason =
        systemCode(cause) === 'ENOENT'
          ? 'it needs glibc, which this system lacks (for example, if it is Alpine). Set DATABASE_URL'
          : cause.message;
      reject(new EmbeddedPostgresError('start_failed', `running ${child.spawnfile}: ${reason}`, { cause }));
    });
    child.once('close', resolve);
  });
}

/** Opens the server's log to append to it. If the log is too long, starts a new one. */
export async function openLog(home: Home): Promise<{ handle: FileHandle; size: number }> {
  const openForAppending = () => open(home.logFile, 'a', 0o600);
  try {
    let handle = await openForAppending().catch((error: unknown) => {
      if (systemCode(error) !== 'EACCES') throw error;
      return undefined; // root ran the bot in another user's folder and left its log
    });
    if (handle === undefined || (await handle.stat()).size > MAX_LOG_BYTES) {
      await handle?.close();
      await rename(home.logFile, `${home.logFile}.1`);
      handle = await openForAppending();
    }
    return { handle, size: (await handle.stat()).size };
  } catch (error) {
    throw explainFileError(`opening ${home.logFile}`, error);
  }
}

/** Reads the last lines that were logged since the file had `previousSize` bytes. */
export async function readLogSince(file: string, previousSize: number): Promise<string> {
  const text = (await readFile(file)).subarray(previousSize).toString('utf8');
  return text.trim().split('\n').slice(-15).join('\n');
}
