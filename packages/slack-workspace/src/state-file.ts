import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { channelSchema, fileSchema, messageSchema, viewSchema } from './protocol.ts';
import type { SavedState, State } from './state.ts';

const savedStateSchema = z.object({
  format: z.literal(1),
  lastTs: z.number(),
  channels: z.array(channelSchema),
  messages: z.record(z.string(), z.array(messageSchema)),
  homes: z.record(z.string(), viewSchema),
  files: z.array(z.object({ info: fileSchema, base64: z.string() })),
});

const WRITE_DELAY_MS = 200;

export interface StateFile {
  /**
   * Writes unsaved changes and stops saving.
   * @throws Error if the last write failed
   */
  flush(): Promise<void>;
}

/**
 * Loads the state from a file if it exists. Saves the state atomically, shortly after each change.
 *
 * @throws Error if the file isn't a saved workspace
 */
export function persistToFile(state: State, path: string): StateFile {
  const savedState = readSavedState(path);
  if (savedState) state.restore(savedState);
  let timer: NodeJS.Timeout | undefined;
  let pendingWrite: Promise<void> = Promise.resolve();
  let writeError: Error | undefined;
  const write = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    pendingWrite = pendingWrite.then(async () => {
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(`${path}.new`, JSON.stringify(state.serialize()), { mode: 0o600 });
        await rename(`${path}.new`, path);
        writeError = undefined;
      } catch (error) {
        writeError = new Error(`can't write the workspace's state to ${path}`, { cause: error });
      }
    });
    return pendingWrite;
  };
  const unsubscribe = state.onChange(() => {
    timer ??= setTimeout(() => void write(), WRITE_DELAY_MS).unref();
  });
  return {
    flush: async () => {
      unsubscribe();
      await (timer || writeError ? write() : pendingWrite);
      if (writeError) throw writeError;
    },
  };
}

function readSavedState(path: string): SavedState | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Error(`can't read the workspace's state from ${path}`, { cause: error });
  }
  try {
    return savedStateSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`can't read the workspace's state: ${path} is not a saved workspace`, { cause: error });
  }
}
