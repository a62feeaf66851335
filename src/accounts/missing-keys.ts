import { MINUTE_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';

/** Each missing key is logged at most once in this time, because its values are read repeatedly. */
const LOG_INTERVAL_MS = MINUTE_MS;

export function createMissingKeyLogger(log: Log, now: () => Date): (keyId: string) => void {
  const loggedAt = new Map<string, number>();
  return (keyId) => {
    const at = now().getTime();
    if (Math.abs(at - (loggedAt.get(keyId) ?? Number.NEGATIVE_INFINITY)) < LOG_INTERVAL_MS) return;
    loggedAt.set(keyId, at);
    log.error(
      { keyId },
      'an encryption key is missing, so its data can’t be used. Add the key to CREDENTIALS_KEYS and restart',
    );
  };
}
