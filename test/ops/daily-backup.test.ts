import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findLastBackupTime, takeDailyBackup } from '../../src/ops/daily-backup.ts';

/* The existing daily backups, day by day. */

const DAY_MS = 86_400_000;
const NOW = new Date('2026-11-25T04:00:00Z');
const dayOf = (daysAgo: number) => new Date(NOW.getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10);
const nameOf = (daysAgo: number) => `domain-steward-${dayOf(daysAgo)}.sql.gz`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domain-steward-daily-'));
});
afterEach(() => rm(folder, { recursive: true }));

const put = (...names: readonly string[]) =>
  Promise.all(names.map((name) => writeFile(join(folder, name), 'a backup')));
const files = async () => (await readdir(folder)).toSorted();
const take = (at = NOW, work = (path: string) => writeFile(path, 'a backup')) =>
  takeDailyBackup({ folder, take: work }, at);

describe('the backup of a day', () => {
  test('is taken once', async () => {
    expect(await take()).toBe(join(folder, nameOf(0)));
    expect(await take(new Date('2026-11-25T23:59:59Z'))).toBeUndefined();
    expect(await take(new Date('2026-11-26T00:00:00Z'))).toBe(
      join(folder, 'domain-steward-2026-11-26.sql.gz'),
    );
  });

  test('deletes backups older than 14 days, and no newer one', async () => {
    await put(...Array.from({ length: 30 }, (_, days) => nameOf(days + 1)));
    await take();
    expect(await files()).toEqual(Array.from({ length: 15 }, (_, days) => nameOf(days)).toSorted());
  });

  test('deletes only its own files', async () => {
    const others = [
      'domain-steward-2020-01-01T020304Z.sql.gz',
      'my-domain-steward-2020-01-01.sql.gz',
      'notes.txt',
    ];
    await put(...others);
    await take();
    expect(await files()).toEqual([...others, nameOf(0)].toSorted());
  });

  test('deletes nothing if it fails: the last one is never lost', async () => {
    await put(nameOf(20), nameOf(40));
    const failing = take(NOW, async () => {
      throw new Error('the disk is full');
    });
    await expect(failing).rejects.toThrow('the disk is full');
    expect(await files()).toEqual([nameOf(20), nameOf(40)].toSorted());
  });

  test('after weeks without one exists before the old ones are deleted', async () => {
    await put(nameOf(20));
    let before: readonly string[] = [];
    await take(NOW, async (path) => {
      before = await files();
      await writeFile(path, 'a backup');
    });
    expect(before).toEqual([nameOf(20)]);
    expect(await files()).toEqual([nameOf(0)]);
  });

  test('deletes leftovers of a dead process, after a day', async () => {
    const [old, fresh] = [
      'domain-steward-2026-11-20.sql.gz.partial',
      'domain-steward-2026-11-25.sql.gz.partial',
    ];
    await put(old, fresh);
    const at = (ms: number) => new Date(NOW.getTime() - ms);
    await utimes(join(folder, old), at(2 * DAY_MS), at(2 * DAY_MS));
    await utimes(join(folder, fresh), at(1_000), at(1_000));
    await take();
    expect(await files()).toEqual([nameOf(0), fresh].toSorted());
  });
});

test('the newest backup is the one completed last, by any means', async () => {
  expect(await findLastBackupTime(folder)).toBeUndefined();
  await put(nameOf(1), 'by-hand.sql.gz', 'newer.txt');
  await utimes(join(folder, nameOf(1)), NOW, new Date('2026-11-24T04:00:00Z'));
  await utimes(join(folder, 'by-hand.sql.gz'), NOW, new Date('2026-11-24T09:00:00Z'));
  expect(await findLastBackupTime(folder)).toEqual(new Date('2026-11-24T09:00:00Z'));
  expect(await findLastBackupTime(join(folder, 'none'))).toBeUndefined();
});
