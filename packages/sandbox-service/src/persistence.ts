import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type StateData, stateSchema } from './model.ts';

const DEBOUNCE_MS = 150;

/**
 * @returns the saved state, or undefined if there is no file yet
 * @throws if the file isn't the state of a sandbox
 */
export async function loadState(file: string): Promise<StateData | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Error(`reading the sandbox's state from ${file}`, { cause: error });
  }
  try {
    return stateSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${file} is not a sandbox's state; remove it to start over`, { cause: error });
  }
}

/**
 * Saves the state to a file shortly after each change. After a crash, the file contains either the old or the new
 * state.
 */
export class StateFile {
  readonly #file: string;
  readonly #getState: () => StateData;
  #timer: NodeJS.Timeout | undefined;
  #hasUnsavedChanges = false;
  #pendingWrite: Promise<void> = Promise.resolve();

  constructor(file: string, getState: () => StateData) {
    this.#file = file;
    this.#getState = getState;
  }

  scheduleSave(): void {
    this.#hasUnsavedChanges = true;
    // A failed write is retried at the next change or flush; `flush` reports the error.
    this.#timer ??= setTimeout(() => this.flush().catch(() => undefined), DEBOUNCE_MS);
  }

  /**
   * Writes unsaved changes.
   * @throws if the file can't be written
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pendingWrite = this.#pendingWrite.catch(() => undefined).then(() => this.#write());
    return this.#pendingWrite;
  }

  async #write(): Promise<void> {
    if (!this.#hasUnsavedChanges) return;
    this.#hasUnsavedChanges = false;
    const temporaryFile = `${this.#file}.${randomUUID()}`;
    try {
      await mkdir(dirname(this.#file), { recursive: true });
      await writeDurably(temporaryFile, JSON.stringify(this.#getState()));
      await rename(temporaryFile, this.#file);
    } catch (error) {
      this.#hasUnsavedChanges = true;
      // A failed cleanup must not hide the original error.
      await rm(temporaryFile, { force: true }).catch(() => undefined);
      throw new Error(`keeping the sandbox's state in ${this.#file}`, { cause: error });
    }
  }
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
