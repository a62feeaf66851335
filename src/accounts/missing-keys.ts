import type { Log } from '../lib/log.ts';

/** What a missing key has sealed is read again and again, so the key is logged at most once in this time. */
const LOG_INTERVAL_MS = 60_000;

/** @returns a function to call for every key that is missing; it logs the key */
export function createMissingKeyLog(log: Log, now: () => Date): (keyId: string) => void {
  const loggedAt = new Map<string, number>();
  return (keyId) => {
    const at = now().getTime();
    if (Math.abs(at - (loggedAt.get(keyId) ?? Number.NEGATIVE_INFINITY)) < LOG_INTERVAL_MS) return;
    loggedAt.set(keyId, at);
    log.error(
      { keyId },
      'an encryption key is missing: its data waits. Add the key to CREDENTIALS_KEYS and restart',
    );
  };
}
