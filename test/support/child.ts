import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const STRIP_TYPES = new URL('../../scripts/typescript.mjs', import.meta.url).href;

export interface Child {
  readonly pid: number;
  /** All output so far, standard output and error. */
  output(): string;
  /** Waits for a matching output line; rejects with all output if the process ends first. */
  waitForLine(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends the signal (`SIGKILL` by default) and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Resolves when it ends, with its exit code or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

export interface ChildOptions {
  readonly args?: readonly string[];
  /** Added to this process's environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Starts it in its own process group, so that `process.kill(-pid, …)` reaches it like Ctrl-C in a terminal. */
  readonly ownGroup?: boolean;
}

/**
 * Runs a TypeScript source or a bundle in a separate process, without a build. Node gets the options of `npm start`.
 * @param entry its URL, such as `new URL('../../src/main.ts', import.meta.url)`
 */
export function startChild(entry: URL, options: ChildOptions = {}): Child {
  const child = spawn(
    process.execPath,
    [
      ...(entry.pathname.endsWith('.ts') ? ['--import', STRIP_TYPES] : []),
      fileURLToPath(entry),
      ...(options.args ?? []),
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
      detached: options.ownGroup ?? false,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    },
  );
  const { pid } = child;
  if (pid === undefined) throw new Error(`${fileURLToPath(entry)} could not be started`);

  let text = '';
  const outputListeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      for (const listener of outputListeners) listener();
    });
  }
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 0));
  });

  return {
    pid,
    ended,
    output: () => text,
    waitForLine: (pattern) =>
      new Promise((resolve, reject) => {
        const checkOutput = () => {
          const completeLines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
          const found = completeLines.map((line) => pattern.exec(line)).find((match) => match !== null);
          if (!found) return;
          outputListeners.delete(checkOutput);
          resolve(found);
        };
        outputListeners.add(checkOutput);
        checkOutput();
        void ended.then((exitCodeOrSignal) => {
          if (outputListeners.delete(checkOutput)) {
            reject(
              new Error(`ended with ${exitCodeOrSignal} before it printed ${pattern}; it printed:\n${text}`),
            );
          }
        });
      }),
    kill: async (signal = 'SIGKILL') => {
      child.kill(signal);
      await ended;
    },
  };
}
