import type { SendDeadline } from '../../src/http/exchange.ts';
import type {
  Credential,
  PasswordCredential,
  TrustedApplicationCredential,
  TwoFactorCredential,
} from '../../src/service/authenticator/signature.ts';
import {
  type CallResult,
  createServiceClient,
  type ServiceClient,
  type ServiceClientOptions,
} from '../../src/service/client.ts';
import { ServiceError } from '../../src/service/errors.ts';
import { describeRequest } from '../../src/service/request-description.ts';
import { Secret } from '../../src/service/secret.ts';
import type { ServiceTask } from '../../src/service/task.ts';

export const PASSWORD = 'pä55 wörd/+&';
export const SHARED_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

export const passwordCredential: PasswordCredential = {
  method: 'password',
  user: 'customer',
  context: 4,
  password: new Secret(PASSWORD),
};

export const applicationCredential: TrustedApplicationCredential = {
  method: 'trusted_application',
  uuid: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  application: 'domain steward',
  password: new Secret(PASSWORD),
};

export const twoFactorCredential: TwoFactorCredential = {
  method: 'two_factor',
  user: 'customer',
  context: 4,
  password: new Secret(PASSWORD),
  totpSecret: new Secret(SHARED_SECRET),
};

/** A client of a service at `origin`: JSON under `/v1`, XML at `/xml`. */
export function createTestClient(
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

/** Sends a task like an order does: marks each request before sending it, and retries a refused one once. */
export async function sendMarked<I, O>(
  client: ServiceClient,
  task: ServiceTask<I, O>,
  input: I,
  steps: {
    /** @param refusal why the service refused the first request, if this marks the second */
    readonly mark?: (refusal?: ServiceError) => Promise<void>;
    readonly sendDeadline?: SendDeadline;
    readonly timeoutMs?: number;
  },
): Promise<CallResult<O>> {
  const { mark, sendDeadline, timeoutMs } = steps;
  const description = describeRequest(task, input, 'json');
  const call = client.beginDescribedCall(task, { description, itemName: 'in a test', timeoutMs });
  try {
    await call.sign();
    await mark?.();
    const first = await call.send(sendDeadline);
    if (first.kind === 'answered') return first;
    await call.sign();
    await mark?.(first.refusal);
    const second = await call.send(sendDeadline);
    if (second.kind === 'answered') return second;
    throw second.refusal;
  } finally {
    call.end();
  }
}

/** Returns the ServiceError that a call throws, and rethrows any other error. */
export async function getServiceError(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('the call succeeded, but a ServiceError was expected');
}
