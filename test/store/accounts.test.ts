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

const VERIFIED_AT = new Date('2026-03-08T06:59:59.123Z');
let personCount = 0;

/** Returns a new person's ID, a builder of accounts for it, and a function that lists stored accounts. */
function createPerson() {
  personCount += 1;
  const userId = `U${personCount}`;
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
    verifiedAt: VERIFIED_AT,
    ...changes,
  });
  const list = () => store.list('T1', userId);
  return { userId, account, list };
}

function createSealed(byte: number, keyId = 'k1'): SealedSecret {
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
  const { account, list } = createPerson();
  const first = account('a');
  const second = account('b', application);
  await store.save(first, createSealed(1));
  await store.save(second, createSealed(2));
  expect(await list()).toEqual([{ ...first, isActive: false }, second]);
  expect(await store.find(second.id)).toEqual({ account: second, sealed: createSealed(2) });
  expect(await store.find('nobody')).toBeUndefined();
  expect(await store.list('T2', first.userId)).toEqual([]);
});

test('accounts are listed by context number, the application last', async () => {
  const { account, list } = createPerson();
  await store.save(account('app', application), createSealed(1));
  for (const context of [10, 1, 4]) {
    await store.save(account(`c${context}`, { context, slot: String(context) }), createSealed(context));
  }
  expect((await list()).map(({ slot }) => slot)).toEqual(['1', '4', '10', 'application']);
});

test('an account linked again with the same login keeps its ID for pending orders', async () => {
  const { account, list } = createPerson();
  await store.save(account('old', { verifiedAt: undefined }), createSealed(1));
  await store.save(account('new'), createSealed(2));
  expect(await list()).toEqual([account('old')]);
  expect((await store.find(account('old').id))?.sealed).toEqual(createSealed(2));
});

test.each([
  ['another login', { login: 'bob' }],
  ['another method', { method: 'two_factor' }],
] as const)('linking with %s replaces the account', async (_, changes) => {
  const { account, list } = createPerson();
  await store.save(account('old'), createSealed(1));
  await store.save(account('new', changes), createSealed(2));
  expect(await list()).toEqual([account('new', changes)]);
  expect(await store.find(account('old').id)).toBeUndefined();
});

test('10 concurrent links by one person, in one slot or several, leave one active account', async () => {
  const { account, list } = createPerson();
  const sameSlot = Array.from({ length: 5 }, (_, index) =>
    account(`same-${index}`, { login: `login-${index}` }),
  );
  const otherSlots = [1, 2, 3, 5, 6].map((context) =>
    account(`c${context}`, { context, slot: String(context) }),
  );
  await Promise.all([...sameSlot, ...otherSlots].map((each, index) => store.save(each, createSealed(index))));
  const accounts = await list();
  expect(accounts.map(({ slot }) => slot)).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(accounts.filter(({ isActive }) => isActive)).toHaveLength(1);
});

test('activating an account deactivates the other', async () => {
  const { userId, account, list } = createPerson();
  await store.save(account('a'), createSealed(1));
  await store.save(account('b', { slot: '1', context: 1 }), createSealed(2));
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
  const { account, list } = createPerson();
  await store.save(account('a'), createSealed(1));
  await store.save(account('b', { slot: '1', context: 1 }), createSealed(2));
  await store.remove([account('b').id]);
  expect(await list()).toEqual([account('a', { isActive: false })]);
  await store.remove([]);
  await store.remove([account('a').id, 'nobody']);
  expect(await list()).toEqual([]);
});

test('an account is marked as verified, and a deleted account is ignored', async () => {
  const { account, list } = createPerson();
  await store.save(account('a', application), createSealed(1));
  await store.markVerified(account('a').id, VERIFIED_AT);
  expect((await list())[0]?.verifiedAt).toEqual(VERIFIED_AT);
  await store.markVerified('nobody', VERIFIED_AT);
});

test('credentials with older keys are resealed, unless the account was linked again meanwhile', async () => {
  const { account } = createPerson();
  await store.save(account('a'), createSealed(1, 'old'));
  await store.save(account('b', { slot: '1', context: 1 }), createSealed(2, 'older'));
  await store.save(account('c', { slot: '2', context: 2 }), createSealed(3, 'new'));
  const listOwnIds = async (limit = 1_000) =>
    (await store.listSealedWithOtherKey('new', limit))
      .map(({ account: { id } }) => id)
      .filter((id) => id.startsWith(`${account('a').userId}-`));
  expect(await listOwnIds()).toEqual([account('a').id, account('b').id]);
  expect(await store.listSealedWithOtherKey('new', 1)).toHaveLength(1);

  expect(await store.reseal(account('a').id, createSealed(1, 'old'), createSealed(9, 'new'))).toBe(true);
  expect((await store.find(account('a').id))?.sealed).toEqual(createSealed(9, 'new'));
  await store.save(account('b', { slot: '1', context: 1 }), createSealed(7, 'older'));
  expect(await store.reseal(account('b').id, createSealed(2, 'older'), createSealed(8, 'new'))).toBe(false);
  expect((await store.find(account('b').id))?.sealed, 'a newer credential was overwritten').toEqual(
    createSealed(7, 'older'),
  );
  expect(await listOwnIds()).toEqual([account('b').id]);
});
