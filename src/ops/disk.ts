import { statfs } from 'node:fs/promises';

/** Free bytes for this user on a folder's disk; undefined if the folder is missing. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  return disk === undefined ? undefined : disk.bavail * disk.bsize;
}
