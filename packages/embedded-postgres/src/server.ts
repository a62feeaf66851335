import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Binaries, ensureRunnableBinaries, getProgramPath } from './binaries.ts';
import { EmbeddedPostgresError, explainFileError, explainOutput, getSystemErrorCode } from './error.ts';
import { type Home, readDataVersion } from './home.ts';
import { checkServesFolder } from './processes.ts';
import { buildSpawnOptions, openLog, readLogSince, runProgram, waitForExit } from './programs.ts';

export interface Server {
  readonly pid: number;
  readonly port: number;
  /** Includes the password. */
  readonly url: string;
}

/** How long a server may take to become ready. Crash recovery replays everything since the last checkpoint. */
const READY_TIMEOUT_MS = 120_000;
/** How long to wait for a response from a process that may not be the server. */
const UNIDENTIFIED_PROCESS_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 10;

/**
 * Memory and connections are limited, because only one team's bot uses the server. The durability settings are
 * PostgreSQL's defaults. They are set explicitly, because orders depend on them.
 */
const DEFAULT_SETTINGS: Readonly<Record<string, string>> = {
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
export async function ensureServerRunning(
  home: Home,
  binaries: Binaries,
  options: { port?: number | undefined; settings?: Readonly<Record<string, string>> | undefined },
): Promise<{ server: Server; wasRunning: boolean }> {
  const dataVersion = await readDataVersion(home);
  if (dataVersion !== undefined && dataVersion !== binaries.majorVersion)
    throw createVersionMismatchError(home, dataVersion, binaries.majorVersion);
  if (dataVersion !== undefined) await readPassword(home);
  const runningServer = dataVersion === undefined ? undefined : await attachToRunningServer(home);
  if (runningServer !== undefined) return { server: runningServer, wasRunning: true };

  const runnableBinaries = await ensureRunnableBinaries(binaries, home);
  if (dataVersion === undefined)
    await createDataFolder(home, runnableBinaries, options.settings?.['fsync'] === 'off');
  return { server: await startServer(home, runnableBinaries, options), wasRunning: false };
}

/**
 * Performs a fast shutdown, as with `SIGINT`: the server accepts no more work, rolls back open transactions, writes a
 * checkpoint and exits.
 * @param waitMs how long to wait for the server to exit, in milliseconds
 * @returns false if the server is still stopping after `waitMs`; the next start waits for it
 */
export async function stopServer(
  home: Home,
  binaries: Binaries,
  server: Server,
  waitMs: number,
): Promise<boolean> {
  if (process.platform === 'win32') {
    // Windows has no signals, so `pg_ctl` is used.
    spawn(getProgramPath(binaries, 'pg_ctl'), ['stop', '-m', 'fast', '-D', home.data], { stdio: 'ignore' });
  } else {
    try {
      process.kill(server.pid, 'SIGINT');
    } catch (error) {
      if (getSystemErrorCode(error) !== 'ESRCH') throw error;
      return true;
    }
  }
  const deadline = Date.now() + waitMs;
  // The server removes this file last.
  while ((await readPidFile(home)) !== undefined) {
    if (Date.now() > deadline) return false;
    await sleep(POLL_INTERVAL_MS);
  }
  return true;
}

/** @returns undefined if the folder has no server on this machine that accepts connections */
export async function findRunningServerUrl(home: Home): Promise<string | undefined> {
  const pidFile = await readPidFile(home);
  if (pidFile?.status !== 'ready' || pidFile.port === undefined) return undefined;
  if ((await checkServesFolder(pidFile.pid, home.data)) === 'no') return undefined;
  const url = await buildServerUrl(home, pidFile.port);
  return (await isResponding(url, home)) ? url : undefined;
}

async function attachToRunningServer(home: Home): Promise<Server | undefined> {
  const startedAt = Date.now();
  for (;;) {
    const pidFile = await readPidFile(home);
    if (pidFile === undefined) return undefined;
    const servesFolder = await checkServesFolder(pidFile.pid, home.data);
    if (servesFolder === 'no') {
      await removePidFileIfPidReused(home, pidFile.pid);
      return undefined;
    }
    if (pidFile.status === 'ready' && pidFile.port !== undefined) {
      const url = await buildServerUrl(home, pidFile.port);
      if (await isResponding(url, home)) return { pid: pidFile.pid, port: pidFile.port, url };
    }
    const waitedMs = Date.now() - startedAt;
    if (servesFolder === 'unknown' && waitedMs > UNIDENTIFIED_PROCESS_TIMEOUT_MS) {
      throw new EmbeddedPostgresError(
        'start_failed',
        `attaching to the embedded PostgreSQL: process ${pidFile.pid} may be the server of ${home.data}, but it does not respond. If it is another program, remove ${join(home.data, 'postmaster.pid')} and start the bot again`,
      );
    }
    if (waitedMs > READY_TIMEOUT_MS) {
      throw new EmbeddedPostgresError(
        'start_failed',
        `attaching to the embedded PostgreSQL: the server (process ${pidFile.pid}) does not respond. Stop it and start the bot again. Its log is ${home.logFile}`,
      );
    }
    await sleep(POLL_INTERVAL_MS);
  }
}

/**
 * Removes the PID file if another process now has this PID. If no process has the PID, PostgreSQL removes the file
 * itself, after checking for child processes that are still running.
 */
async function removePidFileIfPidReused(home: Home, pid: number): Promise<void> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (getSystemErrorCode(error) === 'ESRCH') return;
  }
  await rm(join(home.data, 'postmaster.pid'), { force: true });
}

async function createDataFolder(home: Home, binaries: Binaries, shouldSkipSync: boolean): Promise<void> {
  const activity = `creating the embedded PostgreSQL's data in ${home.data}`;
  // The data folder has a temporary name until it is complete, so that an incomplete one is never used.
  const partialDataFolder = join(home.folder, 'data.partial');
  const temporaryPasswordFile = join(home.folder, 'password.partial');
  const password = randomBytes(24).toString('base64url');
  try {
    await rm(partialDataFolder, { recursive: true, force: true });
    await mkdir(partialDataFolder, { mode: 0o700 });
    await rm(temporaryPasswordFile, { force: true });
    await writeFile(temporaryPasswordFile, password, { mode: 0o600 });
    if (home.runAs !== undefined) {
      for (const path of [partialDataFolder, temporaryPasswordFile])
        await chown(path, home.runAs.uid, home.runAs.gid);
    }
    await writeFile(home.passwordFile, password, { mode: 0o600 });
    const initdbResult = await runProgram(getProgramPath(binaries, 'initdb'), home, [
      `--pgdata=${partialDataFolder}`,
      '--username=postgres',
      `--pwfile=${temporaryPasswordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The locale must not depend on the machine.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(shouldSkipSync ? ['--no-sync'] : []),
    ]);
    if (initdbResult.exitCode !== 0) throw explainOutput(activity, initdbResult.outputTail, home.logFile);
    await rename(partialDataFolder, home.data);
  } catch (error) {
    throw explainFileError(activity, error);
  } finally {
    await rm(temporaryPasswordFile, { force: true });
  }
}

async function startServer(
  home: Home,
  binaries: Binaries,
  options: { port?: number | undefined; settings?: Readonly<Record<string, string>> | undefined },
): Promise<Server> {
  const activity = 'starting the embedded PostgreSQL';
  const startedAt = Date.now();
  const deadline = startedAt + READY_TIMEOUT_MS;
  for (let portConflictCount = 0; ; ) {
    const port = options.port ?? (await findFreePort());
    const launchResult = await tryToLaunchServer(home, binaries, port, options.settings ?? {}, deadline);
    if ('server' in launchResult) return launchResult.server;

    if (/could not bind|Address already in use/i.test(launchResult.output)) {
      portConflictCount += 1;
      if (options.port === undefined && portConflictCount < 5) continue;
      throw new EmbeddedPostgresError('port_taken', `${activity}: port ${port} on 127.0.0.1 is taken`);
    }
    // The child processes of a killed server take a moment to exit. Until then, no new server can use the data.
    if (/pre-existing shared memory block/i.test(launchResult.output) && Date.now() < startedAt + 10_000) {
      await sleep(100);
      continue;
    }
    throw explainOutput(activity, launchResult.output, home.logFile);
  }
}

async function tryToLaunchServer(
  home: Home,
  binaries: Binaries,
  port: number,
  settings: Readonly<Record<string, string>>,
  deadline: number,
): Promise<{ server: Server } | { output: string }> {
  const args = ['-D', home.data, '-p', String(port)];
  for (const [name, value] of Object.entries({ ...DEFAULT_SETTINGS, ...settings }))
    args.push('-c', `${name}=${value}`);

  const log = await openLog(home);
  const child = spawn(getProgramPath(binaries, 'postgres'), args, {
    ...buildSpawnOptions(home),
    // Creates a session, so that neither Ctrl-C in the bot's terminal nor the bot's exit stops the server.
    detached: true,
    stdio: ['ignore', log.handle.fd, log.handle.fd],
  });
  const exitPromise = waitForExit(child);
  child.unref();
  let hasExited = false;
  const recordExit = () => {
    hasExited = true;
  };
  exitPromise.then(recordExit, recordExit);
  await log.handle.close();

  try {
    while (!hasExited) {
      const pidFile = await readPidFile(home);
      if (pidFile !== undefined && pidFile.pid === child.pid && pidFile.status === 'ready') {
        const url = await buildServerUrl(home, port);
        if (await isResponding(url, home)) return { server: { pid: pidFile.pid, port, url } };
      }
      if (Date.now() > deadline) {
        throw new EmbeddedPostgresError(
          'start_failed',
          `starting the embedded PostgreSQL: not ready after ${READY_TIMEOUT_MS / 1000} s. Its log is ${home.logFile}`,
        );
      }
      await sleep(POLL_INTERVAL_MS);
    }
  } catch (error) {
    child.kill('SIGINT');
    throw error;
  }
  await exitPromise;
  return { output: await readLogSince(home.logFile, log.size) };
}

async function buildServerUrl(home: Home, port: number): Promise<string> {
  return `postgresql://postgres:${await readPassword(home)}@127.0.0.1:${port}/postgres`;
}

async function readPassword(home: Home): Promise<string> {
  try {
    return (await readFile(home.passwordFile, 'utf8')).trim();
  } catch (error) {
    if (getSystemErrorCode(error) !== 'ENOENT') throw explainFileError(`reading ${home.passwordFile}`, error);
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
    if (getSystemErrorCode(error) === '28P01') {
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

/** The file's lines are: PID, data folder, start time, port, socket folder, address, shared memory key, status. */
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
    if (getSystemErrorCode(error) === 'ENOENT') return undefined;
    throw explainFileError(`reading ${join(home.data, 'postmaster.pid')}`, error);
  }
}

function createVersionMismatchError(
  home: Home,
  dataVersion: number,
  binariesVersion: number,
): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'version_mismatch',
    [
      `the embedded database in ${home.folder} was created by PostgreSQL ${dataVersion}, but this release includes PostgreSQL ${binariesVersion}. Nothing was changed. To migrate the data:`,
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
