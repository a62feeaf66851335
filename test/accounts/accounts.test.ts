import { randomBytes } from 'node:crypto';
import { SANDBOX_ACCOUNTS, type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Accounts, createAccounts } from '../../src/accounts/accounts.ts';
import type { LinkOutcome } from '../../src/accounts/check.ts';
import { createVault } from '../../src/accounts/vault.ts';
import type { Credential } from '../../src/service/authenticator/signature.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';
import { domainRenew } from '../../src/service/tasks/domain.ts';
import { createAccountStore } from '../../src/store/accounts.ts';
import type { Database } from '../../src/store/database.ts';
import { useTestDatabase } from '../support/database.ts';

const FIRST = { id: 'first', key: randomBytes(32) };
const SECOND = { id: 'second', key: randomBytes(32) };

let service: SandboxService;
let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
const open: Accounts[] = [];

beforeAll(async () => {
  service = await startSandboxService();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((accounts) => accounts.close()));
  await database.prisma.account.deleteMany();
  service.faults.clear();
});
afterAll(async () => {
  await service.close();
});

/** Creates a team's accounts as in one process of the bot. */
function newAccounts({
  keys = [FIRST],
  jsonAuth = 'basic',
}: {
  readonly keys?: readonly [typeof FIRST, ...(typeof FIRST)[]];
  readonly jsonAuth?: 'basic' | 'session';
} = {}): Accounts {
  const accounts = createAccounts({
    teamId: 'T0STEWARD',
    store: createAccountStore(database),
    vault: createVault(keys),
    now: () => new Date(),
    log: pino({ level: 'silent' }),
    createClient: (credential) =>
      createServiceClient({
        jsonUrl: service.jsonUrl,
        xmlUrl: service.xmlUrl,
        credential,
        jsonAuth,
        timeoutMs: 5_000,
        replyTo: undefined,
      }),
  });
  open.push(accounts);
  return accounts;
}

function newCredential(
  { user, context, password }: { user: string; context: number; password: string } = SANDBOX_ACCOUNTS.alice,
): Credential {
  return { method: 'password', user, context, password: new Secret(password) };
}

function getAccountId(outcome: LinkOutcome): string {
  if (outcome.kind !== 'linked') throw new Error(`linking: ${outcome.refusal.code}`);
  return outcome.account.id;
}

/** Renews a name with the account. @returns the user and context that the service saw */
async function renewAs(accounts: Accounts, accountId: string): Promise<string> {
  // The sandbox renews a name for at most ten years.
  const { name } = service.state.addDomain({ name: 'cafe.rest', context: 4, expires: Date.now() + 1e9 });
  const client = await accounts.loadClient(accountId);
  if (client === undefined) return 'nobody';
  await client.run(domainRenew, { name, period: 1 }, { ctid: randomBytes(6).toString('hex') });
  const { user, context, headers } = service.requestsFor({ task: 'domain.renew' }).at(-1) ?? {};
  return `${user} in ${context ?? headers?.['x-service-context']}`;
}

describe('linking', () => {
  test('stores a credential that the service accepts, and makes the account active', async () => {
    const accounts = newAccounts();
    const outcome = await accounts.link('U0ALICE', newCredential());
    expect(outcome).toMatchObject({
      kind: 'linked',
      isVerified: true,
      account: { login: 'alice', context: 4, slot: '4', method: 'password', isActive: true },
    });
    expect(await accounts.findActive('U0ALICE')).toMatchObject({ id: getAccountId(outcome), login: 'alice' });
    expect(await renewAs(accounts, getAccountId(outcome))).toBe('alice in 4');
  });

  test('stores nothing if the service refuses, or can’t be reached', async () => {
    const accounts = newAccounts();
    const wrong = newCredential({ ...SANDBOX_ACCOUNTS.alice, password: 'wrong' });
    expect(await accounts.link('U0ALICE', wrong)).toMatchObject({
      kind: 'refused',
      refusal: { code: 'not_accepted', explanation: { text: expect.stringMatching(/^E/) } },
    });
    for (const [kind, code] of [
      ['drop_before', 'no_clear_answer'],
      ['status_500', 'no_clear_answer'],
      ['status_429', 'busy'],
      ['html', 'no_clear_answer'],
    ] as const) {
      service.faults.set({ kind, times: 1 });
      expect(await accounts.link('U0ALICE', newCredential()), kind).toMatchObject({
        kind: 'unreachable',
        refusal: { code },
      });
    }
    expect(await database.prisma.account.count()).toBe(0);
  });

  test('ends the session used for the check', async () => {
    const before = service.sessions.countActive();
    await newAccounts().link('U0ALICE', newCredential());
    expect(service.sessions.countActive()).toBe(before);
  });

  test('stores no plain password', async () => {
    await newAccounts().link('U0ALICE', newCredential());
    const [row] = await database.prisma.account.findMany();
    const bytes = Buffer.from(row?.sealed ?? []);
    expect(bytes.length).toBeGreaterThan(28);
    expect(bytes.includes(SANDBOX_ACCOUNTS.alice.password)).toBe(false);
  });

  test('keeps the account’s ID and uses the new password when the same user is linked again', async () => {
    const accounts = newAccounts();
    const first = await accounts.link('U0ALICE', newCredential());
    await renewAs(accounts, getAccountId(first));
    const user = service.state.findUser('alice', 4);
    if (user === undefined) throw new Error('the sandbox has no alice');
    const before = user.password;
    user.password = 'a-new-password';
    try {
      await expect(renewAs(accounts, getAccountId(first))).rejects.toMatchObject({ kind: 'auth' });
      const again = await accounts.link(
        'U0ALICE',
        newCredential({ ...SANDBOX_ACCOUNTS.alice, password: 'a-new-password' }),
      );
      expect(getAccountId(again)).toBe(getAccountId(first));
      expect(await renewAs(accounts, getAccountId(again))).toBe('alice in 4');
    } finally {
      user.password = before;
    }
  });

  test('replaces the account when another user is linked in the same context', async () => {
    const accounts = newAccounts();
    const alice = await accounts.link('U0ALICE', newCredential());
    const frontdesk = await accounts.link('U0ALICE', newCredential(SANDBOX_ACCOUNTS.frontdesk));
    expect(getAccountId(frontdesk)).not.toBe(getAccountId(alice));
    expect(await accounts.find(getAccountId(alice))).toBeUndefined();
    expect(await renewAs(accounts, getAccountId(alice))).toBe('nobody');
    expect(await accounts.list('U0ALICE')).toHaveLength(1);
  });

  test('creates one account for concurrent links, such as a form delivered twice', async () => {
    const accounts = newAccounts();
    const outcomes = await Promise.all([1, 2, 3].map(() => accounts.link('U0ALICE', newCredential())));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['linked', 'linked', 'linked']);
    const [account, ...others] = await accounts.list('U0ALICE');
    expect(others).toEqual([]);
    expect(await renewAs(accounts, account?.id ?? '')).toBe('alice in 4');
  });

  test('stores an application as unverified, alongside the accounts for contexts', async () => {
    const accounts = newAccounts();
    await accounts.link('U0ALICE', newCredential());
    const { uuid, application, password: secret } = SANDBOX_ACCOUNTS.trustedApplication;
    const sent = service.requests.length;
    const outcome = await accounts.link('U0ALICE', {
      method: 'trusted_application',
      uuid,
      application,
      password: new Secret(secret),
    });
    expect(outcome).toMatchObject({ isVerified: false, account: { slot: 'application', login: uuid } });
    expect(service.requests, 'no documented task checks it').toHaveLength(sent);
    expect((await accounts.findActive('U0ALICE'))?.verifiedAt).toBeUndefined();
    await renewAs(accounts, getAccountId(outcome));
    await accounts.recordAccepted(getAccountId(outcome));
    expect((await accounts.findActive('U0ALICE'))?.verifiedAt).toBeInstanceOf(Date);
    expect((await accounts.list('U0ALICE')).map(({ slot }) => slot)).toEqual(['4', 'application']);
  });

  test('with a token keeps the opened session until the account is unlinked', async () => {
    const accounts = newAccounts();
    const { user, context, password: secret, totpSecret } = SANDBOX_ACCOUNTS.tina;
    const before = service.sessions.countActive();
    await accounts.link('U0TINA', {
      method: 'two_factor',
      user,
      context,
      password: new Secret(secret),
      token: new Secret(await generateToken(totpSecret)),
    });
    expect(service.sessions.countActive()).toBe(before + 1);
    await accounts.unlink('U0TINA');
    expect(service.sessions.countActive()).toBe(before);
  });
});

describe('activating and unlinking', () => {
  test('the last linked account is active until another one is chosen', async () => {
    const accounts = newAccounts();
    await accounts.link('U0ALICE', newCredential());
    await accounts.link('U0ALICE', newCredential(SANDBOX_ACCOUNTS.aliceDemoSystem));
    expect((await accounts.findActive('U0ALICE'))?.context).toBe(1);
    expect((await accounts.activate('U0ALICE', '4'))?.context).toBe(4);
    expect((await accounts.list('U0ALICE')).filter(({ isActive }) => isActive)).toHaveLength(1);
    expect(await accounts.activate('U0ALICE', '7'), 'a context without an account').toBeUndefined();
    expect((await accounts.findActive('U0ALICE'))?.context).toBe(4);
  });

  test('each person has their own account', async () => {
    const accounts = newAccounts();
    const alice = getAccountId(await accounts.link('U0ALICE', newCredential()));
    const bob = getAccountId(await accounts.link('U0BOB', newCredential(SANDBOX_ACCOUNTS.bob)));
    expect(await renewAs(accounts, alice)).toBe('alice in 4');
    expect(await renewAs(accounts, bob)).toBe('bob in 4');
    await accounts.unlink('U0ALICE');
    expect(await renewAs(accounts, alice)).toBe('nobody');
    expect(await renewAs(accounts, bob)).toBe('bob in 4');
  });

  test('a row moved to another person doesn’t open', async () => {
    const accounts = newAccounts();
    const alice = getAccountId(await accounts.link('U0ALICE', newCredential()));
    await database.prisma.account.update({ where: { id: alice }, data: { userId: 'U0BOB' } });
    await expect(accounts.loadClient(alice)).rejects.toMatchObject({ name: 'VaultError' });
  });

  test('unlinking ends the account’s session', async () => {
    const accounts = newAccounts({ jsonAuth: 'session' });
    const before = service.sessions.countActive();
    const id = getAccountId(await accounts.link('U0ALICE', newCredential()));
    await renewAs(accounts, id);
    expect(service.sessions.countActive()).toBe(before + 1);
    expect(await accounts.unlink('U0ALICE', '4')).toHaveLength(1);
    expect(service.sessions.countActive()).toBe(before);
    expect(await accounts.unlink('U0ALICE', '4')).toEqual([]);
  });

  test('linking again ends the previous session', async () => {
    const accounts = newAccounts({ jsonAuth: 'session' });
    const before = service.sessions.countActive();
    await renewAs(accounts, getAccountId(await accounts.link('U0ALICE', newCredential())));
    await accounts.link('U0ALICE', newCredential());
    expect(service.sessions.countActive()).toBe(before);
  });

  test('an unlink in another process takes effect at the next use', async () => {
    const accounts = newAccounts();
    const id = getAccountId(await accounts.link('U0ALICE', newCredential()));
    await renewAs(accounts, id);
    await newAccounts().unlink('U0ALICE');
    expect(await renewAs(accounts, id)).toBe('nobody');
  });
});

describe('a new key', () => {
  test('reseals credentials once, so that the old key can be removed', async () => {
    const id = getAccountId(await newAccounts().link('U0ALICE', newCredential()));
    const both = newAccounts({ keys: [SECOND, FIRST] });
    expect(await both.reseal()).toBe(1);
    expect(await both.reseal()).toBe(0);
    expect(await renewAs(newAccounts({ keys: [SECOND] }), id)).toBe('alice in 4');
  });

  test('isn’t blocked by a row that can’t be opened', async () => {
    const accounts = newAccounts();
    const broken = getAccountId(await accounts.link('U0ALICE', newCredential()));
    const good = getAccountId(await accounts.link('U0BOB', newCredential(SANDBOX_ACCOUNTS.bob)));
    await database.prisma.account.update({
      where: { id: broken },
      data: { sealed: Uint8Array.from(randomBytes(64)) },
    });
    expect(await newAccounts({ keys: [SECOND, FIRST] }).reseal()).toBe(1);
    expect(await renewAs(newAccounts({ keys: [SECOND] }), good)).toBe('bob in 4');
  });
});

async function generateToken(secret: string): Promise<string> {
  const { Secret: OtpSecret, TOTP } = await import('otpauth');
  return new TOTP({ secret: OtpSecret.fromBase32(secret) }).generate();
}
