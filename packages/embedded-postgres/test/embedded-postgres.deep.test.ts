import { spawn } from 'node:child_process';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { findBinaries } from '../src/binaries.ts';
import { prepareHome } from '../src/home.ts';
import { ensureServerRunning, stopServer } from '../src/server.ts';
import {
  createPrivateFolder,
  FAST_SETTINGS,
  isStopped,
  query,
  readServerPid,
  SHARED_FOLDER,
  start,
  startOwner,
  temporaryFolders,
  useServers,
} from './servers.ts';

const isRoot = process.getuid?.() === 0;
const isLinux = process.platform === 'linux';

useServers();

describe('the owner', () => {
  test('starts over after an interrupted initdb', async () => {
    await mkdir(join(SHARED_FOLDER, 'postgres/data.partial/base'), { recursive: true });
    await writeFile(join(SHARED_FOLDER, 'postgres/data.partial/PG_VERSION'), '18\n');
    const { url } = await start({ settings: FAST_SETTINGS });
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  test('restarts a killed server at the same URL', async () => {
    const { url } = await start();
    await query(url, 'CREATE TABLE survives AS SELECT 1 AS n');
    process.kill(await readServerPid(SHARED_FOLDER), 'SIGKILL');
    await vi.waitUntil(() => query(url, 'SELECT 1').catch(() => false), { timeout: 15_000, interval: 50 });
    expect(await query(url, 'SELECT n FROM survives'), 'committed rows').toEqual([{ n: 1 }]);
    await query(url, 'DROP TABLE survives');
  });

  test('can be stopped twice', async () => {
    const owner = await start();
    await Promise.all([owner.stop(), owner.stop()]);
    await owner.stop();
    expect(await isStopped(SHARED_FOLDER)).toBe(true);
  });
});

describe('ownership of a folder', () => {
  const IN_USE_MESSAGE = /is in use by .*DATA_DIR.*DATABASE_URL/;
  const IN_USE_ERROR = { problem: 'in_use', message: expect.stringMatching(IN_USE_MESSAGE) };

  test('is refused to a second owner, even in the same process, while the first one continues', async () => {
    const { url } = await start();
    await expect(start()).rejects.toMatchObject({
      ...IN_USE_ERROR,
      message: expect.stringContaining(`process ${process.pid}`),
    });
    const child = startOwner(SHARED_FOLDER);
    expect(await child.ended).toBe(1);
    expect(child.output()).toMatch(IN_USE_MESSAGE);
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  test('goes to one of several owners that start concurrently on an empty folder', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-race-'));
    await chmod(dataDir, 0o755);
    temporaryFolders.push(dataDir);
    const child = startOwner(dataDir);
    const startResults = await Promise.allSettled([
      child.waitForLine(/^serving (.*)$/).then(([, url = '']) => url),
      ...[1, 2].map(async () => (await start({ dataDir, settings: FAST_SETTINGS })).url),
    ]);
    const urls = startResults.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(urls, child.output()).toHaveLength(1);
    expect(await query(urls[0] ?? '', 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    const [, ...localResults] = startResults;
    const rejectedResults = localResults.filter(({ status }) => status === 'rejected');
    expect(rejectedResults.length).toBeGreaterThan(0);
    for (const result of rejectedResults) expect(result).toMatchObject({ reason: IN_USE_ERROR });
  });

  test('is refused because of a running server even if the lock files are deleted', async () => {
    const { url } = await start();
    const homeFolder = join(SHARED_FOLDER, 'postgres');
    for (const file of await readdir(homeFolder))
      if (file.startsWith('lock.')) await rm(join(homeFolder, file));
    await expect(start()).rejects.toMatchObject(IN_USE_ERROR);
    expect(await query(url, 'SELECT 1 AS n'), 'the first owner’s server').toEqual([{ n: 1 }]);
  });

  test('passes from a killed owner to the next, which takes over the running server', async () => {
    const child = startOwner(SHARED_FOLDER);
    const [, url] = await child.waitForLine(/^serving (.*)$/);
    const pid = await readServerPid(SHARED_FOLDER);
    await child.kill('SIGKILL');

    const next = await start();
    expect(next.url).toBe(url);
    expect(await readServerPid(SHARED_FOLDER), 'process ID of the server').toBe(pid);
    await next.stop();
    expect(await isStopped(SHARED_FOLDER)).toBe(true);
  });

  test('lasts after Ctrl-C until the owner has drained', async () => {
    const child = startOwner(SHARED_FOLDER);
    await child.waitForLine(/^serving /);
    process.kill(-child.pid, 'SIGINT');
    expect(await child.ended, child.output()).toBe(0);
    expect(child.output()).toMatch(/^drained 42$/m);
    expect(await isStopped(SHARED_FOLDER)).toBe(true);
  });
});

describe('leftovers of an earlier run', () => {
  test("don't prevent a start: a PID file whose PID now belongs to another process", async () => {
    await (await start()).stop();
    const otherProcess = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], {
      stdio: 'ignore',
    });
    onTestFinished(() => {
      otherProcess.kill();
    });
    const pidFileLines = [
      otherProcess.pid,
      join(await realpath(SHARED_FOLDER), 'postgres/data'),
      1,
      5432,
      '',
      '127.0.0.1',
      '',
      'ready',
    ];
    await writeFile(join(SHARED_FOLDER, 'postgres/data/postmaster.pid'), `${pidFileLines.join('\n')}\n`, {
      mode: 0o600,
    });
    const { url } = await start();
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });
});

describe('start errors say what to do', () => {
  test('if the port is in use; without a given port, other ports are tried', async () => {
    const occupant = createServer().listen(0, '127.0.0.1');
    try {
      await vi.waitUntil(() => occupant.listening);
      const address = occupant.address();
      if (address === null || typeof address === 'string') throw new TypeError('no port');
      await expect(start({ port: address.port })).rejects.toMatchObject({
        problem: 'port_taken',
        message: expect.stringContaining(`port ${address.port} on 127.0.0.1 is taken`),
      });
      // Overrides each chosen port with the occupied one, as if another program had just taken it.
      const { size } = await stat(join(SHARED_FOLDER, 'postgres/postgres.log'));
      await expect(start({ settings: { port: String(address.port) } })).rejects.toMatchObject({
        problem: 'port_taken',
      });
      const log = (await readFile(join(SHARED_FOLDER, 'postgres/postgres.log'))).subarray(size).toString();
      expect(log.match(/could not bind/g)?.length, 'tried ports').toBe(5);
    } finally {
      occupant.close();
    }
  });

  test('if the server doesn’t start, with the end of its log', async () => {
    await expect(start({ settings: { shared_buffers: 'much' } })).rejects.toMatchObject({
      problem: 'start_failed',
      message: expect.stringMatching(
        /invalid value for parameter "shared_buffers": "much"[\s\S]*postgres\.log/,
      ),
    });
  });

  test('if the programs don’t run on this system', async () => {
    await (await start()).stop();
    const folder = await mkdtemp(join(tmpdir(), 'domain-steward-programs-'));
    temporaryFolders.push(folder);
    await chmod(folder, 0o755);
    for (const name of ['bin', 'lib', 'share']) await mkdir(join(folder, name));
    // Like a program for another libc: the file exists, but its loader doesn't.
    await writeFile(join(folder, 'bin/postgres'), '#!/missing/loader\n', { mode: 0o755 });
    await expect(
      ensureServerRunning(await prepareHome(SHARED_FOLDER), { ...(await findBinaries()), folder }, {}),
    ).rejects.toMatchObject({ problem: 'start_failed', message: expect.stringContaining('glibc') });
  });
});

describe('a private folder', () => {
  // PostgreSQL refuses to run as root, so root has its own tests.
  if (isRoot) {
    test('as root runs the server as another user, with data that this user can access', async () => {
      const folder = await createPrivateFolder();
      const logLines: string[] = [];
      const { url, notes, stop } = await start({
        dataDir: folder,
        settings: FAST_SETTINGS,
        log: (sentence) => logLines.push(sentence),
      });
      const homeFolder = await realpath(join(folder, 'postgres'));
      expect(homeFolder).toMatch(/^\/var\/lib\/domain-steward\/[0-9a-f]{16}$/);
      expect(notes).toEqual([expect.stringContaining(homeFolder), expect.stringContaining('user 65534')]);
      expect(logLines, 'logged notes').toEqual(expect.arrayContaining([...notes]));
      if (isLinux) expect((await stat(`/proc/${await readServerPid(folder)}`)).uid).toBe(65534);
      await query(url, 'CREATE TABLE kept AS SELECT 7 AS n');
      await stop();

      // The data isn't moved back even if the user can access the folder later.
      await chmod(folder, 0o755);
      const restarted = await start({ dataDir: folder });
      expect(await query(restarted.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    });

    test('as root starts empty if it was recreated, and keeps the earlier data', async () => {
      const folder = await createPrivateFolder();
      const first = await start({ dataDir: folder, settings: FAST_SETTINGS });
      const homeFolder = await realpath(join(folder, 'postgres'));
      await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
      await first.stop();
      await rm(join(folder, 'postgres'));

      const homes = await Promise.all([prepareHome(folder), prepareHome(folder)]);
      expect(new Set(homes.map((preparedHome) => preparedHome.folder)), 'homes of concurrent starts').toEqual(
        new Set([`${homeFolder}-2`]),
      );
      expect(homes.flatMap(({ notes }) => notes)).toContainEqual(
        expect.stringContaining(`is left in ${homeFolder}.`),
      );
      const second = await start({ dataDir: folder, settings: FAST_SETTINGS });
      expect(await query(second.url, "SELECT to_regclass('kept') AS kept")).toEqual([{ kept: null }]);
      await second.stop();

      await rm(join(folder, 'postgres'));
      await symlink(homeFolder, join(folder, 'postgres'));
      const relinked = await start({ dataDir: folder });
      expect(await query(relinked.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
      await relinked.stop();
      await rm(`${homeFolder}-2`, { recursive: true });
    });

    test('as root runs programs from a copy if the other user can’t access them', async () => {
      await (await start()).stop();
      const privateFolder = await createPrivateFolder();
      const originalBinaries = await findBinaries();
      const unreachableBinaries = { ...originalBinaries, folder: join(privateFolder, 'native') };
      await cp(originalBinaries.folder, unreachableBinaries.folder, {
        recursive: true,
        verbatimSymlinks: true,
      });

      const home = await prepareHome(SHARED_FOLDER);
      const { server } = await ensureServerRunning(home, unreachableBinaries, {});
      const copyFolder = join(home.folder, `postgresql-${originalBinaries.version}`);
      expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
      if (isLinux) expect(await readlink(`/proc/${server.pid}/exe`)).toBe(join(copyFolder, 'bin/postgres'));
      expect(home.notes).toContainEqual(expect.stringContaining(copyFolder));
      expect(await stopServer(home, unreachableBinaries, server, 5_000)).toBe(true);
    });
  } else {
    test('keeps the server and its data private', async () => {
      const folder = await createPrivateFolder();
      const { notes } = await start({ dataDir: folder, settings: FAST_SETTINGS });
      expect(notes).toEqual([]);
      expect(await realpath(join(folder, 'postgres'))).toBe(join(await realpath(folder), 'postgres'));
    });
  }
});
