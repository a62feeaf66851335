import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { systemCode } from './error.ts';

/** Identifies a process, even if its number is reused later. `startedAt` is in the units of the kernel. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string | null;
}

/**
 * Identifies the set of processes whose numbers this process can see: one boot of a machine, or one container. Numbers
 * from another set mean nothing here.
 */
export async function processSpace(): Promise<string> {
  if (process.platform !== 'linux') return hostname();
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()} ${await readlink('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, startedAt: (await linuxStatus(process.pid))?.startedAt ?? null };
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!exists(identity.pid)) return false;
  const status = await linuxStatus(identity.pid);
  if (status === undefined) return true;
  if (status.zombie) return false;
  return identity.startedAt === null || identity.startedAt === status.startedAt;
}

/**
 * Whether `pid` is the PostgreSQL server that has `dataFolder` open. If the result is `unknown`, nothing that may
 * belong to the process may be removed.
 */
export async function checkServesFolder(pid: number, dataFolder: string): Promise<'yes' | 'no' | 'unknown'> {
  if (!exists(pid)) return 'no';
  if (process.platform === 'linux') {
    if ((await linuxStatus(pid))?.zombie) return 'no';
    try {
      // The working directory of the server is its data folder. This link stays correct if the folder is renamed.
      return (await readlink(`/proc/${pid}/cwd`)) === dataFolder ? 'yes' : 'no';
    } catch (error) {
      return systemCode(error) === 'ENOENT' && !exists(pid) ? 'no' : 'unknown';
    }
  }
  if (process.platform === 'win32') return 'unknown';
  try {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
    return stdout.includes('postgres') ? 'unknown' : 'no';
  } catch {
    return 'unknown';
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

async function linuxStatus(pid: number): Promise<{ startedAt: string; zombie: boolean } | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses. It may contain spaces and parentheses itself.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const startedAt = fields[19];
    return startedAt === undefined ? undefined : { startedAt, zombie: fields[0] === 'Z' };
  } catch {
    return undefined;
  }
}
