import { readFile, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { answerTo, link } from '../support/demo.ts';
import { MAIN, type Surroundings, startSurroundings } from '../support/harness.ts';

/*
 * The first start with the fewest settings: Socket Mode, the embedded database, no key for credentials.
 */

const CLI = new URL('../../src/cli.ts', import.meta.url);
const MAX_WAIT_MS = 120_000;

let s: Surroundings;
beforeAll(async () => {
  s = await startSurroundings();
}, MAX_WAIT_MS);
afterAll(async () => {
  // Run by root, the data lies elsewhere.
  await rm(await realpath(join(s.folder, 'data', 'postgres')), { recursive: true, force: true });
  await s.stop();
});

test('the bot makes its key, answers over Socket Mode, and doctor says that it is ready', {
  timeout: MAX_WAIT_MS,
}, async () => {
  const { DATABASE_URL: _url, CREDENTIALS_KEYS: _keys, SLACK_SIGNING_SECRET: _secret, ...rest } = s.settings;
  const env = {
    ...Object.fromEntries(Object.keys(s.settings).map((name) => [name, undefined])),
    ...rest,
    SLACK_APP_TOKEN: s.workspace.appToken,
  };
  const bot = await s.start(MAIN, env);
  const alice = s.workspace.as('U0ALICE');
  expect(await answerTo(s.workspace, alice, '/domain help')).toContain('/domain link');
  await link(s.workspace, alice);

  const file = join(s.folder, 'data', 'credentials.key');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const key = (await readFile(file, 'utf8')).trim();
  expect(bot.child.output()).toContain(file);
  expect(bot.child.output()).not.toContain(key);

  const command = async (...args: string[]) => {
    const child = startChild(CLI, { args, env, cwd: s.folder });
    return { code: await child.ended, output: child.output() };
  };
  const doctor = await command('doctor');
  expect(doctor.output).toContain(`Key file: ${file} encrypts credentials. No backup contains it`);
  expect(doctor.output.trim().split('\n').at(-1)).toBe('Ready.');
  expect(doctor.code).toBe(0);

  const backup = await command('backup', 'bot.backup');
  expect(backup.code, backup.output).toBe(0);
  const [id = '', secret = ''] = key.split(/:(.*)/);
  const bytes = await readFile(join(s.folder, 'bot.backup'));
  expect(bytes.includes(secret)).toBe(false);
  expect(bytes.includes(Buffer.from(secret, 'base64'))).toBe(false);
  expect(backup.output).toContain(id);
});
