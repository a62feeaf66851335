import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockFolder } from '../src/folder-lock.ts';
import { processSpace } from '../src/processes.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain-steward-lock-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** A holder that died: no process has this number, which is above what systems give out. */
async function leaveLock(number: number): Promise<void> {
  const holder = { pid: 2 ** 30, startedAt: '1', space: await processSpace() };
  await writeFile(join(folder, `lock.${number}`), JSON.stringify(holder));
}

test('the lock of a dead holder goes to one of many who want it, then to the others in turn', async () => {
  await leaveLock(3);
  let inside = 0;
  let most = 0;
  let turns = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const unlock = await lockFolder(folder, 10_000);
      inside += 1;
      most = Math.max(most, inside);
      for (let i = 0; i < 5; i += 1) await setImmediate();
      inside -= 1;
      turns += 1;
      await unlock();
    }),
  );
  expect({ most, turns }).toEqual({ most: 1, turns: 20 });
  expect(await readdir(folder), 'old locks pile up').toHaveLength(1);
});

test('the lock of a living holder is waited for, then named', async () => {
  const unlock = await lockFolder(folder, 0);
  await expect(lockFolder(folder, 50)).rejects.toMatchObject({
    problem: 'locked',
    message: expect.stringContaining(join(folder, 'lock.1')),
  });
  await unlock();
  await (await lockFolder(folder, 0))();
});

test('a number that another process has got since does not keep the lock', async () => {
  const holder = { pid: process.pid, startedAt: '1', space: await processSpace() };
  await writeFile(join(folder, 'lock.1'), JSON.stringify(holder));
  if (process.platform === 'linux') await (await lockFolder(folder, 0))();
  else await expect(lockFolder(folder, 0)).rejects.toMatchObject({ problem: 'locked' });
});
