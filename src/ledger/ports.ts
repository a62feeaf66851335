import type { Sealed } from '../accounts/vault.ts';
import type { LedgerDifference } from './difference.ts';
import type { EventLine, ForgottenLine, LoggedEvent, Seal } from './seal.ts';
import type { Hash } from './tree.ts';

/** An event that waits for a seal, or the hash that stands for it because its content was forgotten. */
export type UnsealedEvent = LoggedEvent | { readonly leaf: Hash };

/** What is added to the ledger: a seal, and the leaves of the events that it covers, in their sequence. */
export interface NewSeal {
  readonly seal: Seal;
  readonly leaves: readonly Hash[];
}

export interface SealedEvent {
  readonly seq: number;
  readonly leaf: Hash;
  /** What its row says now; undefined when the row is gone. */
  readonly line: EventLine | ForgottenLine | undefined;
}

/** A seal with the events that it covers, as far as they are there. */
export interface SealedBlock {
  readonly seal: Seal;
  readonly events: readonly SealedEvent[];
}

/** What shows whether the events about keys and charters are as they were sealed. */
export interface SigningBlocks {
  /** Their sequence numbers in the ledger, oldest first; null while an event isn't sealed. */
  readonly numbers: readonly (number | null)[];
  /** The highest sequence number in the ledger. */
  readonly entries: number;
  /** An event that waits for a seal is gone. */
  readonly isAnyGone: boolean;
  /** The blocks that hold them, and every block after the newest one. */
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

/** Events whose content was forgotten. */
export interface ForgottenEvents {
  /** Ranges of their sequence numbers, both ends included, disjoint and sorted. */
  readonly seqs: readonly (readonly [number, number])[];
  /** The leaves, in hex, of those that no seal covered yet. */
  readonly leaves: ReadonlySet<string>;
}

/** The ledger of a team. Implemented by the store. */
export interface LedgerStore {
  /**
   * Seals events that no seal covers, at most `limit`, unless another process is sealing.
   * @param make makes the seal after the last one
   * @returns how many were sealed
   */
  seal(
    limit: number,
    make: (last: Seal | undefined, events: readonly UnsealedEvent[]) => NewSeal,
  ): Promise<number>;
  newestSeal(): Promise<Seal | undefined>;
  /** For how long the oldest event that no seal covers has waited, by the database’s clock. */
  waitingSeconds(): Promise<number>;
  /** Seals in their sequence with their events. @param sealed when they were sealed; left out: all */
  read(sealed?: { readonly from: Date; readonly to: Date }): AsyncIterable<SealedBlock>;
  signingBlocks(): Promise<SigningBlocks>;
  /** Sealed events of an order, in the ledger’s sequence. */
  ofOrder(orderId: string): Promise<readonly SealedEvent[]>;
  /** Sealed events by which these keys were revoked, in the ledger’s sequence. @param keys fingerprints */
  revocationsOf(keys: readonly string[]): Promise<readonly SealedEvent[]>;
  /** The seals with these numbers, in their sequence. */
  seals(from: number, to: number): Promise<readonly Seal[]>;
  /** The seal that covers an event. */
  sealOf(seq: number): Promise<Seal | undefined>;
  /** Leaves of the events that a seal covers. */
  leavesOf(seal: Seal): Promise<readonly Hash[]>;
  /** How many events no seal covers although they do not wait for one: they were written past the trigger. */
  strayEvents(): Promise<number>;
  /** The forgetting that the log's events declare. */
  forgottenEvents(): Promise<ForgottenEvents>;
  /** Lets a seal leave, once an hour: keeps its hash, and has it told. @returns whether it left now */
  anchor(seal: Seal, at: Date): Promise<boolean>;
  /** All anchors, in their sequence. */
  anchors(): Promise<readonly Anchor[]>;
  newestAnchor(): Promise<Anchor | undefined>;
  /** Anchors of a day, in their sequence. */
  anchorsBetween(from: Date, to: Date): Promise<readonly Anchor[]>;
  /** The first anchor of this seal or of one after it. */
  anchorFrom(n: number): Promise<Anchor | undefined>;
  /** Writes into the log that the ledger does not fit, and has people told, unless the last time it was the same. */
  noteDifferences(differences: readonly LedgerDifference[], at: Date): Promise<void>;
  /** Writes into the log that a backup was put back, and has people told. @returns the newest seal that it has */
  noteRestored(takenAt: Date, at: Date): Promise<Seal | undefined>;
  /** The same of events that wait too long for a seal, once until they are sealed. */
  noteStalled(at: Date): Promise<void>;
}

/** Where the key is kept that the bot has made itself. Implemented by the store. */
export interface LedgerKeyStore {
  find(): Promise<Sealed | undefined>;
  /** Keeps a key, unless there is one. */
  add(sealed: Sealed): Promise<void>;
  /** Keeps a key that was sealed anew. */
  replace(sealed: Sealed): Promise<void>;
}
