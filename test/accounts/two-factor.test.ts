import { SANDBOX_ACCOUNTS, type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Accounts, createAccounts } from '../../src/accounts/accounts.ts';
import type { LinkOutcome } from '../../src/accounts/check.ts';
import { createVault } from '../../src/accounts/vault.ts';
import type { TwoFactorCredential } from '../../src/service/authenticator/signature.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';
import { preregSearch } from '../../src/service/tasks/prereg.ts';
import { formatLinkRefusal } from '../../src/slack/accounts/link.view.ts';
import { createAccountStore } from '../../src/store/accounts.ts';
import type { Database } from '../../src/store/database.ts';
import { createTokenStepStore } from '../../src/store/token-steps.ts';
import { useTestDatabase } from '../support/database.ts';

/*
 * A two-factor account whose tokens the bot generates. The service accepts each token once (RFC 6238, section
 * 5.2). Both use one clock, which advances while the bot waits for a token.
 */

const MINUTE_MS = 60_000;
/** Long enough to wait half a minute for a token. */
const TIMEOUT_MS = 2 * MINUTE_MS;
const START = Date.parse('2026-03-01T09:00:10Z');
const { user, context, password, totpSecret } = SANDBOX_ACCOUNTS.tina;

let now = START;
let waits: number[] = [];
let service: SandboxService;
let database: Database;
useTestDatabase((listSessionCodes) => {
  database = listSessionCodes;
});
const open: Accounts[] = [];
beforeEach(async () => {
  now = START;
  waits = [];
  service = await startSandboxService({
    now: () => now,
    users: [{ user, context: 7, password, totpSecret }],
  });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((accounts) => accounts.close()));
  await service.close();
  await database.prisma.account.deleteMany();
  await database.prisma.tokenStep.deleteMany();
});

/** Creates accounts as in a newly started process. */
function startProcess(timeoutMs = TIMEOUT_MS): Accounts {
  const accounts = createAccounts({
    teamId: 'T0STEWARD',
    store: createAccountStore(database),
    vault: createVault([{ id: 'k1', key: Buffer.alloc(32, 7) }]),
    now: () => new Date(now),
    log: pino({ level: 'silent' }),
    createClient: (credential) =>
      createServiceClient({
        jsonUrl: service.jsonUrl,
        xmlUrl: service.xmlUrl,
        credential,
        jsonAuth: 'basic',
        timeoutMs,
        tokenSteps: createTokenStepStore(database),
        now: () => now,
        sleep: async (milliseconds) => {
          waits.push(milliseconds);
          now += milliseconds;
        },
      }),
  });
  open.push(accounts);
  return accounts;
}

const CREDENTIAL: TwoFactorCredential = {
  method: 'two_factor',
  user,
  context,
  password: new Secret(password),
  totpSecret: new Secret(totpSecret),
};

function getAccountId(outcome: LinkOutcome): string {
  if (outcome.kind !== 'linked') throw new Error(`linking: ${outcome.refusal.code}`);
  return outcome.account.id;
}

async function search(accounts: Accounts, accountId: string): Promise<void> {
  const client = await accounts.loadClient(accountId);
  if (client === undefined) throw new Error('account not found');
  await client.run(preregSearch, { view: { children: true, offset: 0, limit: 1 }, filters: [] });
}

/** Lists the service's response codes to opened sessions. */
const listSessionCodes = () =>
  service.requestsFor({ task: 'session.create' }).map(({ answerCode }) => answerCode);

describe('the session opened by linking', () => {
  test('is used for the next task within the same half minute', async () => {
    const accounts = startProcess();
    const id = getAccountId(await accounts.link('U0TINA', CREDENTIAL));
    await search(accounts, id);
    expect(listSessionCodes()).toEqual(['S1321001']);
    expect(waits).toEqual([]);
  });

  test('is used after a restart and by other replicas too', async () => {
    const first = startProcess();
    const id = getAccountId(await first.link('U0TINA', CREDENTIAL));
    await first.close();
    await Promise.all([search(startProcess(), id), search(startProcess(), id)]);
    expect(listSessionCodes()).toEqual(['S1321001']);
  });

  test('is renewed after ten minutes, without a refused request', async () => {
    const accounts = startProcess();
    const id = getAccountId(await accounts.link('U0TINA', CREDENTIAL));
    now += 10 * MINUTE_MS;
    await search(accounts, id);
    expect(listSessionCodes()).toEqual(['S1321001', 'S1321001']);
    expect(service.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('ends when the account is unlinked, and so does its successor', async () => {
    const accounts = startProcess();
    const id = getAccountId(await accounts.link('U0TINA', CREDENTIAL));
    now += 9 * MINUTE_MS + 40_000;
    await search(accounts, id);
    expect(service.sessions.countActive()).toBe(2);
    await accounts.unlink('U0TINA');
    expect(service.sessions.countActive()).toBe(0);
  });
});

describe('a used token makes the bot wait for the next one', () => {
  test('if the session has ended', async () => {
    const accounts = startProcess();
    const id = getAccountId(await accounts.link('U0TINA', CREDENTIAL));
    service.sessions.endAll();
    await search(accounts, id);
    expect(listSessionCodes()).toEqual(['S1321001', 'S1321001']);
    expect(waits).toEqual([20_000]);
  });

  test('if two replicas need a session at the same time', async () => {
    const [one, two] = [startProcess(), startProcess()];
    const id = getAccountId(await one.link('U0TINA', CREDENTIAL));
    now += 11 * MINUTE_MS;
    await Promise.all([search(one, id), search(two, id)]);
    expect(listSessionCodes()).toEqual(['S1321001', 'S1321001', 'S1321001']);
    expect(waits).toHaveLength(1);
  });

  test('if another person links the same user, or in another context', async () => {
    const accounts = startProcess();
    getAccountId(await accounts.link('U0TINA', CREDENTIAL));
    getAccountId(await accounts.link('U0BOB', CREDENTIAL));
    getAccountId(await accounts.link('U0TINA', { ...CREDENTIAL, context: 7 }));
    const steps = service.requestsFor({ task: 'session.create' }).map(({ at }) => Math.floor(at / 30_000));
    expect(new Set(steps).size, 'half minutes used').toBe(3);
  });
});

test('linking is refused without storing anything if the next token would take too long', async () => {
  const accounts = startProcess(10_000);
  await accounts.link('U0TINA', CREDENTIAL);
  now += 1_500;
  const outcome = await accounts.link('U0BOB', CREDENTIAL);
  expect(outcome).toMatchObject({ kind: 'unreachable', refusal: { code: 'token_used' } });
  if (outcome.kind !== 'unreachable') throw new Error('expected no link');
  expect(formatLinkRefusal(outcome.refusal)).toMatch(/token.*used.*nothing was saved.*in 19 seconds\./);
  expect(await accounts.list('U0BOB')).toEqual([]);
  now += 19_000;
  getAccountId(await accounts.link('U0BOB', CREDENTIAL));
  expect(listSessionCodes()).toEqual(['S1321001', 'S1321001']);
});

test('a token that couldn’t be sent can still be used', async () => {
  const accounts = startProcess();
  await service.close();
  expect(await accounts.link('U0TINA', CREDENTIAL)).toMatchObject({ kind: 'unreachable' });
  service = await startSandboxService({ now: () => now });
  getAccountId(await startProcess().link('U0TINA', CREDENTIAL));
  expect(waits).toEqual([]);
});
