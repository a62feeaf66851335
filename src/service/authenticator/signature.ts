import { Secret as OtpSecret, TOTP } from 'otpauth';
import { InvalidInputError, InvalidResponseError } from '../codec/codec-errors.ts';
import type { WireObject } from '../codec/wire.ts';
import { Secret } from '../secret.ts';

/** See “Authentication” in the service's API documentation. */
export type Credential = PasswordCredential | TrustedApplicationCredential | TwoFactorCredential;

export interface PasswordCredential {
  readonly method: 'password';
  readonly user: string;
  /** 1 is the demo system; 4, or the customer's own number, is live. */
  readonly context: number;
  readonly password: Secret;
}

export interface TrustedApplicationCredential {
  readonly method: 'trusted_application';
  readonly uuid: string;
  /** Needed only by the XML interface. */
  readonly application: string;
  readonly password: Secret;
}

/** Documented only for the XML interface. */
export interface TwoFactorCredential {
  readonly method: 'two_factor';
  readonly user: string;
  readonly context: number;
  readonly password: Secret;
  /** Base32. Generates a six-digit token every 30 seconds (RFC 6238 with SHA-1). */
  readonly totpSecret?: Secret | undefined;
  /** A six-digit token, which can open only one session. */
  readonly token?: Secret | undefined;
  /** An earlier XML session. Without `totpSecret`, the account works only until that session ends. */
  readonly sessionHash?: Secret | undefined;
  /** Milliseconds since 1970; undefined if only the service knows. */
  readonly sessionEndsAt?: number | undefined;
}

export type JsonSignature =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic'; readonly user: string; readonly password: Secret; readonly context?: number }
  | { readonly kind: 'session'; readonly id: Secret; readonly place: SessionPlace };

/** The header `…SessionId` or the cookie `service_session`. */
export type SessionPlace = 'header' | 'cookie';

export type XmlSignature =
  | {
      readonly kind: 'auth';
      readonly user: string;
      readonly context: number;
      readonly password: Secret;
      readonly token?: Secret | undefined;
    }
  | {
      readonly kind: 'trusted_application';
      readonly uuid: string;
      readonly password: Secret;
      readonly application: string;
    }
  | { readonly kind: 'auth_session'; readonly hash: Secret };

/** RFC 6238, section 5.2. */
const STEP_SECONDS = 30;

const SESSION_COOKIE = 'service_session';

// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 7617, section 2 forbids exactly these
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** The prefix in the service's API documentation. */
export const DEFAULT_HEADER_PREFIX = 'X-Service-';

/**
 * Returns header names and values, alternating.
 * @param prefix prefix of the service's own header names
 * @throws {InvalidInputError} for a user or password that Basic authentication (RFC 7617) can't transmit
 * unchanged
 */
export function formatSignatureHeaders(signature: JsonSignature, prefix: string): string[] {
  switch (signature.kind) {
    case 'none':
      return [];
    case 'session':
      return signature.place === 'header'
        ? [buildHeaderName(prefix, 'SessionId'), signature.id.reveal()]
        : ['cookie', `${SESSION_COOKIE}=${signature.id.reveal()}`];
    case 'basic': {
      const headers = [
        'authorization',
        `Basic ${encodeBasicCredentials(signature.user, signature.password)}`,
      ];
      if (signature.context !== undefined)
        headers.push(buildHeaderName(prefix, 'Context'), String(signature.context));
      return headers;
    }
  }
}

/** Header names are case-insensitive (RFC 9110, section 5.1). */
function buildHeaderName(prefix: string, name: 'Context' | 'SessionId'): string {
  return `${prefix}${name}`.toLowerCase();
}

export function encodeBasicCredentials(user: string, password: Secret): string {
  if (user.includes(':')) {
    throw new InvalidInputError('a user name with ":" cannot sign a JSON request', {
      code: 'user_name_with_colon',
    });
  }
  const userAndPassword = `${user}:${password.reveal()}`;
  if (CONTROL_CHARACTER.test(userAndPassword)) {
    throw new InvalidInputError(
      'a user name or password with control characters cannot sign a JSON request',
      { code: 'credential_with_control_characters' },
    );
  }
  if (LONE_SURROGATE.test(userAndPassword)) {
    throw new InvalidInputError('the user name or password is not valid Unicode', {
      code: 'credential_not_unicode',
    });
  }
  return Buffer.from(userAndPassword, 'utf8').toString('base64');
}

export interface CredentialAccount {
  readonly method: Credential['method'];
  /** User name, or the application's UUID. */
  readonly login: string;
  /** Undefined for a trusted application. */
  readonly context: number | undefined;
}

export function getCredentialAccount(credential: Credential): CredentialAccount {
  return credential.method === 'trusted_application'
    ? { method: credential.method, login: credential.uuid, context: undefined }
    : { method: credential.method, login: credential.user, context: credential.context };
}

/** Secrets to mask in responses. */
export function listSecrets(credential: Credential): string[] {
  const secrets = Object.values(credential).flatMap((value) =>
    value instanceof Secret ? [value.reveal()] : [],
  );
  try {
    const user = credential.method === 'trusted_application' ? credential.uuid : credential.user;
    return [...secrets, encodeBasicCredentials(user, credential.password)];
  } catch {
    // Basic authentication can't transmit this user and password, so their encoding is never sent.
    return secrets;
  }
}

/** Builds the element that must precede `task`. */
export function buildSignatureElement(signature: XmlSignature): WireObject {
  switch (signature.kind) {
    case 'auth': {
      const { user, context, password, token } = signature;
      return { auth: { user, context, password, token } };
    }
    case 'trusted_application': {
      const { uuid, password, application } = signature;
      return {
        authentication: { trusted_application: { uuid, password, application: { name: application } } },
      };
    }
    case 'auth_session':
      return { auth_session: { hash: signature.hash } };
  }
}

/** @param nowMs milliseconds since 1970 */
export function generateToken(totpSecret: Secret, nowMs: number): { token: Secret; step: number } {
  let secret: OtpSecret;
  try {
    secret = OtpSecret.fromBase32(totpSecret.reveal().replace(/[\s-]/g, '').toUpperCase());
  } catch {
    // The library's error quotes the invalid characters.
    throw new InvalidInputError('the shared secret of the two-factor account is not base32', {
      code: 'shared_secret_not_base32',
    });
  }
  if (secret.bytes.length === 0) {
    throw new InvalidInputError('the shared secret of the two-factor account is empty', {
      code: 'shared_secret_empty',
    });
  }
  const token = TOTP.generate({
    secret,
    algorithm: 'SHA1',
    digits: 6,
    period: STEP_SECONDS,
    timestamp: nowMs,
  });
  return { token: new Secret(token), step: computeTimeStep(nowMs) };
}

/** RFC 6238, section 4.2. */
export function computeTimeStep(nowMs: number): number {
  return Math.floor(nowMs / 1000 / STEP_SECONDS);
}

/** Milliseconds since 1970. */
export function computeTimeStepStart(step: number): number {
  return step * STEP_SECONDS * 1000;
}

/** A cookie value, quoted or not (RFC 6265, section 4.1.1). */
const COOKIE_VALUE = /^\s*("?)([\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]{1,4096})\1\s*$/;

/**
 * Reads the session id from a login response. Accepts only valid cookie values, because the id is sent as a
 * header value later.
 * @returns the id and, if `Max-Age` is set, its lifetime in seconds
 * @throws {InvalidResponseError} unless there is exactly one valid `service_session` cookie
 */
export function parseSessionCookie(setCookieHeaders: readonly string[]): {
  id: Secret;
  maxAgeSeconds?: number;
} {
  const sessions = setCookieHeaders.flatMap((header) => {
    const [pair = '', ...attributes] = header.split(';');
    const [name = '', ...rest] = pair.split('=');
    const value = name.trim() === SESSION_COOKIE ? COOKIE_VALUE.exec(rest.join('='))?.[2] : undefined;
    if (value === undefined) return [];
    const maxAge = attributes
      .map((attribute) => /^\s*max-age\s*=\s*(\d{1,9})\s*$/i.exec(attribute)?.[1])
      .find((seconds) => seconds !== undefined);
    return [{ id: new Secret(value), ...(maxAge === undefined ? {} : { maxAgeSeconds: Number(maxAge) }) }];
  });
  const [session, secondSession] = sessions;
  if (session === undefined)
    throw new InvalidResponseError('the login response sets no usable service_session cookie');
  if (secondSession !== undefined)
    throw new InvalidResponseError('the login response sets more than one service_session cookie');
  return session;
}
