import type {
  Credential,
  PasswordCredential,
  TrustedApplicationCredential,
  TwoFactorCredential,
} from '../../src/service/authenticator/signature.ts';
import {
  createServiceClient,
  type ServiceClient,
  type ServiceClientOptions,
} from '../../src/service/client.ts';
import { ServiceError } from '../../src/service/errors.ts';
import { Secret } from '../../src/service/secret.ts';

export const PASSWORD = 'pä55 wörd/+&';
export const SHARED_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

export const password: PasswordCredential = {
  method: 'password',
  user: 'customer',
  context: 4,
  password: new Secret(PASSWORD),
};

export const application: TrustedApplicationCredential = {
  method: 'trusted_application',
  uuid: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  application: 'domain steward',
  password: new Secret(PASSWORD),
};

export const twoFactor: TwoFactorCredential = {
  method: 'two_factor',
  user: 'customer',
  context: 4,
  password: new Secret(PASSWORD),
  totpSecret: new Secret(SHARED_SECRET),
};

/** A client of a service at `origin`: JSON under `/v1`, XML at `/xml`. */
export function clientOf(
  origin: string,
  credential: Credential,
  options: Partial<ServiceClientOptions> = {},
): ServiceClient {
  return createServiceClient({
    jsonUrl: `${origin}/v1`,
    xmlUrl: `${origin}/xml`,
    credential,
    jsonAuth: 'basic',
    timeoutMs: 5_000,
    ...options,
  });
}

/** The error that a call ends with; anything but a ServiceError is thrown on. */
export async function errorOf(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('the call succeeded, though it had to fail');
}
