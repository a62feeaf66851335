import { canonicalJson } from '../lib/canonical-json.ts';
import type { Log } from '../lib/log.ts';
import type { LedgerStore } from './ports.ts';
import { hashOfSeal } from './seal.ts';

/*
 * Has the anchors stamped by a time stamping service. Nothing waits for it: a stamp is a row beside its anchor, and an anchor without
 * one is tried again for three days.
 */

export interface TimestampingContext {
  /** `LEDGER_TSA_URL`; undefined where none is wanted. */
  readonly url: string | undefined;
  readonly store: LedgerStore;
  readonly now: () => Date;
  readonly log: Log;
  /** Ends what is under way at shutdown. */
  readonly signal: AbortSignal;
}

/** The budget of one attempt. */
export const STAMP_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 60 * 60_000;
const TRIED_MS = 3 * 24 * 60 * 60_000;
/** People are told of an anchor that has no stamp for this long. */
const ALERT_AFTER_MS = 60 * 60_000;

/** @returns stamps the anchors that have no stamp; after a failure it does nothing until a pause is over */
export function createTimestamping({
  url,
  store,
  now,
  log,
  signal,
}: TimestampingContext): () => Promise<void> {
  if (url === undefined) return async () => undefined;
  const service = new URL(url);
  let failures = 0;
  let pausedUntil = 0;

  /** @throws {TimeStampError} */
  async function stamp({ n, hash }: { readonly n: number; readonly hash: string }): Promise<void> {
    const [seal] = await store.seals(n, n);
    // That it differs is told by the look at the ledger.
    if (seal === undefined || hashOfSeal(seal) !== hash) return;
    // The library is large, and most installations have no use for it.
    const { askForTimeStamp } = await import('./time-stamp.ts');
    const limits = { timeoutMs: STAMP_TIMEOUT_MS, signal };
    const { token, at } = await askForTimeStamp(service, canonicalJson(seal), limits);
    await store.addTimestamp(n, token, now());
    log.info({ seal: n, at, host: service.host }, 'an anchor of the ledger was stamped');
  }

  return async () => {
    if (now().getTime() < pausedUntil) return;
    const waiting = await store.unstamped(new Date(now().getTime() - TRIED_MS));
    try {
      // The newest first: what it proves holds for all before it.
      for (const anchor of waiting) {
        if (signal.aborted) return;
        await stamp(anchor);
        failures = 0;
      }
    } catch (err) {
      if (signal.aborted) return;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
      failures += 1;
      const at = now();
      pausedUntil = at.getTime() + pauseMs;
      log.warn(
        { err, host: service.host, pauseMs },
        'an anchor of the ledger was not stamped; will try again',
      );
      const oldest = waiting.at(-1);
      if (oldest !== undefined && at.getTime() - oldest.at.getTime() >= ALERT_AFTER_MS)
        await store.noteUnstamped(at);
    }
  };
}
