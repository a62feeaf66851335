import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import type { PasswordCredential } from '../../src/service/authenticator/signature.ts';
import { Secret } from '../../src/service/secret.ts';

const { alice } = SANDBOX_ACCOUNTS;

/** Alice, who may do everything. */
export const password: PasswordCredential = {
  method: 'password',
  user: alice.user,
  context: alice.context,
  password: new Secret(alice.password),
};
