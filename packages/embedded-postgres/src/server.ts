import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Binaries, makeRunnable, programPath } from './binaries.ts';
import { EmbeddedPostgresError, explainFileError, explainOutput, systemCode } from './error.ts';
import { type Home, readDataVersion } from './home.ts';
import { checkServesFolder } from './processes.ts';
import { openLog, readLogSince, runProgram, spawnOptions, waitForExit } from './programs.ts';

export interface Server {
  readonly pid: number;
  readonly port: number;
  /** Includes the password. */
  readonly url: string;
}

/** How long a server may take to become ready. Crash recovery replays everything since the last checkpoint. */
const READY_TIMEOUT_MS = 120_000;
/** How long to wait for a process that may not be the server, before the operator must check it. */
const UNIDENTIFIED_TIMEOUT_MS = 10_000;
const POLL_MS = 10;

/**
 * Memory and connections are kept small, because only one team's bot uses the server. The durability settings are
 * PostgreSQL's defaults. They are listed because orders depend on them.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '16MB',
  max_connections: '40',
  // With few cores, PostgreSQL 18's separate I/O processes cost more than they save.
  io_method: 'sync',
  fsync: 'on',
  synchronous_commit: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Statements and their values must not be logged.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

/**
 * Creates the data folder if it doesn't exist. Starts the server in it, or attaches to the one that is running. The
 * caller must hold the folder's lock.
 * @param options.port the only port to use; default: any free port
 * @param options.settings server settings that override the defaults
 * @throws {EmbeddedPostgresError}
 */
export async function ensureRunning(
  home: Home,
  binaries: Binaries,
  options: { port?: number | undefined; settings?: Readonly<Record<string, string>> | undefined },
): Promise<{ server: Server; wasRunning: boolean }> {
  const existingVersion = await readDataVersion(home);
  if (existingVersion !== undefined && existingVersion !== binaries.major)
    throw createVersionMismatchError(home, existingVersion, binaries.major);
  if (existingVersion !== undefined) await readPassword(home);
  const running = existingVersion === undefined ? undefined : await attach(home);
  if (running !== undefined) return { server: running, wasRunning: true };

  const runnable = await makeRunnable(binaries, home);
  if (existingVersion === undefined) await initialize(home, runnable, options.settings?.['fsync'] === 'off');
  return { server: await start(home, runnable, options), wasRunning: false };
}

/**
 * Performs a fast shutdown, as with `SIGINT`: the server accepts no more work, rolls back open transactions, writes a
 * checkpoint and exits.
 * @param waitMs how long to wait for it to exit, in milliseconds
 * @returns false if it is still stopping after that time; the next start waits for it
 */
export async function stopServer(
  home: Home,
  binaries: Binaries,
  server: Server,
  waitMs: number,
): Promise<boolean> {
  if (process.platform === 'win32') {
    // Windows has no signals, so `pg_ctl` is used.
    spawn(programPath(binaries, 'pg_ctl'), ['stop', '-m', 'fast', '-D', home.data], { stdio: 'ignore' });
  } else {
    try {
      process.kill(server.pid, 'SIGINT');
    } catch (error) {
      if (systemCode(error) !== 'ESRCH') throw error;
      return true;
    }
  }
  const deadline = Date.now() + waitMs;
  // The server removes this file last.
  while ((await readPidFile(home)) !== undefined) {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** The URL of this folder's server. Undefined if none accepts connections on this machine. */
export async function findRunningServerUrl(home: Home): Promise<string | undefined> {
  const file = await readPidFile(home);
  if (file?.status !== 'ready' || file.port === undefined) return undefined;
  if ((await checkServesFolder(file.pid, home.data)) === 'no') return undefined;
  const url = await serverUrl(home, file.port);
  return (await isResponding(url, home)) ? url : undefined;
}

async function attach(home: Home): Promise<Server | undefined> {
  const startedAt = Date.now();
  for (;;) {
    const file = await readPidFile(home);
    if (file === undefined) return undefined;
    const servesFolder = await checkServesFolder(file.pid, home.data);
    if (servesFolder === 'no') {
      await removePidFileOfReusedPid(home, file.pid);
      return undefined;
    }
    if (file.status === 'ready' && file.port !== undefined) {
      const url = await serverUrl(home, file.port);
      if (await isResponding(url, home)) return { pid: file.pid, port: file.port, url };
    }
    const waitedMs = Date.now() - startedAt;
    if (servesFolder === 'unknown' && waitedMs > UNIDENTIFIED_TIMEOUT_MS) {
      throw new EmbeddedPostgresError(
        'start_failed',
        `attaching to the embedded PostgreSQL: process ${file.pid} may be the server of ${home.data}, but it does not respond. If it is another program, remove ${join(home.data, 'postmaster.pid')} and start the bot again`,
      );
    }
    if (waitedMs > READY_TIMEOUT_MS) {
      throw new EmbeddedPostgresError(
        'start_failed',
        `attaching to the embedded PostgreSQL: the server (process ${file.pid}) does not respond. Stop it and start the bot again. Its log is ${home.logFile}`,
      );
    }
    await sleep(POLL_MS);
  }
}

/**
 * Removes the PID file if another process has the pid now. If the process is gone, PostgreSQL removes the file itself,
 * after checking for child processes that are still running.
 */
async function removePidFileOfReusedPid(home: Home, pid: number): Promise<void> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return;
  }
  await rm(join(home.data, 'postmaster.pid'), { force: true });
}

async function initialize(home: Home, binaries: Binaries, skipSync: boolean): Promise<void> {
  const activity = `creating the embedded PostgreSQL's data in ${home.data}`;
  // Created under a temporary name and renamed when complete, so that an interrupted start leaves nothing that looks
  // like data.
  const partialDataDir = join(home.folder, 'data.partial');
  const passwordForInit = join(home.folder, 'password.partial');
  const password = randomBytes(24).toString('base64url');
  try {
    await rm(partialDataDir, { recursive: true, force: true });
    await mkdir(partialDataDir, { mode: 0o700 });
    await rm(passwordForInit, { force: true });
    await writeFile(passwordForInit, password, { mode: 0o600 });
    if (home.runAs !== undefined) {
      for (const path of [partialDataDir, passwordForInit]) await chown(path, home.runAs.uid, home.runAs.gid);
    }
    await writeFile(home.passwordFile, password, { mode: 0o600 });
    const output = await runProgram(programPath(binaries, 'initdb'), home, [
      `--pgdata=${partialDataDir}`,
      '--username=postgres',
      `--pwfile=${passwordForInit}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The locale must not depend on the machine's.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(skipSync ? ['--no-sync'] : []),
    ]);
    if (output.code !== 0) throw explainOutput(activity, output.text, home.logFile);
    await rename(partialDataDir, home.data);
  } catch (error) {
    throw explainFileError(activity, error);
  } finally {
    await rm(passwordForInit, { force: true });
  }
}

async function start(
  home: Home,
  binaries: Binaries,
  options: { port?: number | undefined; settings?: Readonly<Record<string, string>> | undefined },
): Promise<Server> {
  const activity = 'starting the embedded PostgreSQL';
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (let portConflicts = 0; ; ) {
    const port = options.port ?? (await findFreePort());
    const attempt = await launch(home, binaries, port, options.settings ?? {}, deadline);
    if ('server' in attempt) return attempt.server;

    if (/could not bind|Address already in use/i.test(attempt.output)) {
      portConflicts += 1;
      if (options.port === undefined && portConflicts < 5) continue;
      throw new EmbeddedPostgresError('port_taken', `${activity}: port ${port} on 127.0.0.1 is taken`);
    }
    // A killed server's child processes exit shortly after. Until then, no new server may use the data.
    if (
      /pre-existing shared memory block/i.test(attempt.output) &&
      Date.now() < deadline - READY_TIMEOUT_MS + 10_000
    ) {
      await sleep(100);
      continue;
    }
    throw explainOutput(activity, attempt.output, home.logFile);
  }
}

async function launch(
  home: Home,
  binaries: Binaries,
  port: number,
  settings: Readonly<Record<string, string>>,
  deadline: number,
): Promise<{ server: Server } | { output: string }> {
  const args = ['-D', home.data, '-p', String(port)];
  for (const [name, value] of Object.entries({ ...SETTINGS, ...settings }))
    args.push('-c', `${name}=${value}`);

  const log = await openLog(home);
  const child = spawn(programPath(binaries, 'postgres'), args, {
    ...spawnOptions(home),
    // Has its own session, so that Ctrl-C in the bot's terminal or the end of the bot doesn't stop it.
    detached: true,
    stdio: ['ignore', log.handle.fd, log.handle.fd],
  });
  const ended = waitForExit(child);
  child.unref();
  let hasEnded = false;
  const recordEnd = () => {
    hasEnded = true;
  };
  ended.then(recordEnd, recordEnd);
  await log.handle.close();

  try {
    while (!hasEnded) {
      const file = await readPidFile(home);
      if (file !== undefined && file.pid === child.pid && file.status === 'ready') {
        const url = await serverUrl(home, port);
        if (await isResponding(url, home)) return { server: { pid: file.pid, port, url } };
      }
      if (Date.now() > deadline) {
        throw new EmbeddedPostgresError(
          'start_failed',
          `starting the embedded PostgreSQL: not ready after ${READY_TIMEOUT_MS / 1000} s. Its log is ${home.logFile}`,
        );
      }
      await sleep(POLL_MS);
    }
  } catch (error) {
    child.kill('SIGINT');
    throw error;
  }
  await ended;
  return { output: await readLogSince(home.logFile, log.size) };
}

async function serverUrl(home: Home, port: number): Promise<string> {
  return `postgresql://postgres:${await readPassword(home)}@127.0.0.1:${port}/postgres`;
}

async function readPassword(home: Home): Promise<string> {
  try {
    return (await readFile(home.passwordFile, 'utf8')).trim();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw explainFileError(`reading ${home.passwordFile}`, error);
    throw new EmbeddedPostgresError(
      'password_missing',
      `the embedded database's password, ${home.passwordFile}, is missing. Restore it from a backup of that folder`,
    );
  }
}

/** False if nothing is listening or the server isn't ready. */
async function isResponding(url: string, home: Home): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch (error) {
    if (systemCode(error) === '28P01') {
      throw new EmbeddedPostgresError(
        'password_missing',
        `the embedded PostgreSQL rejects the password in ${home.passwordFile}. Restore the database and the password from the same backup`,
        { cause: error },
      );
    }
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

interface PidFile {
  readonly pid: number;
  readonly port: number | undefined;
  readonly status: string | undefined;
}

/** The lines are pid, data folder, start time, port, socket folder, address, shared memory key and status. */
async function readPidFile(home: Home): Promise<PidFile | undefined> {
  try {
    const lines = (await readFile(join(home.data, 'postmaster.pid'), 'utf8')).split('\n');
    const port = Number.parseInt(lines[3] ?? '', 10);
    return {
      pid: Math.abs(Number.parseInt(lines[0] ?? '', 10)) || 0,
      port: Number.isNaN(port) ? undefined : port,
      status: lines[7]?.trim(),
    };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw explainFileError(`reading ${join(home.data, 'postmaster.pid')}`, error);
  }
}

function createVersionMismatchError(
  home: Home,
  existingVersion: number,
  major: number,
): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'version_mismatch',
    [
      `the embedded database in ${home.folder} was created by PostgreSQL ${existingVersion}, but this release includes PostgreSQL ${major}. Nothing was changed. To migrate the data:`,
      '1. in the release that you ran before: npm run migrate -- --serve, which prints how to connect',
      '2. in another terminal: pg_dump … > domain-steward.sql; then stop the server with Ctrl-C',
      `3. move ${home.folder} away; keep it until everything works`,
      '4. in this release: npm run migrate -- --serve, and in another terminal: psql … < domain-steward.sql; then Ctrl-C, and start the bot as usual',
      'Or load the dump into a PostgreSQL of your own and set DATABASE_URL.',
    ].join('\n'),
  );
}

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => {
    probe.close(resolve);
  });
  if (address === null || typeof address === 'string')
    throw new TypeError('no port for the embedded PostgreSQL');
  return address.port;
}
