import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { channelSchema, fileSchema, messageSchema, viewSchema } from './protocol.ts';
import type { SavedState, State } from './state.ts';

const savedSchema = z.object({
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
   * Writes unsaved changes.
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
  const saved = readSavedState(path);
  if (saved) state.restore(saved);
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let writeError: Error | undefined;
  const write = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(async () => {
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(`${path}.new`, JSON.stringify(state.save()), { mode: 0o600 });
        await rename(`${path}.new`, path);
        writeError = undefined;
      } catch (error) {
        writeError = new Error(`writing the workspace's state to ${path}`, { cause: error });
      }
    });
    return writing;
  };
  const unsubscribe = state.onChange(() => {
    timer ??= setTimeout(() => void write(), WRITE_DELAY_MS).unref();
  });
  return {
    flush: async () => {
      unsubscribe();
      await (timer || writeError ? write() : writing);
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
    throw new Error(`reading the workspace's state from ${path}`, { cause: error });
  }
  try {
    return savedSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`reading the workspace's state from ${path}: not a saved workspace`, { cause: error });
  }
}
