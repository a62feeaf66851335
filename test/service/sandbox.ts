import { SANDBOX_ACCOUNTS, type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { afterEach, beforeEach } from 'vitest';
import type {
  Credential,
  PasswordCredential,
  TrustedApplicationCredential,
} from '../../src/service/authenticator/signature.ts';
import {
  type CallOptions,
  type CallResult,
  createServiceClient,
  type ServiceClient,
  type ServiceClientOptions,
} from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';

const { alice, trustedApplication } = SANDBOX_ACCOUNTS;

/** Alice, who has every permission. */
export const password: PasswordCredential = {
  method: 'password',
  user: alice.user,
  context: alice.context,
  password: new Secret(alice.password),
};

export const application: TrustedApplicationCredential = {
  method: 'trusted_application',
  uuid: trustedApplication.uuid,
  application: trustedApplication.application,
  password: new Secret(trustedApplication.password),
};

/** One task, as a test sends it. */
export type Run = (client: ServiceClient, call: CallOptions) => Promise<CallResult<unknown>>;

/** A new sandbox for each test, closed after it together with its clients. */
export function useSandbox(): {
  service(): SandboxService;
  clientOf(credential: Credential, options?: Partial<ServiceClientOptions>): ServiceClient;
} {
  let service: SandboxService | undefined;
  const clients: ServiceClient[] = [];
  const running = (): SandboxService => {
    if (service === undefined) throw new Error('the sandbox runs only within a test');
    return service;
  };
  beforeEach(async () => {
    service = await startSandboxService();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await service?.close();
  });
  return {
    service: running,
    clientOf(credential, options = {}) {
      const { jsonUrl, xmlUrl } = running();
      const addresses = { jsonUrl, xmlUrl };
      const client = createServiceClient({
        ...addresses,
        credential,
        jsonAuth: 'basic',
        timeoutMs: 5_000,
        ...options,
      });
      clients.push(client);
      return client;
    },
  };
}
