import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY_MS } from '../lib/duration.ts';

const RETENTION_DAYS = 14;

const DAILY_BACKUP_PATTERN = /^domain-steward-(\d{4}-\d\d-\d\d)\.sql\.gz$/;
/** Matches a file left by a process that died during a backup. */
const PARTIAL_BACKUP_PATTERN = /^domain-steward-.*\.partial$/;

export interface DailyBackupOptions {
  readonly folder: string;
  /** Writes a backup. The file must not appear at `path` before the backup is complete. */
  readonly takeBackup: (path: string) => Promise<unknown>;
}

/**
 * Takes today's backup (UTC) unless it exists, and then deletes old backups. If two replicas take a backup
 * in the same folder at the same time, the later backup replaces the other.
 * @returns the backup's path; undefined if it already existed
 */
export async function takeDailyBackup(
  { folder, takeBackup }: DailyBackupOptions,
  now: Date,
): Promise<string | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `domain-steward-${now.toISOString().slice(0, 10)}.sql.gz`);
  const files = await readdir(folder);
  if (files.some((file) => join(folder, file) === path)) return undefined;
  await takeBackup(path);
  const cutoff = now.getTime() - RETENTION_DAYS * DAY_MS;
  for (const file of files) {
    const day = DAILY_BACKUP_PATTERN.exec(file)?.[1];
    // A backup counts as taken at the end of its day.
    const isOld = day !== undefined && Date.parse(day) + DAY_MS <= cutoff;
    if (
      isOld ||
      (PARTIAL_BACKUP_PATTERN.test(file) && (await readMtimeMs(join(folder, file))) < now.getTime() - DAY_MS)
    )
      await rm(join(folder, file), { force: true });
  }
  return path;
}

/** @returns when any process last completed a backup in the folder; undefined if there is none */
export async function findLastBackupTime(folder: string): Promise<Date | undefined> {
  const files = await readdir(folder).catch(() => []);
  const timesMs = await Promise.all(
    files.filter((file) => file.endsWith('.sql.gz')).map((file) => readMtimeMs(join(folder, file))),
  );
  return timesMs.length === 0 ? undefined : new Date(Math.max(...timesMs));
}

async function readMtimeMs(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
}
