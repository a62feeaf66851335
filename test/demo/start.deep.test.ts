import { chmod, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startChild } from '../support/child.ts';

/* The demo as a process: signals during its start, and the location of its database. */

const DEMO = new URL('../../demo/main.ts', import.meta.url);
const CLI = new URL('../../src/cli.ts', import.meta.url);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain steward demo '));
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const startDemo = () =>
  startChild(DEMO, { cwd: folder, env: { PORT: '0', DATA_DIR: undefined, LOG_LEVEL: 'info' } });

/** PostgreSQL processes with their data in the folder. */
async function listPostgresProcesses(): Promise<string[]> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(
    processes.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return commands.filter((command) => command.includes('postgres') && command.includes(folder));
}

/** Stages of the start: a file that appears in the database's folder, or a printed line. */
const STAGES = [
  ['before the database exists', 'postgres', 'SIGINT'],
  ['while the database is created', 'postgres/data.partial', 'SIGTERM'],
  ['while the server starts', 'postgres/data/postmaster.pid', 'SIGTERM'],
  ['while the bot starts', /Applied the migration/, 'SIGINT'],
] as const;

test.skipIf(process.platform !== 'linux').each(STAGES)(
  '%s (%s), %s stops the demo and its PostgreSQL',
  async (_description, stage, signal) => {
    const child = startDemo();
    if (typeof stage === 'string') await waitForFile(join(folder, 'data', 'demo', stage));
    else await child.waitForLine(stage);
    await child.kill(signal);
    expect(await child.ended, child.output()).toBe(0);
    expect(await listPostgresProcesses()).toEqual([]);
    if (stage instanceof RegExp) await expectOwnDatabase();
  },
);

/** The demo’s database doesn’t affect the location of the bot’s. */
async function expectOwnDatabase(): Promise<void> {
  const migrating = startChild(CLI, { args: ['migrate'], cwd: folder, env: { DATABASE_URL: undefined } });
  expect(await migrating.ended, migrating.output()).toBe(0);
  const home = await realpath(join(folder, 'data', 'postgres'));
  expect(home).toBe(join(await realpath(folder), 'data', 'postgres'));
  expect(migrating.output()).toContain(`data in ${join(home, 'data')}.`);
}

async function waitForFile(path: string): Promise<void> {
  while ((await realpath(path).catch(() => undefined)) === undefined) await sleep(5);
}
