import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VARIABLES } from '../../src/config/environment.ts';
import { RELEASED_OPTIONS } from '../support/released-options.ts';

/*
 * The built program as the image has it: without the demo; and how it is started.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain-steward-image-'));
  await cp(join(root, 'dist'), join(folder, 'dist'), {
    recursive: true,
    filter: (path) => path !== join(root, 'dist', 'demo'),
  });
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('it starts without the demo, and says what is wrong with its settings', async () => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !(name in VARIABLES)));
  const started = spawnSync(process.execPath, [...RELEASED_OPTIONS, 'dist/main.js'], {
    cwd: folder,
    env: { ...env, SLACK_BOT_TOKEN: 'a-token-that-is-none', CREDENTIALS_KEYS: 'k:too-short' },
    encoding: 'utf8',
  });
  expect(started.status, started.stderr).toBe(1);
  for (const name of ['SLACK_BOT_TOKEN', 'SLACK_SIGNING_SECRET', 'SERVICE_JSON_URL', 'APPROVERS']) {
    expect(started.stderr).toContain(name);
  }
  expect(started.stderr).not.toMatch(/a-token-that-is-none|too-short|node:internal/);
});

describe('what Node is told when it starts', () => {
  const scripts = async () =>
    z
      .object({ scripts: z.object({ start: z.string(), demo: z.string() }) })
      .parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))).scripts;

  test('the bot and the demo run as the same process that npm started, with the same options', async () => {
    expect(RELEASED_OPTIONS.length).toBeGreaterThan(0);
    const command = (file: string) => ['exec', 'node', ...RELEASED_OPTIONS, file].join(' ');
    expect(await scripts()).toMatchObject({
      start: command('dist/main.js'),
      demo: command('dist/demo/main.js'),
    });
  });

  test.each(RELEASED_OPTIONS)(
    '%s is an option that this Node knows: with another one it does not start',
    (option) => {
      const { status, stderr } = spawnSync(process.execPath, [option, '--eval', ''], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    },
  );

  test('nothing is told to V8 while it runs: V8 promises nothing for flags that change then', async () => {
    const files = await readdir(join(root, 'src'), { recursive: true });
    const setting: string[] = [];
    for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
      const text = await readFile(join(root, 'src', file), 'utf8');
      if (/setFlagsFromString|from 'node:v8'/.test(text)) setting.push(file);
    }
    expect(setting).toEqual([]);
  });
});
