import { readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  createPrivateFolder,
  FAST_SETTINGS,
  isStopped,
  query,
  SHARED_FOLDER,
  start,
  useServers,
} from './servers.ts';

/*
 * Starting and stopping a server. Killed servers and competing owners are in embedded-postgres.deep.test.ts.
 */

useServers();

describe('the owner', () => {
  test('keeps its data across restarts, and stops the server', async () => {
    const first = await start({ settings: FAST_SETTINGS });
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    expect(await isStopped(SHARED_FOLDER), 'server is stopped').toBe(true);

    const second = await start();
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await query(second.url, 'DROP TABLE kept');
  });

  test('starts a small, durable server that only accepts local connections with the password', async () => {
    const { url } = await start();
    const expectedSettings = {
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '40',
      shared_buffers: '16MB',
      server_encoding: 'UTF8',
      password_encryption: 'scram-sha-256',
    };
    const settingNames = Object.keys(expectedSettings);
    const rows = await query<Record<string, string>>(
      url,
      `SELECT ${settingNames.map((name) => `current_setting('${name}') AS ${name}`).join(', ')}`,
    );
    expect(rows).toEqual([expectedSettings]);

    const urlWithWrongPassword = new URL(url);
    urlWithWrongPassword.password = 'guess';
    await expect(query(urlWithWrongPassword.href, 'SELECT 1')).rejects.toThrow(
      /password authentication failed/,
    );
    const { mode } = await stat(join(SHARED_FOLDER, 'postgres/password'));
    expect(mode & 0o777, 'mode of the password file').toBe(0o600);
  });
});

describe('start errors say what to do', () => {
  test('if another major version created the data, which is left unchanged', async () => {
    await (await start()).stop();
    const versionFile = join(SHARED_FOLDER, 'postgres/data/PG_VERSION');
    const currentVersion = await readFile(versionFile, 'utf8');
    await writeFile(versionFile, '17\n');
    try {
      await expect(start()).rejects.toMatchObject({
        problem: 'version_mismatch',
        message: expect.stringMatching(
          /PostgreSQL 17.*\n.*the release that you ran before[\s\S]*pg_dump[\s\S]*DATABASE_URL/,
        ),
      });
      expect(await readFile(versionFile, 'utf8')).toBe('17\n');
    } finally {
      await writeFile(versionFile, currentVersion);
    }
  });

  test('if the password file is missing', async () => {
    await (await start()).stop();
    const passwordFile = join(SHARED_FOLDER, 'postgres/password');
    const password = await readFile(passwordFile, 'utf8');
    await rm(passwordFile);
    try {
      await expect(start()).rejects.toMatchObject({ problem: 'password_missing' });
      expect(await isStopped(SHARED_FOLDER), 'server is stopped').toBe(true);
    } finally {
      await writeFile(passwordFile, password, { mode: 0o600 });
    }
  });

  test('if a link to the data is broken', async () => {
    const folder = await createPrivateFolder();
    await symlink(join(folder, 'nowhere'), join(folder, 'postgres'));
    await expect(start({ dataDir: folder })).rejects.toMatchObject({ problem: 'data_missing' });
  });
});
