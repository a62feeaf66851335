import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VARIABLES } from '../../src/config.ts';

/*
 * The built program as the image has it: without the demo.
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
  const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  expect(scripts.start).toBe('exec node --max-semi-space-size=16 --v8-pool-size=0 dist/main.js');
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !(name in VARIABLES)));
  const started = spawnSync(process.execPath, ['dist/main.js'], {
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
