import type { SealedSecret } from '../accounts/vault.ts';
import type { LedgerDifference } from './difference.ts';
import type { EventLine, ForgottenLine, LoggedEvent, Seal } from './seal.ts';
import type { Hash } from './tree.ts';

/** An event to seal, or only its leaf hash if its content was deleted. */
export type UnsealedEvent = LoggedEvent | { readonly leaf: Hash };

export interface NewSeal {
  readonly seal: Seal;
  readonly leaves: readonly Hash[];
}

export interface SealedEvent {
  readonly seq: number;
  readonly leaf: Hash;
  /** Undefined if the event's row is missing. */
  readonly line: EventLine | ForgottenLine | undefined;
}

export interface SealedBlock {
  readonly seal: Seal;
  readonly events: readonly SealedEvent[];
}

/** The data for checking the events about keys and charters. */
export interface SigningBlocks {
  /** The events' sequence numbers in the ledger, oldest first; null for unsealed events. */
  readonly seqs: readonly (number | null)[];
  /** The highest sequence number in the ledger. */
  readonly lastSeq: number;
  /** Whether an unsealed event's row is missing. */
  readonly hasMissingEvents: boolean;
  /** Blocks that contain these events, and all blocks after the newest of them. */
  readonly blocks: AsyncIterable<SealedBlock>;
}

/** A seal's number, and the hash of its canonical form. */
export interface SealHash {
  readonly n: number;
  readonly hash: string;
}

export interface Anchor extends SealHash {
  readonly at: Date;
}

export interface ForgottenEvents {
  /** Ranges of sequence numbers: inclusive, disjoint and sorted. */
  readonly seqs: readonly (readonly [number, number])[];
  /** Leaf hashes (hex) of unsealed events. */
  readonly leaves: ReadonlySet<string>;
}

export interface LedgerStore {
  /**
   * Seals at most `limit` unsealed events, unless another process is sealing.
   * @param buildSeal builds the seal that follows the last one
   * @returns the number of sealed events
   */
  seal(
    limit: number,
    buildSeal: (lastSeal: Seal | undefined, events: readonly UnsealedEvent[]) => NewSeal,
  ): Promise<number>;
  findNewestSeal(): Promise<Seal | undefined>;
  /** Returns the age of the oldest unsealed event by the database's clock. */
  loadUnsealedSeconds(): Promise<number>;
  /** Reads the seals with their events, in order. @param period of the seals */
  read(period?: { readonly from: Date; readonly to: Date }): AsyncIterable<SealedBlock>;
  loadSigningBlocks(): Promise<SigningBlocks>;
  listOrderEvents(orderId: string): Promise<readonly SealedEvent[]>;
  /** Lists sealed events that revoked these keys, in ledger order. @param keys fingerprints */
  listRevocations(keys: readonly string[]): Promise<readonly SealedEvent[]>;
  listSeals(from: number, to: number): Promise<readonly Seal[]>;
  findSeal(eventSeq: number): Promise<Seal | undefined>;
  loadLeaves(seal: Seal): Promise<readonly Hash[]>;
  /** Counts the events that are neither sealed nor waiting to be sealed. */
  countStrayEvents(): Promise<number>;
  loadForgottenEvents(): Promise<ForgottenEvents>;
  /**
   * Saves the seal's hash and queues its notification, unless a seal was anchored within the last hour.
   * @returns whether the seal was anchored
   */
  anchor(seal: Seal, at: Date): Promise<boolean>;
  /** Oldest first. */
  listAnchors(): Promise<readonly Anchor[]>;
  findNewestAnchor(): Promise<Anchor | undefined>;
  listAnchorsBetween(from: Date, to: Date): Promise<readonly Anchor[]>;
  /** Finds the first anchor of this seal or a later one. */
  findAnchor(sealNumber: number): Promise<Anchor | undefined>;
  /** Logs differences and notifies people, unless the differences are the same as last time. */
  recordDifferences(differences: readonly LedgerDifference[], at: Date): Promise<void>;
  /** Logs that a backup was restored, and notifies people. @returns the backup's newest seal */
  recordRestore(takenAt: Date, at: Date): Promise<Seal | undefined>;
  /** Logs that sealing has stalled and notifies people, once until the waiting events are sealed. */
  recordSealingStalled(at: Date): Promise<void>;
}

/** Stores the key that the bot created. */
export interface LedgerKeyStore {
  find(): Promise<SealedSecret | undefined>;
  /** Adds a key if none exists. */
  add(sealed: SealedSecret): Promise<void>;
  /** Replaces the stored key with the same key, encrypted with a new credentials key. */
  replace(sealed: SealedSecret): Promise<void>;
}
