import type { Message } from '../kit/blocks.ts';

/** A response URL accepts only five messages, and one is needed for the outcome. */
const PROGRESS_DELAYS_MS: readonly number[] = [2_000, 20_000, 120_000];

export async function runWithProgress<T>(
  respond: (message: Message) => Promise<void>,
  buildProgressMessage: () => Message,
  run: () => Promise<T>,
  delaysMs = PROGRESS_DELAYS_MS,
): Promise<T> {
  const timers = delaysMs.map((delayMs) =>
    // A lost progress message doesn't matter, because the outcome follows.
    setTimeout(() => void respond(buildProgressMessage()).catch(() => undefined), delayMs).unref(),
  );
  try {
    return await run();
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}
