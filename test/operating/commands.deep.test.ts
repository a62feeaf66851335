import { chmod, chown, cp, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChildOptions, startChild } from '../support/child.ts';

/*
 * The operator's commands as processes: how they are used, and a backup of the embedded database that is put back.
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

const COMMANDS = ['doctor', 'backup', 'restore', 'migrate', 'forget-person', 'purge'];

describe('every command', () => {
  test('stands in the list', async () => {
    const { code, output } = await run(['--help']);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(output).toMatch(new RegExp(`^ {2}${name} `, 'm'));
    expect(await run([])).toMatchObject({ code: 2 });
    expect((await run(['bakcup'])).output).toMatch(/^There is no command bakcup\./);
  });

  test.each(COMMANDS)(
    '%s says how it is used, whatever it is given, and never with a stack',
    async (name) => {
      const { code, output } = await run([name, '--help']);
      expect(code).toBe(0);
      expect(output).toMatch(new RegExp(`^Usage: npm run ${name} -- .*\\n +node dist/cli\\.js ${name} `));
      for (const wrong of [
        [name, '--wrong'],
        [name, 'one', 'two'],
      ]) {
        const refused = await run(wrong);
        expect(refused.code, refused.output).toBe(2);
        expect(refused.output).toContain(`Usage: npm run ${name} -- `);
        expect(refused.output).not.toMatch(/^\s+at /m);
      }
    },
  );

  test.each([
    [['forget-person', 'alice'], 'alice is no Slack user id'],
    [['purge'], '--before DATE is missing'],
    [['purge', '--before', '2023-02-30'], '2023-02-30 is no day'],
    [['purge', '--before', new Date().toISOString().slice(0, 10)], 'at least 30 days ago'],
  ])('%s is refused', async (args, said) => {
    const { code, output } = await run(args);
    expect(code).toBe(2);
    expect(output).toContain(said);
  });
});

test('a backup of the embedded database in a folder with a blank goes and comes back', async () => {
  expect(await run(['migrate'])).toMatchObject({ code: 0 });
  const taken = await run(['backup', 'my backup.sql.gz']);
  expect(taken.output).toMatch(/^The backup my backup\.sql\.gz is complete: the database of \d{4}-/m);
  expect(taken.code).toBe(0);
  expect((await stat(join(folder, 'my backup.sql.gz'))).mode & 0o777).toBe(0o600);
  expect((await readdir(folder)).filter((file) => file.endsWith('.partial'))).toEqual([]);
  expect((await run(['backup', 'my backup.sql.gz'])).output).toContain('is there already');

  const { code, output } = await run(['restore', 'my backup.sql.gz'], { DATA_DIR: 'other data' });
  expect(output).toMatch(/^The database of .* is back\./m);
  expect(code).toBe(0);
});

test('a data folder that was copied while nothing ran is put back as it was', async () => {
  expect(await run(['migrate'], { DATA_DIR: 'copied' })).toMatchObject({ code: 0 });
  await cp(join(folder, 'copied'), join(folder, 'copy'), { recursive: true, preserveTimestamps: true });
  // PostgreSQL takes only a folder of its own user, and a copy by root is root's.
  const { uid, gid } = await stat(join(folder, 'copied/postgres/data'));
  for (const entry of await readdir(join(folder, 'copy/postgres/data'), { recursive: true }))
    await chown(join(folder, 'copy/postgres/data', entry), uid, gid);
  await chown(join(folder, 'copy/postgres/data'), uid, gid);
  await rm(join(folder, 'copied'), { recursive: true });
  await rename(join(folder, 'copy'), join(folder, 'copied'));
  const { code, output } = await run(['migrate'], { DATA_DIR: 'copied' });
  expect(output).toContain('The database is up to date: no migration was missing.');
  expect(code).toBe(0);
});

test.each([
  ['no backup at all', 'this is no backup', 'is no backup of Domain Steward'],
  ['nothing', '', 'is no backup of Domain Steward'],
])('a file that is %s is refused', async (_what, text, said) => {
  await writeFile(join(folder, 'wrong'), text);
  const { code, output } = await run(['restore', 'wrong'], { DATA_DIR: 'fresh data' });
  expect(code).toBe(1);
  expect(output).toContain(said);
});
