import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AccountStore, PersonAccount } from '../../src/accounts/account.ts';
import type { SealedSecret } from '../../src/accounts/vault.ts';
import { createAccountStore } from '../../src/store/accounts.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let testDatabase: TestDatabase;
let database: Database;
let store: AccountStore;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const admin = new pg.Client({ connectionString: testDatabase.url });
  await admin.connect();
  await admin.query(
    `ALTER DATABASE ${admin.escapeIdentifier(admin.database ?? '')} SET timezone = 'Asia/Kolkata'`,
  );
  await admin.end();
  database = openDatabase({ url: testDatabase.url });
  store = createAccountStore(database);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const VERIFIED = new Date('2026-03-08T06:59:59.123Z');
let people = 0;

/** Accounts of one new person. */
function person() {
  people += 1;
  const userId = `U${people}`;
  const account = (id: string, changes: Partial<PersonAccount> = {}): PersonAccount => ({
    id: `${userId}-${id}`,
    teamId: 'T1',
    userId,
    method: 'password',
    slot: '4',
    context: 4,
    login: 'alice',
    application: undefined,
    isActive: true,
    verifiedAt: VERIFIED,
    ...changes,
  });
  const list = () => store.list('T1', userId);
  return { userId, account, list };
}

function sealed(byte: number, keyId = 'k1'): SealedSecret {
  return { keyId, bytes: Uint8Array.from([byte, 0, 255]) };
}

const application = {
  method: 'trusted_application',
  slot: 'application',
  context: undefined,
  login: 'e9a1',
  application: 'steward',
  verifiedAt: undefined,
} as const;

test('linked accounts are read back in full, and the last one is active', async () => {
  const { account, list } = person();
  const first = account('a');
  const second = account('b', application);
  await store.save(first, sealed(1));
  await store.save(second, sealed(2));
  expect(await list()).toEqual([{ ...first, isActive: false }, second]);
  expect(await store.find(second.id)).toEqual({ account: second, sealed: sealed(2) });
  expect(await store.find('nobody')).toBeUndefined();
  expect(await store.list('T2', first.userId)).toEqual([]);
});

test('accounts are listed by context number, the application last', async () => {
  const { account, list } = person();
  await store.save(account('app', application), sealed(1));
  for (const context of [10, 1, 4]) {
    await store.save(account(`c${context}`, { context, slot: String(context) }), sealed(context));
  }
  expect((await list()).map(({ slot }) => slot)).toEqual(['1', '4', '10', 'application']);
});

test('an account linked again with the same login keeps its ID for pending orders', async () => {
  const { account, list } = person();
  await store.save(account('old', { verifiedAt: undefined }), sealed(1));
  await store.save(account('new'), sealed(2));
  expect(await list()).toEqual([account('old')]);
  expect((await store.find(account('old').id))?.sealed).toEqual(sealed(2));
});

test.each([
  ['another login', { login: 'bob' }],
  ['another method', { method: 'two_factor' }],
] as const)('linking with %s replaces the account', async (_, changes) => {
  const { account, list } = person();
  await store.save(account('old'), sealed(1));
  await store.save(account('new', changes), sealed(2));
  expect(await list()).toEqual([account('new', changes)]);
  expect(await store.find(account('old').id)).toBeUndefined();
});

test('10 concurrent links by one person, in one slot or several, leave one active account', async () => {
  const { account, list } = person();
  const same = Array.from({ length: 5 }, (_, index) => account(`same-${index}`, { login: `login-${index}` }));
  const others = [1, 2, 3, 5, 6].map((context) => account(`c${context}`, { context, slot: String(context) }));
  await Promise.all([...same, ...others].map((each, index) => store.save(each, sealed(index))));
  const accounts = await list();
  expect(accounts.map(({ slot }) => slot)).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(accounts.filter(({ isActive }) => isActive)).toHaveLength(1);
});

test('activating an account deactivates the other', async () => {
  const { userId, account, list } = person();
  await store.save(account('a'), sealed(1));
  await store.save(account('b', { slot: '1', context: 1 }), sealed(2));
  expect(await store.activate('T1', userId, '4')).toBe(true);
  expect((await list()).map(({ slot, isActive }) => [slot, isActive])).toEqual([
    ['1', false],
    ['4', true],
  ]);
  expect(await store.activate('T1', userId, '99')).toBe(false);
  expect((await list()).find(({ isActive }) => isActive)?.slot, 'a failed activation changes nothing').toBe(
    '4',
  );
  const results = await Promise.all(['1', '4', '1', '4'].map((slot) => store.activate('T1', userId, slot)));
  expect(results).toEqual([true, true, true, true]);
  expect((await list()).filter(({ isActive }) => isActive)).toHaveLength(1);
});

test('deleting an account deletes its secret, and activates no other account', async () => {
  const { account, list } = person();
  await store.save(account('a'), sealed(1));
  await store.save(account('b', { slot: '1', context: 1 }), sealed(2));
  await store.remove([account('b').id]);
  expect(await list()).toEqual([account('a', { isActive: false })]);
  await store.remove([]);
  await store.remove([account('a').id, 'nobody']);
  expect(await list()).toEqual([]);
});

test('an account is marked as verified, and a deleted account is ignored', async () => {
  const { account, list } = person();
  await store.save(account('a', application), sealed(1));
  await store.markVerified(account('a').id, VERIFIED);
  expect((await list())[0]?.verifiedAt).toEqual(VERIFIED);
  await store.markVerified('nobody', VERIFIED);
});

test('credentials with older keys are resealed, unless the account was linked again meanwhile', async () => {
  const { account } = person();
  await store.save(account('a'), sealed(1, 'old'));
  await store.save(account('b', { slot: '1', context: 1 }), sealed(2, 'older'));
  await store.save(account('c', { slot: '2', context: 2 }), sealed(3, 'new'));
  const mine = async (limit = 1_000) =>
    (await store.listSealedWithOtherKey('new', limit))
      .map(({ account: { id } }) => id)
      .filter((id) => id.startsWith(`${account('a').userId}-`));
  expect(await mine()).toEqual([account('a').id, account('b').id]);
  expect(await store.listSealedWithOtherKey('new', 1)).toHaveLength(1);

  expect(await store.reseal(account('a').id, sealed(1, 'old'), sealed(9, 'new'))).toBe(true);
  expect((await store.find(account('a').id))?.sealed).toEqual(sealed(9, 'new'));
  await store.save(account('b', { slot: '1', context: 1 }), sealed(7, 'older'));
  expect(await store.reseal(account('b').id, sealed(2, 'older'), sealed(8, 'new'))).toBe(false);
  expect((await store.find(account('b').id))?.sealed, 'a newer credential was overwritten').toEqual(
    sealed(7, 'older'),
  );
  expect(await mine()).toEqual([account('b').id]);
});
