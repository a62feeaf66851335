import type { LoggedCharter } from '../approvals/charter.ts';
import type { KeyLog } from '../approvals/signing/key-ring.ts';

/** The log of keys and charters up to an event. */
export interface KnownLog {
  readonly keys: KeyLog;
  readonly charters: readonly LoggedCharter[];
  readonly seq: number;
  readonly count: number;
  readonly stamps: bigint;
  readonly link: string;
}

/**
 * The log as this process has verified it. A process without one trusts no key until it has compared the log with its
 * seals.
 */
export class KnownKeyLog {
  log: KnownLog | undefined;
}
