import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { VARIABLE_EXAMPLES } from '../../src/config/environment.ts';

/* Starts the built program as in the image, without the demo. */

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

test('the program starts without the demo, and reports wrong settings without their values', async () => {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !(name in VARIABLE_EXAMPLES)),
  );
  const result = spawnSync(process.execPath, ['dist/main.js'], {
    cwd: folder,
    env: { ...env, SLACK_BOT_TOKEN: 'a-token-that-is-none', CREDENTIALS_KEYS: 'k:too-short' },
    encoding: 'utf8',
  });
  expect(result.status, result.stderr).toBe(1);
  for (const name of ['SLACK_BOT_TOKEN', 'SLACK_SIGNING_SECRET', 'CREDENTIALS_KEYS']) {
    expect(result.stderr).toContain(name);
  }
  expect(result.stderr).not.toMatch(/a-token-that-is-none|too-short|node:internal/);
});

test.each(['start', 'demo'] as const)('a signal to `npm run %s` reaches the program', async (name) => {
  const packageSchema = z.object({ scripts: z.record(z.string(), z.string()) });
  const { scripts } = packageSchema.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const file = scripts[name]?.replace(/^.*node /, '') ?? '';
  const dir = await mkdtemp(join(tmpdir(), 'domain-steward-npm-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await writeFile(join(dir, 'package.json'), JSON.stringify({ scripts }));
  await mkdir(dirname(join(dir, file)), { recursive: true });
  const program = `process.once('SIGTERM', () => process.stdout.write('heard', () => process.exit(0)));
    setInterval(() => undefined, 1_000); process.stdout.write('started ' + process.pid);`;
  await writeFile(join(dir, file), program);

  const npm = spawn('npm', ['run', '--silent', name], { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] });
  const printed: string[] = [];
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed.push(text);
    if (text.startsWith('started')) npm.kill('SIGTERM');
  });
  await once(npm, 'exit');
  expect(printed.at(-1)).toBe('heard');
});
