import { expect, test } from 'vitest';
import {
  buildKeyRing,
  isAtKeyLimit,
  type KeyLog,
  MAX_KEYS,
  type Trust,
} from '../../../src/approvals/signing/key-ring.ts';
import { addedKey, newLog, newSigner, revoking, rootsOf, VERIFIER, vouching } from './sample.ts';

const [anna, bob, carol, mallory] = ['U0ANNA', 'U0BOB', 'U0CAROL', 'U0MALLORY'].map((id) =>
  newSigner(id),
) as [
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
];
const everybody = [anna, bob, carol, mallory];
const revoked = (
  of: ReturnType<typeof newSigner>,
  by: ReturnType<typeof newSigner>,
): KeyLog['revoked'][number] => ({
  ...{ key: of.authenticator.fingerprint, by: by.owner, at: new Date(), n: 9 },
  signature: revoking(by, of),
});
const trust: Trust = { roots: rootsOf(anna), verifier: VERIFIER, left: new Set() };

async function counting(log: KeyLog, changes: Partial<Trust> = {}): Promise<string[]> {
  const ring = await buildKeyRing(log, { ...trust, ...changes });
  return [...ring.validKeys.values()].map(({ owner }) => owner).sort();
}

test('a root counts, and so does a key with a chain of vouchers to one', async () => {
  const log = newLog(everybody, [
    [anna, bob],
    [bob, carol],
  ]);
  expect(await counting(log)).toEqual(['U0ANNA', 'U0BOB', 'U0CAROL']);
  const { validKeys: keys } = await buildKeyRing(log, trust);
  expect(keys.get(carol.authenticator.fingerprint)?.chain.map(({ challenge }) => challenge.by)).toEqual([
    'U0BOB',
    'U0ANNA',
  ]);
});

test('nobody counts without a root', async () => {
  expect(await counting(newLog(everybody, [[anna, bob]]), { roots: new Set() })).toEqual([]);
});

test('people who vouch for themselves or in a circle don’t count', async () => {
  const ring = newLog(everybody, [
    [mallory, mallory],
    [mallory, carol],
    [carol, mallory],
  ]);
  expect(await counting(ring)).toEqual(['U0ANNA']);
});

test('a revoked key invalidates keys whose only chain includes it', async () => {
  const isRevoked = { revoked: [revoked(bob, anna)] };
  const chained = newLog(
    everybody,
    [
      [anna, bob],
      [bob, carol],
    ],
    isRevoked,
  );
  expect(await counting(chained)).toEqual(['U0ANNA']);
  const twice = newLog(
    everybody,
    [
      [anna, bob],
      [bob, carol],
      [anna, carol],
    ],
    isRevoked,
  );
  expect(await counting(twice)).toEqual(['U0ANNA', 'U0CAROL']);
});

test('a person who has left invalidates keys whose only chain includes them', async () => {
  const log = newLog(everybody, [
    [anna, bob],
    [bob, carol],
  ]);
  expect(await counting(log, { left: new Set(['U0BOB']) })).toEqual(['U0ANNA']);
});

test('a revoked root no longer counts', async () => {
  expect(await counting(newLog(everybody, [[anna, bob]], { revoked: [revoked(anna, anna)] }))).toEqual([]);
});

test('a key of another host doesn’t count', async () => {
  const log = newLog(everybody, [[anna, bob]]);
  const moved = { ...log, added: log.added.map((key) => ({ ...key, host: 'old.example' })) };
  const ring = await buildKeyRing(moved, trust);
  expect(ring.keys.map(({ validity }) => validity)).toEqual(everybody.map(() => 'host_mismatch'));
});

test('a key that was added twice counts for nobody', async () => {
  const log = newLog([anna, bob], [[anna, bob]]);
  const twice = { ...log, added: [...log.added, { ...addedKey(bob), owner: 'U0MALLORY' }] };
  expect(await counting(twice)).toEqual(['U0ANNA']);
  expect(await counting({ ...log, added: [...log.added, addedKey(anna)] })).toEqual([]);
});

test('a key under another’s fingerprint counts for nobody', async () => {
  const { publicKey } = addedKey(mallory);
  expect(await counting(newLog([], [], { added: [{ ...addedKey(anna), publicKey }] }))).toEqual([]);
});

test('a person’s keys are limited without those of others and revoked ones', () => {
  const more = (owner: string, count: number) =>
    Array.from({ length: count }, () => ({ ...addedKey(anna), owner }));
  const limited = (changes: Partial<KeyLog>) => isAtKeyLimit(newLog([bob], [], changes), 'U0ANNA');
  expect(limited({ added: more('U0ANNA', MAX_KEYS) })).toBe(true);
  expect(limited({ added: more('U0ANNA', MAX_KEYS), revoked: [revoked(anna, anna)] })).toBe(false);
  expect(limited({ added: [addedKey(bob), ...more('U0ANNA', MAX_KEYS - 1)] })).toBe(false);
});

test('a voucher for one person doesn’t make the key another’s', async () => {
  const log = newLog([anna, bob], [[anna, bob]]);
  const stolen = {
    ...log,
    added: log.added.map((key) => (key.owner === 'U0BOB' ? { ...key, owner: 'U0MALLORY' } : key)),
  };
  expect(await counting(stolen)).toEqual(['U0ANNA']);
});

test('a voucher’s signature in another event doesn’t revoke or vouch for another key', async () => {
  const log = newLog([anna, bob, mallory], []);
  const moved = {
    ...log,
    vouched: [{ key: mallory.authenticator.fingerprint, signature: vouching(anna, bob) }],
  };
  expect(await counting(moved)).toEqual(['U0ANNA']);
});

test('a revocation needs the signature of the owner, the voucher or a root', async () => {
  const log = newLog(everybody, [
    [anna, bob],
    [bob, carol],
  ]);
  const all = ['U0ANNA', 'U0BOB', 'U0CAROL'];
  const { signature: _, ...bare } = revoked(bob, anna);
  const withKey = { ...revoked(carol, bob), key: bob.authenticator.fingerprint };
  for (const [what, each] of Object.entries({
    'a bare row': bare,
    'a key that nobody vouched for': revoked(bob, mallory),
    'a key that it vouched for': revoked(bob, carol),
    'of another key': withKey,
    'as another person': {
      ...revoked(bob, mallory),
      signature: { ...revoked(bob, mallory).signature, key: anna.authenticator.fingerprint } as never,
    },
  }))
    expect(await counting({ ...log, revoked: [each] }), what).toEqual(all);
  for (const by of [anna, bob])
    expect(await counting({ ...log, revoked: [revoked(bob, by)] })).toEqual(['U0ANNA']);
  for (const by of [anna, bob])
    expect(await counting({ ...log, revoked: [revoked(carol, by)] })).toEqual(['U0ANNA', 'U0BOB']);
  expect(await counting({ ...log, revoked: [{ ...bare, left: true }] }), 'the bot’s record').toEqual([
    'U0ANNA',
  ]);
});

test('while an event is missing no key counts', async () => {
  expect(await counting(newLog([anna, bob], [[anna, bob]], { isComplete: false }))).toEqual([]);
});
