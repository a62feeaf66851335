import type { ApprovalSignature } from '../approvals/signing/approval.ts';
import type { SignedCharter } from '../approvals/signing/ports.ts';
import type { MessagePlace } from '../outbox/notifications.ts';

/*
 * Changes of what decides about orders. They take effect when a second person confirms them.
 */

export interface PendingChange<Change> {
  readonly id: string;
  readonly change: Change;
  /** Slack user id. */
  readonly askedBy: string;
  readonly askedAt: Date;
  /** From this moment on it can no longer be confirmed. */
  readonly expiresAt: Date;
  /** Where it was asked for, if others are asked there to confirm it. */
  readonly origin: MessagePlace | undefined;
  /** Confirmations so far, where it needs several. */
  readonly confirmations: readonly Confirmation[];
}

export interface Confirmation {
  readonly userId: string;
  readonly signed?: ApprovalSignature | undefined;
}

/** Why a change does not wait any more: the last two changed nothing. */
export const CHANGE_OUTCOMES = ['confirmed', 'dismissed', 'stale'] as const;

export interface KnownChange<Change> extends PendingChange<Change> {
  /** Undefined while it waits, or when nobody decided in time. */
  readonly decided: { readonly outcome: (typeof CHANGE_OUTCOMES)[number]; readonly by: string } | undefined;
}

export type ConfirmChangeOutcome<Change> =
  | { readonly kind: 'confirmed'; readonly pending: PendingChange<Change> }
  /** Who asked for it cannot confirm it. */
  | { readonly kind: 'own' }
  /** It was confirmed or dismissed before, or has expired. */
  | { readonly kind: 'gone' }
  /**
   * What it changes is not as it was when it was asked for. Nothing was changed, and it does not wait any more. What is left of it
   * was asked for again.
   */
  | { readonly kind: 'stale'; readonly again: PendingChange<Change> | undefined };

/** Where changes of one kind wait. Implemented by the store, which applies what is confirmed in the same transaction. */
export interface PendingChanges<Change> {
  /** Oldest first. */
  list(now: Date): Promise<readonly PendingChange<Change>[]>;
  find(id: string, now: Date): Promise<PendingChange<Change> | undefined>;
  /** Reads a change whatever became of it. */
  read(id: string): Promise<KnownChange<Change> | undefined>;
  /** @returns what waits; the former one where the same person asked for exactly this before */
  request(
    change: Change,
    by: string,
    at: Date,
    expiresAt: Date,
    origin?: MessagePlace,
  ): Promise<PendingChange<Change>>;
  /** Adds a person's confirmation, or replaces it. @returns what waits with it; undefined when it doesn't wait */
  addConfirmation(
    id: string,
    confirmation: Confirmation,
    at: Date,
  ): Promise<PendingChange<Change> | undefined>;
  /** @param signed the charter under which it takes effect, where keys are in use */
  confirm(id: string, by: string, at: Date, signed?: SignedCharter): Promise<ConfirmChangeOutcome<Change>>;
  /** @returns what does not wait any more; undefined when it did not wait */
  dismiss(id: string, by: string, at: Date): Promise<PendingChange<Change> | undefined>;
}
