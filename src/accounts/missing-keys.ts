import type { Log } from '../log.ts';

/** Something sealed with a missing key is met again and again; it is logged this often. */
const LOG_INTERVAL_MS = 60_000;

/**
 * Logs which keys are missing.
 * @returns to be told of each of them, whenever it is missed
 */
export function createMissingKeyLog(log: Log, now: () => Date): (keyId: string) => void {
  const loggedAt = new Map<string, number>();
  return (keyId) => {
    const at = now().getTime();
    if (Math.abs(at - (loggedAt.get(keyId) ?? Number.NEGATIVE_INFINITY)) < LOG_INTERVAL_MS) return;
    loggedAt.set(keyId, at);
    log.error(
      { keyId },
      'a key is missing: what is sealed with it waits. Add the key to CREDENTIALS_KEYS and restart',
    );
  };
}
