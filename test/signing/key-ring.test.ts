import { expect, test } from 'vitest';
import { isCharterSigned, type KeyLog, keyRingOf, type Trust } from '../../src/signing/key-ring.ts';
import { addedKey, HERE, newLog, newNonce, newSigner, rootsOf, VERIFIER, vouching } from './sample.ts';

const [anna, bob, carol, mallory] = ['U0ANNA', 'U0BOB', 'U0CAROL', 'U0MALLORY'].map((id) =>
  newSigner(id),
) as [
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
  ReturnType<typeof newSigner>,
];
const everybody = [anna, bob, carol, mallory];
const trust: Trust = { roots: rootsOf(anna), verifier: VERIFIER, left: new Set() };

async function counting(log: KeyLog, changes: Partial<Trust> = {}): Promise<string[]> {
  const ring = await keyRingOf(log, { ...trust, ...changes });
  return [...ring.counting.values()].map(({ owner }) => owner).sort();
}

test('a root counts, and whose chain of vouchings ends in one', async () => {
  const log = newLog(everybody, [
    [anna, bob],
    [bob, carol],
  ]);
  expect(await counting(log)).toEqual(['U0ANNA', 'U0BOB', 'U0CAROL']);
  const { counting: keys } = await keyRingOf(log, trust);
  expect(keys.get(carol.authenticator.fingerprint)?.chain.map(({ challenge }) => challenge.by)).toEqual([
    'U0BOB',
    'U0ANNA',
  ]);
});

test('nobody counts without a root', async () => {
  expect(await counting(newLog(everybody, [[anna, bob]]), { roots: new Set() })).toEqual([]);
});

test('whoever vouches for themselves or in a ring does not count', async () => {
  const ring = newLog(everybody, [
    [mallory, mallory],
    [mallory, carol],
    [carol, mallory],
  ]);
  expect(await counting(ring)).toEqual(['U0ANNA']);
});

test('a revoked key takes with it whose only chain runs through it', async () => {
  const revoked = [{ key: bob.authenticator.fingerprint, by: 'U0ANNA', at: new Date() }];
  const chained = newLog(
    everybody,
    [
      [anna, bob],
      [bob, carol],
    ],
    { revoked },
  );
  expect(await counting(chained)).toEqual(['U0ANNA']);
  const twice = newLog(
    everybody,
    [
      [anna, bob],
      [bob, carol],
      [anna, carol],
    ],
    { revoked },
  );
  expect(await counting(twice)).toEqual(['U0ANNA', 'U0CAROL']);
});

test('who has left takes with them whose only chain runs through them', async () => {
  const log = newLog(everybody, [
    [anna, bob],
    [bob, carol],
  ]);
  expect(await counting(log, { left: new Set(['U0BOB']) })).toEqual(['U0ANNA']);
});

test('a revoked root counts no more', async () => {
  const revoked = [{ key: anna.authenticator.fingerprint, by: 'U0ANNA', at: new Date() }];
  expect(await counting(newLog(everybody, [[anna, bob]], { revoked }))).toEqual([]);
});

test('a key of another host does not count', async () => {
  const log = newLog(everybody, [[anna, bob]]);
  const moved = { ...log, added: log.added.map((key) => ({ ...key, host: 'old.example' })) };
  const ring = await keyRingOf(moved, trust);
  expect(ring.keys.map(({ counts }) => counts)).toEqual(everybody.map(() => 'other_host'));
});

test('a key that was added twice counts for nobody', async () => {
  const log = newLog([anna, bob], [[anna, bob]]);
  const twice = { ...log, added: [...log.added, { ...addedKey(bob), owner: 'U0MALLORY' }] };
  expect(await counting(twice)).toEqual(['U0ANNA']);
});

test('a vouching for one person does not make the key another’s', async () => {
  const log = newLog([anna, bob], [[anna, bob]]);
  const stolen = {
    ...log,
    added: log.added.map((key) => (key.owner === 'U0BOB' ? { ...key, owner: 'U0MALLORY' } : key)),
  };
  expect(await counting(stolen)).toEqual(['U0ANNA']);
});

test('a vouching under another event does not revoke or vouch for another key', async () => {
  const log = newLog([anna, bob, mallory], []);
  const moved = {
    ...log,
    vouched: [{ key: mallory.authenticator.fingerprint, signature: vouching(anna, bob) }],
  };
  expect(await counting(moved)).toEqual(['U0ANNA']);
});

test('a charter counts while a key that counts has signed it', async () => {
  const charter = 'a'.repeat(64);
  const signed = (who: typeof anna) =>
    who.authenticator.assert({ by: who.owner, charter, decision: 'publish', nonce: newNonce() });
  const log = newLog([anna, bob, mallory], [[anna, bob]]);
  const isSigned = async (changes: Partial<KeyLog>, hash = charter) => {
    const changed = { ...log, ...changes };
    return isCharterSigned(changed, await keyRingOf(changed, trust), VERIFIER, hash);
  };
  expect(await isSigned({ charters: [signed(bob)] })).toBe(true);
  expect(await isSigned({ charters: [signed(bob)] }, 'b'.repeat(64))).toBe(false);
  expect(await isSigned({ charters: [signed(mallory)] })).toBe(false);
  const revoked = [{ key: bob.authenticator.fingerprint, by: 'U0BOB', at: new Date() }];
  expect(await isSigned({ charters: [signed(bob)], revoked })).toBe(false);
  const renamed = { ...signed(bob), challenge: { ...signed(bob).challenge, by: 'U0ANNA' } };
  expect(await isSigned({ charters: [renamed] })).toBe(false);
  expect(HERE.id).toBe('steward.example');
});
