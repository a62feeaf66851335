import type { SigningLog } from '../approvals/charter.ts';

/** The log of keys and charters up to a certain event. */
export interface SigningLogState extends SigningLog {
  readonly seq: number;
  readonly count: number;
  /** Sum of the events' row stamps. */
  readonly stamps: bigint;
  /** Hash of the last event. */
  readonly link: string;
}

/**
 * The part of the log that this process has verified. Until the process has compared the log with its seals, it trusts
 * no key.
 */
export class VerifiedSigningLog {
  log: SigningLogState | undefined;
}
