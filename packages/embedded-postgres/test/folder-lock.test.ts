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

/** A dead holder: no process has this number, because it is above the system's limit. */
async function leaveLock(number: number): Promise<void> {
  const holder = { pid: 2 ** 30, startedAt: '1', space: await processSpace() };
  await writeFile(join(folder, `lock.${number}`), JSON.stringify(holder));
}

test('the lock of a dead holder goes to one of many contenders; the others are refused', async () => {
  await leaveLock(3);
  const taken = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)));
  const refused = taken.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(19);
  for (const one of refused) expect(one).toMatchObject({ reason: { problem: 'in_use' } });
  expect(await readdir(folder), 'old locks pile up').toHaveLength(1);
});

test('the lock of a living holder is refused at once, and is free once released', async () => {
  const unlock = await lockFolder(folder);
  await expect(lockFolder(folder)).rejects.toMatchObject({
    problem: 'in_use',
    message: expect.stringMatching(new RegExp(`process ${process.pid}.*DATABASE_URL`)),
  });
  await unlock();
  await (await lockFolder(folder))();
});

test('a reused process number doesn’t keep the lock', async () => {
  const holder = { pid: process.pid, startedAt: '1', space: await processSpace() };
  await writeFile(join(folder, 'lock.1'), JSON.stringify(holder));
  if (process.platform === 'linux') await (await lockFolder(folder))();
  else await expect(lockFolder(folder)).rejects.toMatchObject({ problem: 'in_use' });
});

describe('a folder shared with another machine or container', () => {
  /** The same process number as this one, but in another container. */
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
    expect(JSON.parse(await readFile(file, 'utf8')), 'taken over all the same').toEqual(elsewhere);
  });

  test('is free when the lock is stale', async () => {
    const past = new Date(Date.now() - 60_000);
    await utimes(file, past, past);
    await lockFolder(folder, 0);
    expect(await readFile(join(folder, 'lock.2'), 'utf8')).toContain(await processSpace());
  });

  test('is waited for while the lock may be from a killed container', async () => {
    const soonOld = new Date(Date.now() - 9_800);
    await utimes(file, soonOld, soonOld);
    await lockFolder(folder);
    expect(await readdir(folder)).toEqual(['lock.2']);
  });
});
