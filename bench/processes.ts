import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const LOADER = new URL('../scripts/typescript.mjs', import.meta.url).href;

let profilerArgs: readonly string[] = [];

/** Makes each process that is started later write a CPU profile to the folder when it ends. */
export function enableProfiling(folder: string): void {
  profilerArgs = ['--cpu-prof', '--cpu-prof-dir', folder];
}

export interface Process {
  readonly port: number;
  readonly pid: number;
  /** The time from its start until it reported its port, in milliseconds. */
  readonly startedWithinMs: number;
  /** Sends a message and waits for the response. */
  ask<T>(message: string | object, answer: z.ZodType<T>): Promise<T>;
  stop(): Promise<void>;
}

const helloSchema = z.object({ port: z.number() });

/**
 * Runs a file of `bench/children` as a separate process and waits until it reports its port.
 * @param name a TypeScript file, or JavaScript that runs as it is
 */
export async function startProcess(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Process> {
  const startedAt = performance.now();
  const child = fork(fileURLToPath(new URL(`./children/${name}`, import.meta.url)), {
    execArgv: [...(name.endsWith('.ts') ? ['--import', LOADER] : []), ...profilerArgs],
    env: { ...process.env, ...env },
    // The log is written at the default level, and discarded.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // A folder without a `.env` file.
    cwd: fileURLToPath(new URL('./children', import.meta.url)),
  });
  const { port } = helloSchema.parse(await waitForMessage(child, name));
  const startedWithinMs = performance.now() - startedAt;
  return {
    port,
    pid: child.pid ?? 0,
    startedWithinMs,
    async ask(message, answer) {
      const response = waitForMessage(child, name);
      child.send(message);
      return answer.parse(await response);
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.disconnect();
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(killTimer);
    },
  };
}

async function waitForMessage(child: ChildProcess, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error(`${name} ended before it responded`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

/** A program that runs as users run it, and logs when it is ready. */
export interface Program extends Pick<Process, 'port' | 'pid' | 'startedWithinMs' | 'stop'> {}

const readySchema = z.object({ port: z.number(), msg: z.literal('ready') });

/** Runs a JavaScript file and waits until it logs that it is ready. */
export async function startProgram(file: URL, env: Readonly<Record<string, string>>): Promise<Program> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [fileURLToPath(file)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A folder without a `.env` file.
    cwd: tmpdir(),
  });
  let port: number | undefined;
  const lines = createInterface(child.stdout);
  for await (const line of lines) {
    const parsed = readySchema.safeParse(JSON.parse(line));
    if (parsed.success) {
      port = parsed.data.port;
      break;
    }
  }
  if (port === undefined) throw new Error(`${file.pathname} ended before it was ready`);
  child.stdout.resume();
  return {
    port,
    pid: child.pid ?? 0,
    startedWithinMs: performance.now() - startedAt,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export function readResidentMemoryMb(pid: number): number {
  const kb =
    process.platform === 'linux'
      ? /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return Number(kb) / 1_024;
}
