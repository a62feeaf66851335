import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Account } from '../../src/accounts/account.ts';
import { parseCredential, serializeCredential } from '../../src/accounts/credential.ts';
import { createVault, VaultError } from '../../src/accounts/vault.ts';
import { Secret } from '../../src/service/secret.ts';
import { createAccountStore } from '../../src/store/accounts.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { startChild } from '../support/child.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/* Rotates keys while processes are killed: CREDENTIALS is the number of credentials, KILLS that of kills. */

const CREDENTIALS = Number(process.env['CREDENTIALS'] ?? 300);
const KILLS = Number(process.env['KILLS'] ?? 2);
const BROKEN = 120;

const oldKey = { id: 'old', key: randomBytes(32) };
const olderKey = { id: 'older', key: randomBytes(32) };
const newKey = { id: 'new', key: randomBytes(32) };
const formatKeys = (keys: readonly (typeof oldKey)[]) =>
  keys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(',');

let testDatabase: TestDatabase;
let database: Database;
let client: pg.Client;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url });
  client = new pg.Client({ connectionString: testDatabase.url });
  await client.connect();
});
afterAll(async () => {
  await database.close();
  await client.end();
  await testDatabase.drop();
});

const listOwnerParts = (account: Pick<Account, 'teamId' | 'userId' | 'slot'>) => [
  'account',
  account.teamId,
  account.userId ?? '',
  account.slot,
];

/** Creates rows sealed with older keys. The first ones, by ID, can't be opened. */
async function createAccounts(): Promise<void> {
  const vaults = [createVault([oldKey]), createVault([olderKey])];
  const now = new Date();
  const rows = Array.from({ length: BROKEN + CREDENTIALS }, (_, n) => {
    const broken = n < BROKEN;
    const account = { teamId: 'T0STEWARD', userId: `U${n}`, slot: '4' };
    const credential = {
      method: 'password',
      user: `user-${n}`,
      context: 4,
      password: new Secret(`pw-${n}`),
    } as const;
    const vault = vaults[n % 2] ?? createVault([oldKey]);
    const sealed = vault.seal(
      serializeCredential(credential),
      listOwnerParts(broken ? { ...account, userId: 'U' } : account),
    );
    return {
      id: `${broken ? 'a' : 'b'}-${String(n).padStart(6, '0')}`,
      ...account,
      method: 'password',
      context: 4,
      login: `user-${n}`,
      sealed: sealed.bytes,
      keyId: sealed.keyId,
      createdAt: now,
      updatedAt: now,
    };
  });
  for (let at = 0; at < rows.length; at += 1_000) {
    await database.prisma.account.createMany({ data: rows.slice(at, at + 1_000) });
  }
}

async function countResealed(): Promise<number> {
  const found = await client.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM accounts WHERE key_id = 'new'`,
  );
  return found.rows[0]?.n ?? 0;
}

/** Verifies that every intact credential opens unchanged for its owner. @returns their count by key */
async function verifyAll(): Promise<Map<string, number>> {
  const vault = createVault([newKey, oldKey, olderKey]);
  const rows = await database.prisma.account.findMany({ where: { id: { startsWith: 'b-' } } });
  const keys = new Map<string, number>();
  for (const row of rows) {
    const userId = row.userId ?? '';
    const sealed = { keyId: row.keyId, bytes: row.sealed };
    const opened = parseCredential(vault.open(sealed, listOwnerParts({ ...row, userId })));
    expect(opened.password.reveal(), row.id).toBe(`pw-${userId.slice(1)}`);
    keys.set(row.keyId, (keys.get(row.keyId) ?? 0) + 1);
  }
  expect(rows).toHaveLength(CREDENTIALS);
  return keys;
}

test(`${CREDENTIALS} credentials are resealed despite ${KILLS} kills and ${BROKEN} broken ones`, async () => {
  await createAccounts();
  const env = {
    DATABASE_URL: testDatabase.url,
    CREDENTIALS_KEYS: formatKeys([newKey, oldKey, olderKey]),
    SLACK_BOT_TOKEN: 'xoxb-none',
    SLACK_SIGNING_SECRET: 'none-none',
    SERVICE_JSON_URL: 'http://127.0.0.1:1/v1',
    APPROVERS: 'U0BOB',
  };
  const start = () => startChild(new URL('../support/children/reseal.ts', import.meta.url), { env });
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const child = start();
    const target = Math.floor((CREDENTIALS * kill) / (KILLS + 1));
    const ended = child.ended.then(() => true);
    while ((await countResealed()) < target) {
      const over = await Promise.race([
        ended,
        new Promise<false>((resolve) => setTimeout(resolve, 5, false)),
      ]);
      if (over) throw new Error(`it ended by itself after ${await countResealed()} rows:\n${child.output()}`);
    }
    await child.kill();
    const keys = await verifyAll();
    expect(keys.get('new') ?? 0, `after kill ${kill}`).toBeGreaterThanOrEqual(target);
  }
  const last = start();
  await last.waitForLine(/"msg":"sealed"/);
  expect(await last.ended, last.output()).toBe(0);
  expect(await verifyAll()).toEqual(new Map([['new', CREDENTIALS]]));
  expect(await countResealed()).toBe(CREDENTIALS);
  for (const secret of ['pw-', newKey.key.toString('base64'), oldKey.key.toString('base64')]) {
    expect(last.output().includes(secret), 'a secret in the log').toBe(false);
  }
}, 600_000);

test('the old keys can be removed after resealing', async () => {
  const vault = createVault([newKey]);
  const store = createAccountStore(database);
  const found = await store.find('b-000200');
  if (found === undefined) throw new Error('account not found');
  expect(vault.open(found.sealed, listOwnerParts(found.account)).reveal()).toContain('pw-200');
});

test.each([
  ['not JSON', 'a secret that is no JSON'],
  ['of another shape', '{"method":"password","user":"alice","password":"hunter2"}'],
])('the error about a credential that is %s doesn’t quote it', (_what, text) => {
  let error: unknown;
  try {
    parseCredential(new Secret(text));
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(VaultError);
  expect(String(error)).not.toMatch(/secret that|hunter2|alice/);
});
