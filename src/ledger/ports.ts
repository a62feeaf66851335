import type { Sealed } from '../accounts/vault.ts';
import type { LedgerDifference } from './difference.ts';
import type { EventLine, ForgottenLine, LoggedEvent, Seal } from './seal.ts';
import type { Hash } from './tree.ts';

/** An unsealed event, or the hash of one whose content was deleted. */
export type UnsealedEvent = LoggedEvent | { readonly leaf: Hash };

/** A new entry of the ledger: a seal, and the leaves of its events, in order. */
export interface NewSeal {
  readonly seal: Seal;
  readonly leaves: readonly Hash[];
}

export interface SealedEvent {
  readonly seq: number;
  readonly leaf: Hash;
  /** Its current row; undefined when the row is gone. */
  readonly line: EventLine | ForgottenLine | undefined;
}

/** A seal with its events, as far as they exist. */
export interface SealedBlock {
  readonly seal: Seal;
  readonly events: readonly SealedEvent[];
}

/** For checking that the events about keys and charters are as sealed. */
export interface SigningBlocks {
  /** Their sequence numbers in the ledger, oldest first; null while an event isn't sealed. */
  readonly numbers: readonly (number | null)[];
  /** The highest sequence number in the ledger. */
  readonly entries: number;
  /** An unsealed event is gone. */
  readonly isAnyGone: boolean;
  /** The blocks with these events, and every block after the newest one. */
  readonly blocks: AsyncIterable<SealedBlock>;
}

/** A seal's number and the hash of its canonical form. */
export interface SealHash {
  readonly n: number;
  readonly hash: string;
}

export interface Anchor extends SealHash {
  readonly at: Date;
}

/** Events whose content was deleted. */
export interface ForgottenEvents {
  /** Ranges of their sequence numbers, both ends inclusive, disjoint and sorted. */
  readonly seqs: readonly (readonly [number, number])[];
  /** In hex, of those not sealed yet. */
  readonly leaves: ReadonlySet<string>;
}

/** The ledger of a team. Implemented by the store. */
export interface LedgerStore {
  /**
   * Seals unsealed events, at most `limit`, unless another process is sealing.
   * @param make makes the seal after the last one
   * @returns how many were sealed
   */
  seal(
    limit: number,
    make: (last: Seal | undefined, events: readonly UnsealedEvent[]) => NewSeal,
  ): Promise<number>;
  newestSeal(): Promise<Seal | undefined>;
  /** Age of the oldest unsealed event, by the database's clock. */
  waitingSeconds(): Promise<number>;
  /** Seals with their events, in order. @param sealed time range of sealing; omitted: all */
  read(sealed?: { readonly from: Date; readonly to: Date }): AsyncIterable<SealedBlock>;
  signingBlocks(): Promise<SigningBlocks>;
  ofOrder(orderId: string): Promise<readonly SealedEvent[]>;
  /** Sealed events that revoked these keys, in ledger order. @param keys fingerprints */
  revocationsOf(keys: readonly string[]): Promise<readonly SealedEvent[]>;
  seals(from: number, to: number): Promise<readonly Seal[]>;
  sealOf(seq: number): Promise<Seal | undefined>;
  /** In the order of its events. */
  leavesOf(seal: Seal): Promise<readonly Hash[]>;
  /** Number of events that no seal covers and that aren't waiting for one: they bypassed the trigger. */
  strayEvents(): Promise<number>;
  /** Deletions declared by the log's events. */
  forgottenEvents(): Promise<ForgottenEvents>;
  /** Anchors a seal, once an hour: saves its hash, and queues the notification. @returns whether it was anchored now */
  anchor(seal: Seal, at: Date): Promise<boolean>;
  /** In order. */
  anchors(): Promise<readonly Anchor[]>;
  newestAnchor(): Promise<Anchor | undefined>;
  anchorsBetween(from: Date, to: Date): Promise<readonly Anchor[]>;
  /** The first anchor of this seal or a later one. */
  anchorFrom(n: number): Promise<Anchor | undefined>;
  /** Logs differences in the ledger and notifies people, unless they are the same as last time. */
  noteDifferences(differences: readonly LedgerDifference[], at: Date): Promise<void>;
  /** Logs that a backup was restored, and notifies people. @returns the backup's newest seal */
  noteRestored(takenAt: Date, at: Date): Promise<Seal | undefined>;
  /** Logs and notifies that events wait too long for a seal, once until they are sealed. */
  noteStalled(at: Date): Promise<void>;
}

/** Storage of the key that the bot created itself. Implemented by the store. */
export interface LedgerKeyStore {
  find(): Promise<Sealed | undefined>;
  /** Adds a key, unless there is one. */
  add(sealed: Sealed): Promise<void>;
  /** Replaces a key that was encrypted again. */
  replace(sealed: Sealed): Promise<void>;
}
