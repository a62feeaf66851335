import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { refuseOtherMachine } from '../src/other-machine.ts';
import { processSpace } from '../src/processes.ts';

let home: { folder: string; spaceFile: string };

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-machine-'));
  home = { folder, spaceFile: join(folder, 'used-in') };
});

afterEach(() => rm(home.folder, { recursive: true, force: true }));

test('a folder in use by another machine or container is refused', async () => {
  await writeFile(home.spaceFile, 'another container');
  await expect(refuseOtherMachine(home, 0)).rejects.toMatchObject({
    problem: 'in_use_elsewhere',
    message: expect.stringContaining('DATABASE_URL'),
  });
  expect(await readFile(home.spaceFile, 'utf8'), 'taken over all the same').toBe('another container');
});

test('a folder that another machine has stopped using is taken over', async () => {
  await writeFile(home.spaceFile, 'another container');
  const past = new Date(Date.now() - 60_000);
  await utimes(home.spaceFile, past, past);
  await refuseOtherMachine(home, 0);
  expect(await readFile(home.spaceFile, 'utf8')).toBe(await processSpace());
});

test('a folder in use by this machine is shared', async () => {
  await refuseOtherMachine(home, 0);
  await refuseOtherMachine(home, 0);
  expect(await readFile(home.spaceFile, 'utf8')).toBe(await processSpace());
});
