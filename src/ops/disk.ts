import { statfs } from 'node:fs/promises';

/** @returns the bytes available to this user on the folder's disk; undefined if the folder doesn't exist */
export async function readFreeBytes(folder: string): Promise<number | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  return disk === undefined ? undefined : disk.bavail * disk.bsize;
}
