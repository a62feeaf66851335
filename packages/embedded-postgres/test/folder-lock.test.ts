import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockFolder } from '../src/folder-lock.ts';
import { identifyPidSpace } from '../src/processes.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain-steward-lock-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Creates a lock whose process ID is above the system's limit. */
async function createDeadHolderLock(number: number): Promise<void> {
  const holder = { pid: 2 ** 30, startedAt: '1', space: await identifyPidSpace() };
  await writeFile(join(folder, `lock.${number}`), JSON.stringify(holder));
}

test('exactly one of many contenders gets the lock of a dead holder', async () => {
  await createDeadHolderLock(3);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)));
  const rejectedResults = results.filter(({ status }) => status === 'rejected');
  expect(rejectedResults).toHaveLength(19);
  for (const result of rejectedResults) expect(result).toMatchObject({ reason: { problem: 'in_use' } });
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
  const holder = { pid: process.pid, startedAt: '1', space: await identifyPidSpace() };
  await writeFile(join(folder, 'lock.1'), JSON.stringify(holder));
  if (process.platform === 'linux') await (await lockFolder(folder))();
  else await expect(lockFolder(folder)).rejects.toMatchObject({ problem: 'in_use' });
});

describe('a folder shared with another machine or container', () => {
  /** This process's ID, but in another container. */
  const otherContainerHolder = { pid: process.pid, startedAt: null, space: 'another container' };
  let lockFile: string;
  beforeEach(async () => {
    lockFile = join(folder, 'lock.1');
    await writeFile(lockFile, JSON.stringify(otherContainerHolder));
  });

  test('is refused while the lock is fresh', async () => {
    await expect(lockFolder(folder, 0)).rejects.toMatchObject({
      problem: 'in_use',
      message: expect.stringMatching(/another machine or container.*DATABASE_URL/),
    });
    expect(JSON.parse(await readFile(lockFile, 'utf8')), 'lock of the other container').toEqual(
      otherContainerHolder,
    );
  });

  test('is available if the lock is stale', async () => {
    const staleTime = new Date(Date.now() - 60_000);
    await utimes(lockFile, staleTime, staleTime);
    await lockFolder(folder, 0);
    expect(await readFile(join(folder, 'lock.2'), 'utf8')).toContain(await identifyPidSpace());
  });

  test('is waited for if the lock is about to become stale, as after a container was killed', async () => {
    const almostStaleTime = new Date(Date.now() - 9_800);
    await utimes(lockFile, almostStaleTime, almostStaleTime);
    await lockFolder(folder);
    expect(await readdir(folder)).toEqual(['lock.2']);
  });
});
