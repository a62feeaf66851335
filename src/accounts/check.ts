import type { Credential } from '../service/authenticator/signature.ts';
import { ServiceError } from '../service/errors.ts';
import { NOT_SENDABLE, type RequestIssue } from '../service/request-issue.ts';
import type { Secret } from '../service/secret.ts';
import type { Account } from './account.ts';
import type { AccountsContext } from './context.ts';
import { type AccountProfile, readProfile } from './profile.ts';

export type LinkOutcome =
  /**
   * `isVerified` is false if the service API has no way to check the credential. Its first use then shows whether it is
   * valid.
   */
  | {
      readonly kind: 'linked';
      readonly account: Account;
      readonly isVerified: boolean;
      readonly replaced?: Account;
    }
  /** The service rejected the credential, or it can't be sent. */
  | { readonly kind: 'refused'; readonly refusal: CredentialRefusal }
  /** The service couldn't be reached. Nothing was stored. */
  | { readonly kind: 'unreachable'; readonly refusal: CheckRefusal };

export type CredentialRefusal =
  | { readonly code: 'not_accepted'; readonly explanation: ServiceExplanation | undefined }
  | { readonly code: 'not_sendable'; readonly issue: RequestIssue };

export type CheckRefusal =
  | { readonly code: 'busy'; readonly explanation: ServiceExplanation | undefined }
  /** A one-time token works once; `retryAfterMs` is the time until the next one. */
  | { readonly code: 'token_used'; readonly retryAfterMs: number }
  | { readonly code: 'no_clear_answer'; readonly explanation: ServiceExplanation | undefined };

export type LinkRefusal = CredentialRefusal | CheckRefusal;

/** The service's own explanation of a refusal. */
export interface ServiceExplanation {
  /** The service's code and text. */
  readonly text: string;
  readonly stid: string | undefined;
}

/** A credential that the service accepted or that can't be checked. */
interface CheckedCredential {
  readonly kind: 'checked';
  /** The credential to store: a one-time token is replaced by its session. */
  readonly stored: Credential;
  readonly verified: boolean;
  readonly profile: AccountProfile | undefined;
}

export async function checkCredential(
  { createClient, log }: AccountsContext,
  credential: Credential,
): Promise<CheckedCredential | LinkFailure> {
  const client = createClient(credential);
  try {
    const verification = await client.verify();
    const { verified } = verification;
    if (!verified) return { kind: 'checked', stored: credential, verified, profile: undefined };
    const { sessionHash, sessionEndsAt } = verification;
    const stored =
      credential.method === 'two_factor' && sessionHash !== undefined
        ? replaceTokenBySession(credential, sessionHash, sessionEndsAt)
        : credential;
    return { kind: 'checked', stored, verified, profile: readProfile(verification.user) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return toLinkFailure(error);
  } finally {
    await client.close().catch((err: unknown) => log.warn({ err }, 'ending the session of a check failed'));
  }
}

/** A token works only once, so its session is stored instead. */
function replaceTokenBySession(
  credential: Extract<Credential, { method: 'two_factor' }>,
  sessionHash: Secret,
  sessionEndsAt: number | undefined,
): Credential {
  const { token: _token, ...others } = credential;
  return { ...others, sessionHash, sessionEndsAt };
}

export type LinkFailure = Exclude<LinkOutcome, { readonly kind: 'linked' }>;

export function toLinkFailure(error: ServiceError): LinkFailure {
  const explanation = buildStatement(error);
  switch (error.kind) {
    case 'auth':
    case 'refused':
      return { kind: 'refused', refusal: { code: 'not_accepted', explanation } };
    case 'invalid_input':
    case 'unsupported':
      return { kind: 'refused', refusal: { code: 'not_sendable', issue: error.issue ?? NOT_SENDABLE } };
    case 'busy':
      return { kind: 'unreachable', refusal: { code: 'busy', explanation } };
    case 'token_used':
      return {
        kind: 'unreachable',
        refusal: { code: 'token_used', retryAfterMs: error.retryAfterMs ?? 0 },
      };
    case 'not_sent':
    case 'unknown_outcome':
    case 'invalid_response':
      return { kind: 'unreachable', refusal: { code: 'no_clear_answer', explanation } };
  }
}

function buildStatement({ code, text, stid }: ServiceError): ServiceExplanation | undefined {
  const words = [code, text].filter((part) => part !== undefined && part !== '').join(' ');
  return words === '' ? undefined : { text: words, stid };
}
