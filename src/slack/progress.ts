import type { Message } from './views/blocks.ts';

/**
 * When a person hears how far something is, after it began. A delivery's address takes five answers; one is left for the
 * outcome.
 */
const PROGRESS_AT_MS: readonly number[] = [2_000, 20_000, 120_000];

/**
 * Runs something that may take long. Whoever waits for it is told now and then how far it is; its end is the caller's to
 * tell.
 * @param progress how far it is at that moment
 */
export async function withProgress<T>(
  respond: (message: Message) => Promise<void>,
  progress: () => Message,
  run: () => Promise<T>,
  moments = PROGRESS_AT_MS,
): Promise<T> {
  const timers = moments.map((ms) =>
    // Not heard is no reason to stop: the outcome follows.
    setTimeout(() => void respond(progress()).catch(() => undefined), ms).unref(),
  );
  try {
    return await run();
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}
