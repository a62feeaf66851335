import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { getSystemErrorCode } from './error.ts';

/** Identifies a process, even if its PID is reused later. `startedAt` is in clock ticks since boot. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string | null;
}

/** Identifies the scope in which PIDs are valid: one boot of a machine, or one container. */
export async function identifyPidSpace(): Promise<string> {
  if (process.platform !== 'linux') return hostname();
  try {
    const bootId = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${bootId.trim()} ${await readlink('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

export async function readOwnIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, startedAt: (await readLinuxStatus(process.pid))?.startedAt ?? null };
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!processExists(identity.pid)) return false;
  const status = await readLinuxStatus(identity.pid);
  if (status === undefined) return true;
  if (status.isZombie) return false;
  return identity.startedAt === null || identity.startedAt === status.startedAt;
}

/**
 * Whether `pid` is the PostgreSQL server that has `dataFolder` open. If the result is `unknown`, callers must not
 * remove anything that may belong to the process.
 */
export async function checkServesFolder(pid: number, dataFolder: string): Promise<'yes' | 'no' | 'unknown'> {
  if (!processExists(pid)) return 'no';
  if (process.platform === 'linux') {
    if ((await readLinuxStatus(pid))?.isZombie) return 'no';
    try {
      // The working directory of the server is its data folder. This link stays correct if the folder is renamed.
      return (await readlink(`/proc/${pid}/cwd`)) === dataFolder ? 'yes' : 'no';
    } catch (error) {
      return getSystemErrorCode(error) === 'ENOENT' && !processExists(pid) ? 'no' : 'unknown';
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

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return getSystemErrorCode(error) === 'EPERM';
  }
}

async function readLinuxStatus(pid: number): Promise<{ startedAt: string; isZombie: boolean } | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses. It may contain spaces and parentheses itself.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const startedAt = fields[19];
    return startedAt === undefined ? undefined : { startedAt, isZombie: fields[0] === 'Z' };
  } catch {
    return undefined;
  }
}
