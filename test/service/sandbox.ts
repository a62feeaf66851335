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
export const passwordCredential: PasswordCredential = {
  method: 'password',
  user: alice.user,
  context: alice.context,
  password: new Secret(alice.password),
};

export const applicationCredential: TrustedApplicationCredential = {
  method: 'trusted_application',
  uuid: trustedApplication.uuid,
  application: trustedApplication.application,
  password: new Secret(trustedApplication.password),
};

/** Runs one task with a client. */
export type RunTask = (client: ServiceClient, call: CallOptions) => Promise<CallResult<unknown>>;

/** Starts a sandbox before each test, and closes it and its clients afterward. */
export function useSandbox(): {
  service(): SandboxService;
  createClient(credential: Credential, options?: Partial<ServiceClientOptions>): ServiceClient;
} {
  let service: SandboxService | undefined;
  const clients: ServiceClient[] = [];
  const getService = (): SandboxService => {
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
    service: getService,
    createClient(credential, options = {}) {
      const { jsonUrl, xmlUrl } = getService();
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
