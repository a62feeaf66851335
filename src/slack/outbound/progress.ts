import type { Message } from '../kit/blocks.ts';

/**
 * When progress messages are sent, from the start. A response URL accepts five answers, and one is needed for the
 * outcome.
 */
const PROGRESS_AT_MS: readonly number[] = [2_000, 20_000, 120_000];

export async function runWithProgress<T>(
  respond: (message: Message) => Promise<void>,
  buildProgress: () => Message,
  run: () => Promise<T>,
  delaysMs = PROGRESS_AT_MS,
): Promise<T> {
  const timers = delaysMs.map((delayMs) =>
    // It doesn't matter if a message is lost, because the outcome follows.
    setTimeout(() => void respond(buildProgress()).catch(() => undefined), delayMs).unref(),
  );
  try {
    return await run();
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}
