import type { StandIn } from './approvals.ts';
import type { Policy } from './policy.ts';

/** Reads the policy that is in force. Implemented by the store. */
export interface PolicySource {
  /** The version that was published last; version 0, without rules, before the first. */
  current(): Promise<Policy>;
}

/** Says who stands in for whom. */
export interface StandInSource {
  /** Those that hold at a moment, by the user id of who is away. */
  current(now: Date): Promise<ReadonlyMap<string, StandIn>>;
}

/** A line of the audit log of stand-ins. */
export interface StandInChange {
  /** Who is away. */
  readonly userId: string;
  /** Undefined: nobody stands in any more. */
  readonly standIn: StandIn | undefined;
  readonly by: string;
  readonly at: Date;
}

/** Where stand-ins are kept. Implemented by the store; whatever changes them leaves a line in the audit log. */
export interface StandInStore extends StandInSource {
  /** Somebody is away. @returns who stood in for them until now */
  begin(userId: string, standIn: StandIn, at: Date): Promise<StandIn | undefined>;
  /** Somebody is back. @returns who stood in for them; undefined when nobody did */
  end(userId: string, at: Date): Promise<StandIn | undefined>;
  /** Every change from `from` until before `to`, oldest first. */
  changes(from: Date, to: Date): AsyncIterable<StandInChange>;
}
