import { createServiceError, encodeOrThrow } from '../request.ts';
import type { Secret } from '../secret.ts';
import { authSessionCreate } from '../tasks/session.ts';
import { type Credential, computeTimeStep, computeTimeStepStart, generateToken } from './signature.ts';
import type { UsedTokenSteps } from './token-steps.ts';

export interface ClaimedToken {
  /** Undefined for an account without a second factor. */
  readonly token?: Secret;
  /** Must be called if the token was never sent. */
  release(): Promise<void>;
}

interface TokenSourceOptions {
  readonly usedSteps: UsedTokenSteps;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly maxWaitMs: number;
}

/** Returns a function that claims a token to open a session. */
export function createTokenSource(
  credential: Credential,
  now: () => number,
  { usedSteps, sleep, maxWaitMs }: TokenSourceOptions,
): () => Promise<ClaimedToken> {
  const activity = { task: authSessionCreate.name, name: 'opening an XML session' };
  if (credential.method !== 'two_factor') return async () => ({ release: async () => undefined });
  const { user, totpSecret, token } = credential;
  let isEnteredTokenUsed = false;

  async function claimGeneratedToken(secret: Secret): Promise<ClaimedToken> {
    const deadline = now() + maxWaitMs;
    for (;;) {
      const generated = encodeOrThrow(activity, () => generateToken(secret, now()));
      const lastStep = await usedSteps.claimStep(user, generated.step);
      if (lastStep === undefined) {
        return { token: generated.token, release: () => usedSteps.releaseStep(user, generated.step) };
      }
      const nextStepStart = computeTimeStepStart(lastStep + 1);
      const retryAfterMs = nextStepStart - now();
      if (nextStepStart > deadline) {
        throw createServiceError('token_used', activity, 'the current one-time token was already used', {
          retryAfterMs,
        });
      }
      await sleep(retryAfterMs);
    }
  }

  async function claimEnteredToken(token: Secret): Promise<ClaimedToken> {
    if (!/^\d{6}$/.test(token.reveal())) {
      throw createServiceError('invalid_input', activity, 'a token has six digits', {
        issue: { code: 'token_malformed' },
      });
    }
    isEnteredTokenUsed = true;
    // If the shared secret is linked later, the same token must not be generated and sent again.
    await usedSteps.claimStep(user, computeTimeStep(now()));
    return {
      token,
      release: async () => {
        isEnteredTokenUsed = false;
      },
    };
  }

  return async () => {
    if (totpSecret !== undefined) return claimGeneratedToken(totpSecret);
    if (token === undefined || isEnteredTokenUsed) {
      throw createServiceError(
        'auth',
        activity,
        'the session has ended and a new one needs a new token: link the account again',
      );
    }
    return claimEnteredToken(token);
  };
}
