import type { Policy } from './policy.ts';

/** Reads the policy that is in force. Implemented by the store. */
export interface PolicySource {
  /** The version that was published last; version 0, without rules, before the first. */
  current(): Promise<Policy>;
}
