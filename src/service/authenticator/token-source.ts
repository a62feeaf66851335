import { orInvalidInput, serviceError } from '../request.ts';
import type { Secret } from '../secret.ts';
import { authSessionCreate } from '../tasks/session.ts';
import { type Credential, startOfStep, stepAt, tokenAt } from './signature.ts';
import type { TokenSteps } from './token-steps.ts';

export interface TokenOnce {
  /** Undefined for an account without a second factor. */
  readonly token?: Secret;
  /** The token was never sent. */
  giveBack(): Promise<void>;
}

interface TokenSourceOptions {
  readonly steps: TokenSteps;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly maxWaitMs: number;
}

/** Tokens for opening sessions; a server accepts each once (RFC 6238, section 5.2). */
export function tokenSource(
  credential: Credential,
  now: () => number,
  { steps, sleep, maxWaitMs }: TokenSourceOptions,
): () => Promise<TokenOnce> {
  const activity = { task: authSessionCreate.name, name: 'opening an XML session' };
  if (credential.method !== 'two_factor') return async () => ({ giveBack: async () => undefined });
  const { user, totpSecret, token } = credential;
  let isSpent = false;

  async function generatedToken(secret: Secret): Promise<TokenOnce> {
    const latest = now() + maxWaitMs;
    for (;;) {
      const made = orInvalidInput(activity, () => tokenAt(secret, now()));
      const lastStep = await steps.claimStep(user, made.step);
      if (lastStep === undefined) {
        return { token: made.token, giveBack: () => steps.giveBack(user, made.step) };
      }
      const next = startOfStep(lastStep + 1);
      const retryAfterMs = next - now();
      if (next > latest) {
        throw serviceError('token_used', activity, 'the token of this half minute is used up', {
          retryAfterMs,
        });
      }
      await sleep(retryAfterMs);
    }
  }

  async function typedToken(typed: Secret): Promise<TokenOnce> {
    if (!/^\d{6}$/.test(typed.reveal())) {
      throw serviceError('invalid_input', activity, 'a token has six digits', {
        issue: { code: 'token_malformed' },
      });
    }
    isSpent = true;
    // If the shared secret is linked next, it must not produce the same token again.
    await steps.claimStep(user, stepAt(now()));
    return {
      token: typed,
      giveBack: async () => {
        isSpent = false;
      },
    };
  }

  return async () => {
    if (totpSecret !== undefined) return generatedToken(totpSecret);
    if (token === undefined || isSpent) {
      throw serviceError(
        'auth',
        activity,
        'the session has ended and a new one needs a new token: link the account again',
      );
    }
    return typedToken(token);
  };
}
