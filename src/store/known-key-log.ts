import type { SigningLog } from '../approvals/charter.ts';

/** The log of keys and charters up to a certain event. */
export interface SigningLogState extends SigningLog {
  readonly seq: number;
  readonly count: number;
  /** Sum of the events' row stamps, which change if a row is rewritten. */
  readonly stampSum: bigint;
  readonly lastEventHash: string;
}

/**
 * The part of the log that this process has verified. The process trusts no key until it has compared the log with the
 * seals.
 */
export class VerifiedSigningLog {
  log: SigningLogState | undefined;
}
