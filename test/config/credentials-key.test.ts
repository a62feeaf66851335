import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadCredentialsKeys } from '../../src/config/credentials-key.ts';
import { ConfigError, parseVaultKeys } from '../../src/config/environment.ts';

let dataDir: string;
const config = () => ({ credentialsKeys: undefined, dataDir });
beforeEach(async () => {
  dataDir = join(await mkdtemp(join(tmpdir(), 'domain-steward-key-')), 'data');
});
afterEach(() => rm(join(dataDir, '..'), { recursive: true, force: true }));

test('a key is created once, and only its owner can read it', async () => {
  const created = loadCredentialsKeys(config());
  const file = join(dataDir, 'credentials.key');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(loadCredentialsKeys(config())).toEqual(created);
  expect(parseVaultKeys((await readFile(file, 'utf8')).trim())).toEqual(created);
  expect(created).toHaveLength(1);
});

test('a key that replaces a lost one has another ID', async () => {
  const [first] = loadCredentialsKeys(config());
  await rm(join(dataDir, 'credentials.key'));
  const [second] = loadCredentialsKeys(config());
  expect(second.id).not.toBe(first.id);
});

test('keys in the settings override the file, and none is created', async () => {
  const credentialsKeys = parseVaultKeys(`a:${Buffer.alloc(32).toString('base64')}`);
  expect(loadCredentialsKeys({ credentialsKeys, dataDir })).toBe(credentialsKeys);
  await expect(stat(dataDir)).rejects.toThrow(/ENOENT/);
});

test('a file without a valid key throws an error that doesn’t quote it, and is kept', async () => {
  loadCredentialsKeys(config());
  const file = join(dataDir, 'credentials.key');
  await writeFile(file, 'canary');
  await chmod(file, 0o600);
  expect(() => loadCredentialsKeys(config())).toThrow(ConfigError);
  expect(() => loadCredentialsKeys(config())).not.toThrow(/canary/);
  expect(await readFile(file, 'utf8')).toBe('canary');
});

test('a folder that can’t be created throws a ConfigError', async () => {
  loadCredentialsKeys(config());
  const dataDirInFile = join(dataDir, 'credentials.key', 'data');
  expect(() => loadCredentialsKeys({ credentialsKeys: undefined, dataDir: dataDirInFile })).toThrow(
    ConfigError,
  );
});
