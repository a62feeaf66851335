import type { Message } from '../kit/blocks.ts';

/**
 * The moments after the start at which a person is told the progress. A delivery's address takes five answers, so one
 * is left for the outcome.
 */
const PROGRESS_AT_MS: readonly number[] = [2_000, 20_000, 120_000];

/**
 * Runs something that may take long and tells the person about its progress. The caller tells the outcome.
 * @param progress the progress at that moment
 */
export async function withProgress<T>(
  respond: (message: Message) => Promise<void>,
  progress: () => Message,
  run: () => Promise<T>,
  moments = PROGRESS_AT_MS,
): Promise<T> {
  const timers = moments.map((ms) =>
    // A lost message does not matter, because the outcome follows.
    setTimeout(() => void respond(progress()).catch(() => undefined), ms).unref(),
  );
  try {
    return await run();
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}
