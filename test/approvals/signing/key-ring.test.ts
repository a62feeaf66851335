import { expect, test } from 'vitest';
import {
  buildKeyRing,
  isAtKeyLimit,
  type KeyLog,
  MAX_KEYS,
  type Trust,
} from '../../../src/approvals/signing/key-ring.ts';
import {
  getRootFingerprints,
  newAddedKey,
  newKeyLog,
  newSigner,
  signRevocation,
  signVouch,
  VERIFIER,
} from './sample.ts';

const [anna, bob, carol, mallory] = ['U0ANNA', 'U0BOB', 'U0CAROL', 'U0MALLORY'].map((id) =>
  newSigner(id),
) as [
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
];
const everyone = [anna, bob, carol, mallory];
const revoke = (
  of: ReturnType<typeof newSigner>,
  by: ReturnType<typeof newSigner>,
): KeyLog['revocations'][number] => ({
  ...{ key: of.authenticator.fingerprint, by: by.owner, at: new Date(), eventIndex: 9 },
  signature: signRevocation(by, of),
});
const trust: Trust = { roots: getRootFingerprints(anna), verifier: VERIFIER, departedIds: new Set() };

async function validOwners(log: KeyLog, changes: Partial<Trust> = {}): Promise<string[]> {
  const ring = await buildKeyRing(log, { ...trust, ...changes });
  return [...ring.validKeys.values()].map(({ owner }) => owner).sort();
}

test('a root is valid, and so is a key with a chain of vouchers to a root', async () => {
  const log = newKeyLog(everyone, [
    [anna, bob],
    [bob, carol],
  ]);
  expect(await validOwners(log)).toEqual(['U0ANNA', 'U0BOB', 'U0CAROL']);
  const { validKeys: keys } = await buildKeyRing(log, trust);
  expect(keys.get(carol.authenticator.fingerprint)?.chain.map(({ challenge }) => challenge.by)).toEqual([
    'U0BOB',
    'U0ANNA',
  ]);
});

test('no key is valid without a root', async () => {
  expect(await validOwners(newKeyLog(everyone, [[anna, bob]]), { roots: new Set() })).toEqual([]);
});

test('vouching for oneself or in a circle doesn’t make a key valid', async () => {
  const ring = newKeyLog(everyone, [
    [mallory, mallory],
    [mallory, carol],
    [carol, mallory],
  ]);
  expect(await validOwners(ring)).toEqual(['U0ANNA']);
});

test('a revoked key invalidates keys whose only chain includes it', async () => {
  const isRevoked = { revocations: [revoke(bob, anna)] };
  const chained = newKeyLog(
    everyone,
    [
      [anna, bob],
      [bob, carol],
    ],
    isRevoked,
  );
  expect(await validOwners(chained)).toEqual(['U0ANNA']);
  const twice = newKeyLog(
    everyone,
    [
      [anna, bob],
      [bob, carol],
      [anna, carol],
    ],
    isRevoked,
  );
  expect(await validOwners(twice)).toEqual(['U0ANNA', 'U0CAROL']);
});

test('a person who has left invalidates keys whose only chain includes them', async () => {
  const log = newKeyLog(everyone, [
    [anna, bob],
    [bob, carol],
  ]);
  expect(await validOwners(log, { departedIds: new Set(['U0BOB']) })).toEqual(['U0ANNA']);
});

test('a revoked root is invalid', async () => {
  expect(
    await validOwners(newKeyLog(everyone, [[anna, bob]], { revocations: [revoke(anna, anna)] })),
  ).toEqual([]);
});

test('a key of another host is invalid', async () => {
  const log = newKeyLog(everyone, [[anna, bob]]);
  const moved = { ...log, addedKeys: log.addedKeys.map((key) => ({ ...key, host: 'old.example' })) };
  const ring = await buildKeyRing(moved, trust);
  expect(ring.keys.map(({ validity }) => validity)).toEqual(everyone.map(() => 'host_mismatch'));
});

test('a key that was added twice is invalid', async () => {
  const log = newKeyLog([anna, bob], [[anna, bob]]);
  const twice = { ...log, addedKeys: [...log.addedKeys, { ...newAddedKey(bob), owner: 'U0MALLORY' }] };
  expect(await validOwners(twice)).toEqual(['U0ANNA']);
  expect(await validOwners({ ...log, addedKeys: [...log.addedKeys, newAddedKey(anna)] })).toEqual([]);
});

test('a key with another key’s fingerprint is invalid', async () => {
  const { publicKey } = newAddedKey(mallory);
  expect(await validOwners(newKeyLog([], [], { addedKeys: [{ ...newAddedKey(anna), publicKey }] }))).toEqual(
    [],
  );
});

test('other people’s keys and revoked keys don’t count toward a person’s limit', () => {
  const addKeys = (owner: string, count: number) =>
    Array.from({ length: count }, () => ({ ...newAddedKey(anna), owner }));
  const isLimited = (changes: Partial<KeyLog>) => isAtKeyLimit(newKeyLog([bob], [], changes), 'U0ANNA');
  expect(isLimited({ addedKeys: addKeys('U0ANNA', MAX_KEYS) })).toBe(true);
  expect(isLimited({ addedKeys: addKeys('U0ANNA', MAX_KEYS), revocations: [revoke(anna, anna)] })).toBe(
    false,
  );
  expect(isLimited({ addedKeys: [newAddedKey(bob), ...addKeys('U0ANNA', MAX_KEYS - 1)] })).toBe(false);
});

test('a vouch for one person doesn’t make the key another person’s', async () => {
  const log = newKeyLog([anna, bob], [[anna, bob]]);
  const stolen = {
    ...log,
    addedKeys: log.addedKeys.map((key) => (key.owner === 'U0BOB' ? { ...key, owner: 'U0MALLORY' } : key)),
  };
  expect(await validOwners(stolen)).toEqual(['U0ANNA']);
});

test('a vouch copied to another key’s event doesn’t vouch for that key', async () => {
  const log = newKeyLog([anna, bob, mallory], []);
  const moved = {
    ...log,
    vouches: [{ key: mallory.authenticator.fingerprint, signature: signVouch(anna, bob) }],
  };
  expect(await validOwners(moved)).toEqual(['U0ANNA']);
});

test('a revocation needs the signature of the owner, a voucher or a root', async () => {
  const log = newKeyLog(everyone, [
    [anna, bob],
    [bob, carol],
  ]);
  const all = ['U0ANNA', 'U0BOB', 'U0CAROL'];
  const { signature: _, ...bare } = revoke(bob, anna);
  const withKey = { ...revoke(carol, bob), key: bob.authenticator.fingerprint };
  for (const [what, each] of Object.entries({
    'without a signature': bare,
    'by a key without a vouch': revoke(bob, mallory),
    'by a key that it vouched for': revoke(bob, carol),
    'with another key’s signature': withKey,
    'with another person’s key': {
      ...revoke(bob, mallory),
      signature: { ...revoke(bob, mallory).signature, key: anna.authenticator.fingerprint } as never,
    },
  }))
    expect(await validOwners({ ...log, revocations: [each] }), what).toEqual(all);
  for (const by of [anna, bob])
    expect(await validOwners({ ...log, revocations: [revoke(bob, by)] })).toEqual(['U0ANNA']);
  for (const by of [anna, bob])
    expect(await validOwners({ ...log, revocations: [revoke(carol, by)] })).toEqual(['U0ANNA', 'U0BOB']);
  expect(await validOwners({ ...log, revocations: [{ ...bare, left: true }] }), 'by the bot').toEqual([
    'U0ANNA',
  ]);
});

test('no key is valid while an event is missing', async () => {
  expect(await validOwners(newKeyLog([anna, bob], [[anna, bob]], { isComplete: false }))).toEqual([]);
});
