import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockFolder } from '../src/folder-lock.ts';
import { processSpace } from '../src/processes.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain-steward-lock-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Creates the lock of a dead holder, with a process ID above the system's limit. */
async function leaveLock(number: number): Promise<void> {
  const holder = { pid: 2 ** 30, startedAt: '1', space: await processSpace() };
  await writeFile(join(folder, `lock.${number}`), JSON.stringify(holder));
}

test('exactly one of many contenders gets the lock of a dead holder', async () => {
  await leaveLock(3);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)));
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(19);
  for (const one of refused) expect(one).toMatchObject({ reason: { problem: 'in_use' } });
  expect(await readdir(folder), 'lock files').toHaveLength(1);
});

test('a held lock is refused immediately, and available after its release', async () => {
  const unlock = await lockFolder(folder);
  await expect(lockFolder(folder)).rejects.toMatchObject({
    problem: 'in_use',
    message: expect.stringMatching(new RegExp(`process ${process.pid}.*DATABASE_URL`)),
  });
  await unlock();
  await (await lockFolder(folder))();
});

test('a lock with a reused process ID is available on Linux, and refused elsewhere', async () => {
  const holder = { pid: process.pid, startedAt: '1', space: await processSpace() };
  await writeFile(join(folder, 'lock.1'), JSON.stringify(holder));
  if (process.platform === 'linux') await (await lockFolder(folder))();
  else await expect(lockFolder(folder)).rejects.toMatchObject({ problem: 'in_use' });
});

describe('a folder shared with another machine or container', () => {
  /** This process's ID, but in another container. */
  const elsewhere = { pid: process.pid, startedAt: null, space: 'another container' };
  let file: string;
  beforeEach(async () => {
    file = join(folder, 'lock.1');
    await writeFile(file, JSON.stringify(elsewhere));
  });

  test('is refused while the lock is fresh', async () => {
    await expect(lockFolder(folder, 0)).rejects.toMatchObject({
      problem: 'in_use',
      message: expect.stringMatching(/another machine or container.*DATABASE_URL/),
    });
    expect(JSON.parse(await readFile(file, 'utf8')), 'lock of the other container').toEqual(elsewhere);
  });

  test('is available if the lock is stale', async () => {
    const past = new Date(Date.now() - 60_000);
    await utimes(file, past, past);
    await lockFolder(folder, 0);
    expect(await readFile(join(folder, 'lock.2'), 'utf8')).toContain(await processSpace());
  });

  test('is waited for while the lock could be a killed container’s', async () => {
    const soonOld = new Date(Date.now() - 9_800);
    await utimes(file, soonOld, soonOld);
    await lockFolder(folder);
    expect(await readdir(folder)).toEqual(['lock.2']);
  });
});
