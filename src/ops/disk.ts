import { statfs } from 'node:fs/promises';

/** Free for this user on the disk of a folder; undefined where there is no such folder. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  return disk === undefined ? undefined : disk.bavail * disk.bsize;
}
