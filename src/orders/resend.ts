import { VaultError } from '../accounts/vault.ts';
import { MINUTE_MS } from '../lib/duration.ts';
import { ServiceError, SuspendedError } from '../service/errors.ts';
import type { Effect } from '../service/task.ts';
import { StatementChangedError } from './check-statement.ts';
import { RetryRefusedError } from './item-result.ts';
import type { RetryReason } from './summary.ts';

const MAX_RETRIES = 3;
/** Higher, because a busy service refuses requests without carrying them out. */
const MAX_BUSY_RETRIES = 20;
const MAX_RETRY_AFTER_MS = 15 * MINUTE_MS;

export type ResendDecision =
  | {
      readonly kind: 'resend';
      readonly afterMs: number;
      readonly retryReason: RetryReason;
      /** The request may have been carried out, but a repeat is harmless. Omitted if it provably wasn't. */
      readonly inDoubt?: boolean;
    }
  | { readonly kind: 'final'; readonly outcome: 'FAILED' | 'UNKNOWN' };

/**
 * Decides whether a request is retried automatically after an error. A paid task is retried only if the service
 * provably didn't carry it out. Pure. For retries by a person, see `retry-button.ts`.
 * @param attempts attempts so far, including the failed one
 * @param mayBeDone whether the request may have been carried out
 */
export function decideResend(
  error: unknown,
  task: { readonly effect: Effect; readonly idempotent: boolean },
  attempts: number,
  mayBeDone: boolean,
): ResendDecision {
  // A value that can't be decrypted now can't be decrypted later either.
  if (error instanceof VaultError && !mayBeDone) return FAILED;
  if (error instanceof SuspendedError) return UNKNOWN;
  if (error instanceof StatementChangedError || error instanceof RetryRefusedError) return FAILED;
  // The cause of the error is unknown. If the request may have been sent, the outcome is unknown too.
  if (!(error instanceof ServiceError)) return mayBeDone ? UNKNOWN : resendUnsent(attempts, 'not_sendable');
  switch (error.kind) {
    case 'busy':
    case 'token_used': {
      if (attempts > MAX_BUSY_RETRIES) return FAILED;
      const afterMs = Math.max(error.retryAfterMs ?? getDelayMs(attempts), 1_000);
      const maxMs = error.kind === 'busy' ? MAX_RETRY_AFTER_MS : Number.POSITIVE_INFINITY;
      return { kind: 'resend', afterMs: Math.min(afterMs, maxMs), retryReason: error.kind };
    }
    case 'not_sent':
      return resendUnsent(attempts, 'not_reached');
    case 'unknown_outcome':
    case 'invalid_response':
      if (!mayBeDone) return resendUnsent(attempts, 'no_answer');
      // The service received the request, and its answer to a repeat would be just as unreadable.
      if (error.unreadableResponse !== undefined) return UNKNOWN;
      return task.effect !== 'charge' && task.idempotent && attempts <= MAX_RETRIES
        ? { kind: 'resend', afterMs: getDelayMs(attempts), retryReason: 'no_answer_harmless', inDoubt: true }
        : UNKNOWN;
    case 'auth':
    case 'refused':
    case 'unsupported':
    case 'invalid_input':
      return FAILED;
  }
}

const FAILED: ResendDecision = { kind: 'final', outcome: 'FAILED' };
const UNKNOWN: ResendDecision = { kind: 'final', outcome: 'UNKNOWN' };

/** For an item whose request wasn't sent. A retry is safe. */
function resendUnsent(attempts: number, retryReason: RetryReason): ResendDecision {
  return attempts > MAX_RETRIES ? FAILED : { kind: 'resend', afterMs: getDelayMs(attempts), retryReason };
}

/** 1 s, 4 s, 16 s, and then always 64 s. */
function getDelayMs(attempts: number): number {
  return 1_000 * 4 ** (Math.min(attempts, 4) - 1);
}
