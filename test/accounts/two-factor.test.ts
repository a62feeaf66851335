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
 * A two-factor account with tokens made by the bot, at a service that accepts each token once (RFC 6238, section 5.2).
 * Both use one clock, which advances while the bot waits for a token.
 */

const MINUTE_MS = 60_000;
/** Enough for a call that waits half a minute. */
const TIMEOUT_MS = 2 * MINUTE_MS;
const START = Date.parse('2026-03-01T09:00:10Z');
const { user, context, password, totpSecret } = SANDBOX_ACCOUNTS.tina;

let now = START;
let waits: number[] = [];
let service: SandboxService;
let database: Database;
useTestDatabase((opened) => {
  database = opened;
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

/** The accounts of a newly started process. */
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

const withSecret: TwoFactorCredential = {
  method: 'two_factor',
  user,
  context,
  password: new Secret(password),
  totpSecret: new Secret(totpSecret),
};

function idOf(outcome: LinkOutcome): string {
  if (outcome.kind !== 'linked') throw new Error(`linking: ${outcome.refusal.code}`);
  return outcome.account.id;
}

async function search(accounts: Accounts, accountId: string): Promise<void> {
  const client = await accounts.loadClient(accountId);
  if (client === undefined) throw new Error('the account is gone');
  await client.run(preregSearch, { view: { children: true, offset: 0, limit: 1 }, filters: [] });
}

/** The service's response codes when opening sessions. */
const opened = () => service.requestsFor({ task: 'session.create' }).map(({ answerCode }) => answerCode);

describe('the session opened by linking', () => {
  test('carries the next task, in the same half minute', async () => {
    const accounts = startProcess();
    const id = idOf(await accounts.link('U0TINA', withSecret));
    await search(accounts, id);
    expect(opened()).toEqual(['S1321001']);
    expect(waits).toEqual([]);
  });

  test('carries it after a restart and on another replica too', async () => {
    const first = startProcess();
    const id = idOf(await first.link('U0TINA', withSecret));
    await first.close();
    await Promise.all([search(startProcess(), id), search(startProcess(), id)]);
    expect(opened()).toEqual(['S1321001']);
  });

  test('is renewed after ten minutes, without a refused request', async () => {
    const accounts = startProcess();
    const id = idOf(await accounts.link('U0TINA', withSecret));
    now += 10 * MINUTE_MS;
    await search(accounts, id);
    expect(opened()).toEqual(['S1321001', 'S1321001']);
    expect(service.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('ends when the account is unlinked, and so does its successor', async () => {
    const accounts = startProcess();
    const id = idOf(await accounts.link('U0TINA', withSecret));
    now += 9 * MINUTE_MS + 40_000;
    await search(accounts, id);
    expect(service.sessions.count()).toBe(2);
    await accounts.unlink('U0TINA');
    expect(service.sessions.count()).toBe(0);
  });
});

describe('waits for the next token if the current one was used', () => {
  test('when the session is gone and the next task comes at once', async () => {
    const accounts = startProcess();
    const id = idOf(await accounts.link('U0TINA', withSecret));
    service.sessions.endAll();
    await search(accounts, id);
    expect(opened()).toEqual(['S1321001', 'S1321001']);
    expect(waits).toEqual([20_000]);
  });

  test('by two replicas at once, one after the other', async () => {
    const [one, two] = [startProcess(), startProcess()];
    const id = idOf(await one.link('U0TINA', withSecret));
    now += 11 * MINUTE_MS;
    await Promise.all([search(one, id), search(two, id)]);
    expect(opened()).toEqual(['S1321001', 'S1321001', 'S1321001']);
    expect(waits).toHaveLength(1);
  });

  test('by the next person who links the same user, also for another context', async () => {
    const accounts = startProcess();
    idOf(await accounts.link('U0TINA', withSecret));
    idOf(await accounts.link('U0BOB', withSecret));
    idOf(await accounts.link('U0TINA', { ...withSecret, context: 7 }));
    const steps = service.requestsFor({ task: 'session.create' }).map(({ at }) => Math.floor(at / 30_000));
    expect(new Set(steps).size, 'each in a half minute of its own').toBe(3);
  });
});

test('without enough time to wait, the person learns in how many seconds to try again, and nothing is stored', async () => {
  const accounts = startProcess(10_000);
  await accounts.link('U0TINA', withSecret);
  now += 1_500;
  const outcome = await accounts.link('U0BOB', withSecret);
  expect(outcome).toMatchObject({ kind: 'unreachable', refusal: { code: 'token_used' } });
  if (outcome.kind !== 'unreachable') throw new Error('linked without waiting');
  expect(formatLinkRefusal(outcome.refusal)).toMatch(/token.*used.*nothing was saved.*in 19 seconds\./);
  expect(await accounts.list('U0BOB')).toEqual([]);
  now += 19_000;
  idOf(await accounts.link('U0BOB', withSecret));
  expect(opened()).toEqual(['S1321001', 'S1321001']);
});

test('a token that wasn’t sent isn’t used up', async () => {
  const accounts = startProcess();
  await service.close();
  expect(await accounts.link('U0TINA', withSecret)).toMatchObject({ kind: 'unreachable' });
  service = await startSandboxService({ now: () => now });
  idOf(await startProcess().link('U0TINA', withSecret));
  expect(waits).toEqual([]);
});
