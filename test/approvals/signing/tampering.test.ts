import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  type ApprovalSignature,
  approvalSignatureSchema,
  buildChallenge,
  findSignatureDifference,
} from '../../../src/approvals/signing/approval.ts';
import {
  createVerifier,
  parseRelyingParty,
  vouchAssertionSchema,
} from '../../../src/approvals/signing/assertion.ts';
import { buildKeyRing, type KeyLog } from '../../../src/approvals/signing/key-ring.ts';
import { computeFingerprint, coseToSpki, spkiToCose } from '../../../src/approvals/signing/public-key.ts';
import type { Misbehavior } from '../../support/authenticator.ts';
import fc, { runs } from '../../support/properties.ts';
import { getRootFingerprints, newKeyLog, newNonce, newSigner, RELYING_PARTY } from './sample.ts';

/* Changed signatures and chains are invalid. */

const [anna, bob, carol] = [newSigner('U0ANNA'), newSigner('U0BOB'), newSigner('U0CAROL')];
const roots = getRootFingerprints(anna);
const subject = {
  statementHash: 'c'.repeat(64),
  policyVersion: 3,
  binding: { order: 'zr0gsgvnnxvt', requesters: ['U0ALICE'] },
};
const log = newKeyLog(
  [anna, bob, carol],
  [
    [anna, bob],
    [bob, carol],
  ],
);
const { challenge, binding } = buildChallenge('U0CAROL', subject, newNonce());
const signed: ApprovalSignature = { signature: carol.authenticator.assert(challenge), binding };

/** Whether Carol's approval counts. A new verifier has no cached results. */
async function counts(approval: ApprovalSignature, keys: KeyLog = log, userId = 'U0CAROL'): Promise<boolean> {
  const verifier = createVerifier(RELYING_PARTY);
  const ring = await buildKeyRing(keys, { roots, verifier, departedIds: new Set() });
  return (await findSignatureDifference({ userId, signed: approval }, subject, ring, verifier)) === undefined;
}

test('the original signature counts', async () => {
  expect(await counts(signed)).toBe(true);
  expect(approvalSignatureSchema.parse(JSON.parse(JSON.stringify(signed)))).toEqual(signed);
});

test('a signature with extra bytes at its end doesn’t count', async () => {
  const { signature } = signed.signature;
  const longer = Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.of(7)]).toString('base64url');
  expect(await counts({ ...signed, signature: { ...signed.signature, signature: longer } })).toBe(false);
});

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** The paths of all texts and numbers in a value. */
function leafPaths(value: Json, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, inner]) => leafPaths(inner as Json, [...path, key]));
}

/** A value with a change at a path. */
function withChange(
  value: Json,
  [key, ...rest]: readonly (string | number)[],
  change: (leaf: Json) => Json,
): Json {
  if (key === undefined) return change(value);
  if (Array.isArray(value))
    return value.map((each, index) => (index === key ? withChange(each, rest, change) : each));
  const inner = value as { readonly [key: string]: Json };
  return { ...inner, [key]: withChange(inner[String(key)] as Json, rest, change) };
}

/** A text with one character replaced, removed or added, or another number. */
function changeLeaf(leaf: Json, at: number, by: number): Json {
  if (typeof leaf !== 'string') return Number(leaf) + 1 + by;
  const position = leaf.length === 0 ? 0 : at % leaf.length;
  const other = 'ABCabc019-_'[by % 11] ?? 'A';
  if (by % 3 === 0) return leaf.slice(0, position) + leaf.slice(position + 1);
  if (by % 3 === 1) return leaf.slice(0, position) + other + leaf.slice(position);
  return leaf.slice(0, position) + (leaf[position] === other ? 'Z' : other) + leaf.slice(position + 1);
}

const tampering = fc.record({ path: fc.nat(), at: fc.nat(), by: fc.nat() });

test('a randomly changed signature never counts', async () => {
  const all = leafPaths(signed as unknown as Json);
  await fc.assert(
    fc.asyncProperty(tampering, async ({ path, at, by }) => {
      const changedValue = withChange(signed as unknown as Json, all[path % all.length] ?? [], (leaf) =>
        changeLeaf(leaf, at, by),
      );
      const read = approvalSignatureSchema.safeParse(changedValue);
      expect(read.success && (await counts(read.data))).toBe(false);
    }),
    { numRuns: runs(1_000) },
  );
});

test('a signature with a randomly changed chain never counts', async () => {
  const links = log.vouches as unknown as Json;
  const all = leafPaths(links);
  await fc.assert(
    fc.asyncProperty(tampering, async ({ path, at, by }) => {
      const changedLinks = withChange(links, all[path % all.length] ?? [], (leaf) =>
        changeLeaf(leaf, at, by),
      ) as unknown;
      const vouches = (changedLinks as KeyLog['vouches']).filter(
        ({ signature }) => vouchAssertionSchema.safeParse(signature).success,
      );
      expect(await counts(signed, { ...log, vouches })).toBe(false);
    }),
    { numRuns: runs(1_000) },
  );
});

test('an approval is only valid for its approver, statement, policy version and order', async () => {
  const verifier = createVerifier(RELYING_PARTY);
  const ring = await buildKeyRing(log, { roots, verifier, departedIds: new Set() });
  const differs = (changes: Partial<typeof subject>, userId = 'U0CAROL') =>
    findSignatureDifference({ userId, signed }, { ...subject, ...changes }, ring, verifier);
  expect(await differs({})).toBeUndefined();
  expect(await differs({ statementHash: 'd'.repeat(64) })).toBe('statement');
  expect(await differs({ policyVersion: 4 })).toBe('policy');
  expect(await differs({ binding: { ...subject.binding, requesters: ['U0BOB'] } })).toBe('order');
  expect(await differs({}, 'U0BOB')).toBe('approver');
  expect(
    await findSignatureDifference({ userId: 'U0CAROL', signed: undefined }, subject, ring, verifier),
  ).toBe('unsigned');
});

test.each<[string, Misbehavior]>([
  ['without user verification', { isUserVerified: false }],
  ['at another origin', { origin: 'https://steward.example.evil.example' }],
  ['for another host', { rpId: 'evil.example' }],
  ['with another challenge', { challenge: Buffer.alloc(32, 1).toString('base64url') }],
  ['of another type', { type: 'webauthn.create' }],
])('a signature %s doesn’t count', async (_what, otherwise) => {
  expect(await counts({ signature: carol.authenticator.assert(challenge, otherwise), binding })).toBe(false);
});

test('another person’s key can’t sign for Carol', async () => {
  expect(await counts({ signature: bob.authenticator.assert(challenge), binding })).toBe(false);
  expect(await counts({ signature: newSigner('U0CAROL').authenticator.assert(challenge), binding })).toBe(
    false,
  );
});

test('public keys survive the conversion from COSE', () => {
  const { publicKey, fingerprint } = anna.authenticator;
  expect(coseToSpki(spkiToCose(publicKey))).toBe(publicKey);
  expect(computeFingerprint(publicKey)).toBe(fingerprint);
});

test('only keys of accepted algorithms are converted', () => {
  const spki = ({ publicKey }: { readonly publicKey: KeyObject }) =>
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64url');
  for (const key of [generateKeyPairSync('ed25519'), generateKeyPairSync('rsa', { modulusLength: 1024 })])
    expect(coseToSpki(spkiToCose(spki(key)))).toBe(spki(key));
  for (const key of [generateKeyPairSync('ec', { namedCurve: 'P-384' }), generateKeyPairSync('ed448')])
    expect(() => spkiToCose(spki(key))).toThrow('unsupported');
});

test.each([
  ['https://steward.example:8443/x', 'steward.example'],
  ['http://localhost:3000', 'localhost'],
  ['http://steward.example', undefined],
  ['https://192.0.2.1', undefined],
  ['https://[2001:db8::1]', undefined],
])('keys of %s belong to %s', (url, id) => {
  expect(parseRelyingParty(url)?.id).toBe(id);
});
