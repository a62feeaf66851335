import type { LoggedCharter } from '../approvals/charter.ts';
import type { KeyLog } from '../approvals/signing/key-ring.ts';

/** The log of keys and charters up to a certain event. */
export interface KnownLog {
  readonly keys: KeyLog;
  readonly charters: readonly LoggedCharter[];
  readonly seq: number;
  readonly count: number;
  readonly stamps: bigint;
  readonly link: string;
}

/**
 * The part of the log that this process has verified. Until the process has compared the log with its seals, it trusts
 * no key.
 */
export class KnownKeyLog {
  log: KnownLog | undefined;
}
