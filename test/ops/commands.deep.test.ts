import { chmod, chown, cp, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { runCommand } from '../../src/ops/commands/run-command.ts';
import { type ChildOptions, startChild } from '../support/child.ts';

/*
 * The operator's commands as processes: exit codes, and a backup and restore of the embedded database.
 */

const CLI = new URL('../../src/cli.ts', import.meta.url);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain steward commands '));
  await chmod(folder, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(args: readonly string[], env: ChildOptions['env'] = {}) {
  const child = startChild(CLI, { args, cwd: folder, env: { DATABASE_URL: undefined, ...env } });
  return { code: await child.ended, output: child.output() };
}

/** Runs in this process, which is faster. */
async function runInProcess(args: readonly string[], env: Readonly<Record<string, string>>) {
  for (const [name, value] of Object.entries({ DATABASE_URL: undefined, ...env })) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  let output = '';
  const write = (line: string) => {
    output += `${line}\n`;
  };
  return { code: await runCommand(args, { print: write, printError: write }), output };
}

test('the process exits with the command’s code', async () => {
  expect(await run(['--help'])).toMatchObject({ code: 0, output: expect.stringContaining('  backup FILE') });
  expect(await run(['purge'])).toMatchObject({ code: 2, output: expect.stringContaining('DATE is missing') });
});

test('a backup of the embedded database can be restored, even in paths with spaces', async () => {
  expect(await run(['migrate'])).toMatchObject({ code: 0 });
  const backupRun = await run(['backup', 'my backup.sql.gz']);
  expect(backupRun.output).toMatch(/^The backup my backup\.sql\.gz is complete: the database of \d{4}-/m);
  expect(backupRun.code).toBe(0);
  expect((await stat(join(folder, 'my backup.sql.gz'))).mode & 0o777).toBe(0o600);
  expect((await readdir(folder)).filter((file) => file.endsWith('.partial'))).toEqual([]);
  expect((await run(['backup', 'my backup.sql.gz'])).output).toContain('already exists');

  const { code, output } = await run(['restore', 'my backup.sql.gz'], { DATA_DIR: 'other data' });
  expect(output).toMatch(/^The database of .* is restored\./m);
  expect(code).toBe(0);
});

const DATABASE_COMMANDS = [
  ['backup', 'backup.sql.gz'],
  ['forget-person', 'U0ALICE', '--dry-run'],
  ['purge', '--before', '2020-01-01', '--dry-run'],
  ['key:fingerprint'],
];

test.each(DATABASE_COMMANDS)('%s fails if there is no database, and creates none', async (...args) => {
  const { code, output } = await runInProcess(args, { DATA_DIR: join(folder, 'mistyped') });
  expect(code).toBe(1);
  expect(output).toBe(
    `There is no database in ${join(folder, 'mistyped', 'postgres')}. Check DATABASE_URL and DATA_DIR.\n`,
  );
});

test('commands that need the bot’s database refuse a database without its tables', async () => {
  const { url, stop } = await startEmbeddedPostgres({ dataDir: join(folder, 'foreign') });
  onTestFinished(stop);
  for (const args of DATABASE_COMMANDS) {
    const { code, output } = await runInProcess(args, { DATABASE_URL: url });
    expect(output).toMatch(/^The database has no tables of Domain Steward\. [^\n]*\n$/);
    expect(code).toBe(1);
  }
});

test('a backup into a missing folder fails without a stack trace, and stops the server', async () => {
  const { code, output } = await run(['backup', 'nowhere/backup.sql.gz']);
  expect(code).toBe(1);
  expect(output).toContain('ENOENT');
  expect(output).not.toMatch(/^\s+at /m);
  expect(output).toContain('Stopped the embedded PostgreSQL.');
});

test('a copy of a data folder can be used if the database was stopped', async () => {
  expect(await run(['migrate'], { DATA_DIR: 'copied' })).toMatchObject({ code: 0 });
  await cp(join(folder, 'copied'), join(folder, 'copy'), { recursive: true, preserveTimestamps: true });
  // PostgreSQL accepts only a folder of its own user, and root's copy belongs to root.
  const { uid, gid } = await stat(join(folder, 'copied/postgres/data'));
  for (const entry of await readdir(join(folder, 'copy/postgres/data'), { recursive: true }))
    await chown(join(folder, 'copy/postgres/data', entry), uid, gid);
  await chown(join(folder, 'copy/postgres/data'), uid, gid);
  await rm(join(folder, 'copied'), { recursive: true });
  await rename(join(folder, 'copy'), join(folder, 'copied'));
  const { code, output } = await run(['migrate'], { DATA_DIR: 'copied' });
  expect(output).toContain('The database is up to date.');
  expect(code).toBe(0);
});
