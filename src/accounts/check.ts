import type { Credential } from '../service/authenticator/signature.ts';
import { ServiceError } from '../service/errors.ts';
import { NOT_SENDABLE, type RequestIssue } from '../service/request-issue.ts';
import type { Secret } from '../service/secret.ts';
import type { Account } from './account.ts';
import type { AccountsContext } from './context.ts';
import { type AccountProfile, parseProfile } from './profile.ts';

export type LinkOutcome =
  /** `isVerified` is false if the service API has no way to check the credential before its first use. */
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
  /** The one-time token was already used. The next one is valid in `retryAfterMs`. */
  | { readonly code: 'token_used'; readonly retryAfterMs: number }
  | { readonly code: 'no_clear_answer'; readonly explanation: ServiceExplanation | undefined };

export type LinkRefusal = CredentialRefusal | CheckRefusal;

export interface ServiceExplanation {
  /** The service's code and text. */
  readonly text: string;
  readonly stid: string | undefined;
}

/** A credential that the service accepted or that can't be checked. */
interface CheckedCredential {
  readonly kind: 'checked';
  /** Contains a session instead of a one-time token. */
  readonly credentialToStore: Credential;
  readonly isVerified: boolean;
  readonly profile: AccountProfile | undefined;
}

export async function checkCredential(
  { createClient, log }: AccountsContext,
  credential: Credential,
): Promise<CheckedCredential | LinkFailure> {
  const client = createClient(credential);
  try {
    const verification = await client.verify();
    if (!verification.verified)
      return { kind: 'checked', credentialToStore: credential, isVerified: false, profile: undefined };
    const { sessionHash, sessionEndsAt } = verification;
    const credentialToStore =
      credential.method === 'two_factor' && sessionHash !== undefined
        ? replaceTokenWithSession(credential, sessionHash, sessionEndsAt)
        : credential;
    return { kind: 'checked', credentialToStore, isVerified: true, profile: parseProfile(verification.user) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return toLinkFailure(error);
  } finally {
    await client.close().catch((err: unknown) => log.warn({ err }, 'ending the session of a check failed'));
  }
}

/** A one-time token can't be used again, so its session is stored instead. */
function replaceTokenWithSession(
  credential: Extract<Credential, { method: 'two_factor' }>,
  sessionHash: Secret,
  sessionEndsAt: number | undefined,
): Credential {
  const { token: _token, ...others } = credential;
  return { ...others, sessionHash, sessionEndsAt };
}

export type LinkFailure = Exclude<LinkOutcome, { readonly kind: 'linked' }>;

export function toLinkFailure(error: ServiceError): LinkFailure {
  const explanation = buildExplanation(error);
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

function buildExplanation({ code, text, stid }: ServiceError): ServiceExplanation | undefined {
  const codeAndText = [code, text].filter((part) => part !== undefined && part !== '').join(' ');
  return codeAndText === '' ? undefined : { text: codeAndText, stid };
}
