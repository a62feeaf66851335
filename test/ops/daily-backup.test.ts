import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findLastBackupTime, takeDailyBackup } from '../../src/ops/daily-backup.ts';

const DAY_MS = 86_400_000;
const NOW = new Date('2026-11-25T04:00:00Z');
const formatDay = (daysAgo: number) => new Date(NOW.getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10);
const getFileName = (daysAgo: number) => `domain-steward-${formatDay(daysAgo)}.sql.gz`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain-steward-daily-'));
});
afterEach(() => rm(folder, { recursive: true }));

const createFiles = (...names: readonly string[]) =>
  Promise.all(names.map((name) => writeFile(join(folder, name), 'a backup')));
const listFiles = async () => (await readdir(folder)).toSorted();
const runDailyBackup = (at = NOW, writeBackup = (path: string) => writeFile(path, 'a backup')) =>
  takeDailyBackup({ folder, takeBackup: writeBackup }, at);

describe('the daily backup', () => {
  test('is taken once a day', async () => {
    expect(await runDailyBackup()).toBe(join(folder, getFileName(0)));
    expect(await runDailyBackup(new Date('2026-11-25T23:59:59Z'))).toBeUndefined();
    expect(await runDailyBackup(new Date('2026-11-26T00:00:00Z'))).toBe(
      join(folder, 'domain-steward-2026-11-26.sql.gz'),
    );
  });

  test('deletes backups older than 14 days, and no newer one', async () => {
    await createFiles(...Array.from({ length: 30 }, (_, days) => getFileName(days + 1)));
    await runDailyBackup();
    expect(await listFiles()).toEqual(Array.from({ length: 15 }, (_, days) => getFileName(days)).toSorted());
  });

  test('deletes only its own files', async () => {
    const otherFiles = [
      'domain-steward-2020-01-01T020304Z.sql.gz',
      'my-domain-steward-2020-01-01.sql.gz',
      'notes.txt',
    ];
    await createFiles(...otherFiles);
    await runDailyBackup();
    expect(await listFiles()).toEqual([...otherFiles, getFileName(0)].toSorted());
  });

  test('deletes nothing if it fails', async () => {
    await createFiles(getFileName(20), getFileName(40));
    const failingBackup = runDailyBackup(NOW, async () => {
      throw new Error('the disk is full');
    });
    await expect(failingBackup).rejects.toThrow('the disk is full');
    expect(await listFiles()).toEqual([getFileName(20), getFileName(40)].toSorted());
  });

  test('deletes old backups only after the new one is complete', async () => {
    await createFiles(getFileName(20));
    let filesDuringBackup: readonly string[] = [];
    await runDailyBackup(NOW, async (path) => {
      filesDuringBackup = await listFiles();
      await writeFile(path, 'a backup');
    });
    expect(filesDuringBackup).toEqual([getFileName(20)]);
    expect(await listFiles()).toEqual([getFileName(0)]);
  });

  test('deletes partial files of a dead process after a day', async () => {
    const [old, fresh] = [
      'domain-steward-2026-11-20.sql.gz.partial',
      'domain-steward-2026-11-25.sql.gz.partial',
    ];
    await createFiles(old, fresh);
    const subtractFromNow = (ms: number) => new Date(NOW.getTime() - ms);
    await utimes(join(folder, old), subtractFromNow(2 * DAY_MS), subtractFromNow(2 * DAY_MS));
    await utimes(join(folder, fresh), subtractFromNow(1_000), subtractFromNow(1_000));
    await runDailyBackup();
    expect(await listFiles()).toEqual([getFileName(0), fresh].toSorted());
  });
});

test('the last backup time is that of the latest file, even if taken manually', async () => {
  expect(await findLastBackupTime(folder)).toBeUndefined();
  await createFiles(getFileName(1), 'by-hand.sql.gz', 'newer.txt');
  await utimes(join(folder, getFileName(1)), NOW, new Date('2026-11-24T04:00:00Z'));
  await utimes(join(folder, 'by-hand.sql.gz'), NOW, new Date('2026-11-24T09:00:00Z'));
  expect(await findLastBackupTime(folder)).toEqual(new Date('2026-11-24T09:00:00Z'));
  expect(await findLastBackupTime(join(folder, 'none'))).toBeUndefined();
});
