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

/** A team's accounts in one process of the bot. */
function accountsOf({
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

function password(
  { user, context, password }: { user: string; context: number; password: string } = SANDBOX_ACCOUNTS.alice,
): Credential {
  return { method: 'password', user, context, password: new Secret(password) };
}

function idOf(outcome: LinkOutcome): string {
  if (outcome.kind !== 'linked') throw new Error(`linking: ${outcome.refusal.code}`);
  return outcome.account.id;
}

/** Renews with the account, and returns the service's user. */
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
    const accounts = accountsOf();
    const outcome = await accounts.link('U0ALICE', password());
    expect(outcome).toMatchObject({
      kind: 'linked',
      isVerified: true,
      account: { login: 'alice', context: 4, slot: '4', method: 'password', isActive: true },
    });
    expect(await accounts.findActive('U0ALICE')).toMatchObject({ id: idOf(outcome), login: 'alice' });
    expect(await renewAs(accounts, idOf(outcome))).toBe('alice in 4');
  });

  test('stores nothing if the service refuses, or can’t be reached', async () => {
    const accounts = accountsOf();
    const wrong = password({ ...SANDBOX_ACCOUNTS.alice, password: 'wrong' });
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
      expect(await accounts.link('U0ALICE', password()), kind).toMatchObject({
        kind: 'unreachable',
        refusal: { code },
      });
    }
    expect(await database.prisma.account.count()).toBe(0);
  });

  test('leaves no session of the check open', async () => {
    const before = service.sessions.count();
    await accountsOf().link('U0ALICE', password());
    expect(service.sessions.count()).toBe(before);
  });

  test('leaves no password in the database', async () => {
    await accountsOf().link('U0ALICE', password());
    const [row] = await database.prisma.account.findMany();
    const bytes = Buffer.from(row?.sealed ?? []);
    expect(bytes.length).toBeGreaterThan(28);
    expect(bytes.includes(SANDBOX_ACCOUNTS.alice.password)).toBe(false);
  });

  test('linking the same user again keeps the account’s id and uses the new password', async () => {
    const accounts = accountsOf();
    const first = await accounts.link('U0ALICE', password());
    await renewAs(accounts, idOf(first));
    const user = service.state.user('alice', 4);
    if (user === undefined) throw new Error('the sandbox has no alice');
    const before = user.password;
    user.password = 'a-new-password';
    try {
      await expect(renewAs(accounts, idOf(first))).rejects.toMatchObject({ kind: 'auth' });
      const again = await accounts.link(
        'U0ALICE',
        password({ ...SANDBOX_ACCOUNTS.alice, password: 'a-new-password' }),
      );
      expect(idOf(again)).toBe(idOf(first));
      expect(await renewAs(accounts, idOf(again))).toBe('alice in 4');
    } finally {
      user.password = before;
    }
  });

  test('another user in the same context is another account: orders bound to the old one no longer find it', async () => {
    const accounts = accountsOf();
    const alice = await accounts.link('U0ALICE', password());
    const frontdesk = await accounts.link('U0ALICE', password(SANDBOX_ACCOUNTS.frontdesk));
    expect(idOf(frontdesk)).not.toBe(idOf(alice));
    expect(await accounts.find(idOf(alice))).toBeUndefined();
    expect(await renewAs(accounts, idOf(alice))).toBe('nobody');
    expect(await accounts.list('U0ALICE')).toHaveLength(1);
  });

  test('two concurrent links, such as a form delivered twice, create one account', async () => {
    const accounts = accountsOf();
    const outcomes = await Promise.all([1, 2, 3].map(() => accounts.link('U0ALICE', password())));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['linked', 'linked', 'linked']);
    const [account, ...others] = await accounts.list('U0ALICE');
    expect(others).toEqual([]);
    expect(await renewAs(accounts, account?.id ?? '')).toBe('alice in 4');
  });

  test('an application is stored as not yet used, beside the contexts', async () => {
    const accounts = accountsOf();
    await accounts.link('U0ALICE', password());
    const { uuid, application, password: secret } = SANDBOX_ACCOUNTS.trustedApplication;
    const sent = service.requests.length;
    const outcome = await accounts.link('U0ALICE', {
      method: 'trusted_application',
      uuid,
      application,
      password: new Secret(secret),
    });
    expect(outcome).toMatchObject({ isVerified: false, account: { slot: 'application', login: uuid } });
    expect(service.requests, 'nothing documented checks it').toHaveLength(sent);
    expect((await accounts.findActive('U0ALICE'))?.verifiedAt).toBeUndefined();
    await renewAs(accounts, idOf(outcome));
    await accounts.recordAccepted(idOf(outcome));
    expect((await accounts.findActive('U0ALICE'))?.verifiedAt).toBeInstanceOf(Date);
    expect((await accounts.list('U0ALICE')).map(({ slot }) => slot)).toEqual(['4', 'application']);
  });

  test('linked with a token, the account keeps the session it opened, and unlinking ends it', async () => {
    const accounts = accountsOf();
    const { user, context, password: secret, totpSecret } = SANDBOX_ACCOUNTS.tina;
    const before = service.sessions.count();
    await accounts.link('U0TINA', {
      method: 'two_factor',
      user,
      context,
      password: new Secret(secret),
      token: new Secret(await tokenOf(totpSecret)),
    });
    expect(service.sessions.count()).toBe(before + 1);
    await accounts.unlink('U0TINA');
    expect(service.sessions.count()).toBe(before);
  });
});

describe('choosing and forgetting', () => {
  test('the last linked account is active until another one is chosen', async () => {
    const accounts = accountsOf();
    await accounts.link('U0ALICE', password());
    await accounts.link('U0ALICE', password(SANDBOX_ACCOUNTS.aliceDemoSystem));
    expect((await accounts.findActive('U0ALICE'))?.context).toBe(1);
    expect((await accounts.activate('U0ALICE', '4'))?.context).toBe(4);
    expect((await accounts.list('U0ALICE')).filter(({ isActive }) => isActive)).toHaveLength(1);
    expect(await accounts.activate('U0ALICE', '7'), 'a context without an account').toBeUndefined();
    expect((await accounts.findActive('U0ALICE'))?.context).toBe(4);
  });

  test('an account is its person’s own', async () => {
    const accounts = accountsOf();
    const alice = idOf(await accounts.link('U0ALICE', password()));
    const bob = idOf(await accounts.link('U0BOB', password(SANDBOX_ACCOUNTS.bob)));
    expect(await renewAs(accounts, alice)).toBe('alice in 4');
    expect(await renewAs(accounts, bob)).toBe('bob in 4');
    await accounts.unlink('U0ALICE');
    expect(await renewAs(accounts, alice)).toBe('nobody');
    expect(await renewAs(accounts, bob)).toBe('bob in 4');
  });

  test('a row that was moved to another person doesn’t open', async () => {
    const accounts = accountsOf();
    const alice = idOf(await accounts.link('U0ALICE', password()));
    await database.prisma.account.update({ where: { id: alice }, data: { userId: 'U0BOB' } });
    await expect(accounts.loadClient(alice)).rejects.toMatchObject({ name: 'VaultError' });
  });

  test('unlinking ends the account’s session', async () => {
    const accounts = accountsOf({ jsonAuth: 'session' });
    const before = service.sessions.count();
    const id = idOf(await accounts.link('U0ALICE', password()));
    await renewAs(accounts, id);
    expect(service.sessions.count()).toBe(before + 1);
    expect(await accounts.unlink('U0ALICE', '4')).toHaveLength(1);
    expect(service.sessions.count()).toBe(before);
    expect(await accounts.unlink('U0ALICE', '4')).toEqual([]);
  });

  test('linking again ends the previous session', async () => {
    const accounts = accountsOf({ jsonAuth: 'session' });
    const before = service.sessions.count();
    await renewAs(accounts, idOf(await accounts.link('U0ALICE', password())));
    await accounts.link('U0ALICE', password());
    expect(service.sessions.count()).toBe(before);
  });

  test('another process’s unlink is noticed at the next use', async () => {
    const accounts = accountsOf();
    const id = idOf(await accounts.link('U0ALICE', password()));
    await renewAs(accounts, id);
    await accountsOf().unlink('U0ALICE');
    expect(await renewAs(accounts, id)).toBe('nobody');
  });
});

describe('a new key', () => {
  test('reseals the credentials of the old key, once; then the old key can be removed', async () => {
    const id = idOf(await accountsOf().link('U0ALICE', password()));
    const both = accountsOf({ keys: [SECOND, FIRST] });
    expect(await both.reseal()).toBe(1);
    expect(await both.reseal()).toBe(0);
    expect(await renewAs(accountsOf({ keys: [SECOND] }), id)).toBe('alice in 4');
  });

  test('isn’t blocked by a row that can’t be opened', async () => {
    const accounts = accountsOf();
    const broken = idOf(await accounts.link('U0ALICE', password()));
    const good = idOf(await accounts.link('U0BOB', password(SANDBOX_ACCOUNTS.bob)));
    await database.prisma.account.update({
      where: { id: broken },
      data: { sealed: Uint8Array.from(randomBytes(64)) },
    });
    expect(await accountsOf({ keys: [SECOND, FIRST] }).reseal()).toBe(1);
    expect(await renewAs(accountsOf({ keys: [SECOND] }), good)).toBe('bob in 4');
  });
});

async function tokenOf(secret: string): Promise<string> {
  const { Secret: OtpSecret, TOTP } = await import('otpauth');
  return new TOTP({ secret: OtpSecret.fromBase32(secret) }).generate();
}
