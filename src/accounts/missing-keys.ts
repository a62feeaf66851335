import { MINUTE_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';

/** Limits how often each missing key is logged, because secrets encrypted with it are read repeatedly. */
const LOG_INTERVAL_MS = MINUTE_MS;

export function createMissingKeyLogger(log: Log, now: () => Date): (keyId: string) => void {
  const lastLoggedAt = new Map<string, number>();
  return (keyId) => {
    const currentTime = now().getTime();
    if (Math.abs(currentTime - (lastLoggedAt.get(keyId) ?? Number.NEGATIVE_INFINITY)) < LOG_INTERVAL_MS)
      return;
    lastLoggedAt.set(keyId, currentTime);
    log.error(
      { keyId },
      'an encryption key is missing, so its data can’t be used. Add the key to CREDENTIALS_KEYS and restart',
    );
  };
}
