import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { EmbeddedPostgresError, explainFileError, getSystemErrorCode } from './error.ts';
import type { Home } from './home.ts';

const MAX_LOG_BYTES = 10_000_000;

export function buildSpawnOptions(home: Home): {
  cwd: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
} {
  // The bot's other variables aren't passed on, because they may be secrets or PG* variables for another server.
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C' };
  for (const name of ['PATH', 'TZ', 'SystemRoot', 'TEMP', 'TMPDIR', 'LD_LIBRARY_PATH']) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return { cwd: home.folder, env, ...(home.runAs ?? {}) };
}

/** @returns the exit code and the last part of the output */
export async function runProgram(
  file: string,
  home: Home,
  args: readonly string[],
): Promise<{ exitCode: number | null; outputTail: string }> {
  const child = spawn(file, args, { ...buildSpawnOptions(home), stdio: ['ignore', 'pipe', 'pipe'] });
  let outputTail = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      outputTail = (outputTail + chunk).slice(-4_000);
    });
  }
  return { exitCode: await waitForExit(child), outputTail };
}

/** Resolves when the process has ended. Rejects if it couldn't be started. */
export function waitForExit(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      const reason =
        getSystemErrorCode(cause) === 'ENOENT'
          ? 'it needs glibc, which this system lacks (as Alpine does). Set DATABASE_URL'
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
      if (getSystemErrorCode(error) !== 'EACCES') throw error;
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
