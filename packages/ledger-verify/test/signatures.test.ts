import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nodeCryptography, verify } from '../src/index.ts';
import {
  canonical,
  type Event,
  formatLines,
  hashSeal,
  type Line,
  makeLedger,
  makeReceipt,
  type Seal,
  STATEMENT,
  sha256,
} from './make-ledger.ts';

/* Approvals signed with passkeys, as the bot stores them, and their chains of vouches. */

interface Passkey {
  readonly owner: string;
  readonly fingerprint: string;
  readonly spki: Buffer;
  readonly privateKey: KeyObject;
}

function newPasskey(owner: string, kind: 'ES256' | 'RS256' | 'EdDSA'): Passkey {
  const { publicKey, privateKey } =
    kind === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : kind === 'RS256'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519');
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return { owner, spki, privateKey, fingerprint: `SHA256:${sha256(spki).toString('base64url')}` };
}

const ORIGIN = 'https://steward.example';

/** Creates a WebAuthn assertion, as the bot stores it. */
function signWith(
  key: Passkey,
  challenge: object,
  { origin = ORIGIN, flags = 0x05, type = 'webauthn.get' } = {},
) {
  const clientData = Buffer.from(
    JSON.stringify({
      type,
      challenge: sha256(canonical(challenge)).toString('base64url'),
      origin,
      crossOrigin: false,
    }),
  );
  const host = new URL(ORIGIN).hostname;
  const authenticator = Buffer.concat([sha256(host), Buffer.of(flags, 0, 0, 0, 0)]);
  const signed = Buffer.concat([authenticator, sha256(clientData)]);
  const algorithm = key.privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  return {
    challenge,
    key: key.fingerprint,
    publicKey: key.spki.toString('base64url'),
    credential: 'AQID',
    authenticatorData: authenticator.toString('base64url'),
    clientDataJSON: clientData.toString('base64url'),
    signature: sign(algorithm, signed, key.privateKey).toString('base64url'),
  };
}

const root = newPasskey('U0ROOT', 'EdDSA');
const lead = newPasskey('U0LEAD', 'RS256');
const bob = newPasskey('U0BOB', 'ES256');
const statement = sha256(canonical(STATEMENT)).toString('hex');
const vouch = (by: Passkey, of: Passkey) =>
  signWith(by, { by: by.owner, decision: 'vouch', key: of.fingerprint, nonce: '00', of: of.owner });

function approve(key: Passkey, changes: object = {}) {
  const binding = { order: STATEMENT.order, requesters: ['U0ALICE'], salt: '07' };
  const nonce = sha256(canonical(binding)).toString('hex');
  const challenge = { approver: key.owner, decision: 'approve', nonce, policy: 3, statement, ...changes };
  return { binding, statement, signature: signWith(key, challenge) };
}

const VALID = { ...approve(bob), chain: [vouch(lead, bob), vouch(root, lead)] };

function receiptOf(data: object, actor = bob.owner) {
  const common = {
    type: 'event' as const,
    at: '2026-11-25T13:00:00.000Z',
    subject: { kind: 'order', id: STATEMENT.order },
  };
  const events: Event[] = [
    { ...common, seq: 1, kind: 'requested', actor: 'U0ALICE', data: { statement } },
    { ...common, seq: 2, kind: 'approved', actor, data },
  ];
  const ledger = makeLedger(events, [2]);
  return { receipt: makeReceipt(ledger, STATEMENT.order), ledger };
}

function check(lines: readonly Line[], roots: readonly string[] | undefined) {
  const pieces = (async function* () {
    yield Buffer.from(formatLines(lines));
  })();
  return verify(pieces, { key: undefined, anchors: [], roots }, nodeCryptography);
}

describe('a passkey’s signature', () => {
  it('is proved with its owner, statement and root', async () => {
    const { receipt } = receiptOf(VALID);
    const report = await check(receipt, [root.fingerprint]);
    expect(report).toMatchObject({ verdict: 'proved', differences: [] });
    expect(report.proved.join('\n')).toContain(
      `U0BOB’s passkey ${bob.fingerprint}, vouched for by root ${root.fingerprint} through 1 more, signed exactly the statement ${statement} (event 2)`,
    );
  });

  it.each([bob, lead, root])('is verified with each algorithm ($owner)', async (key) => {
    const { receipt } = receiptOf({ ...approve(key), chain: [] }, key.owner);
    expect((await check(receipt, [key.fingerprint])).differences).toEqual([]);
  });
});

it('an anchor dates a signature', async () => {
  const { receipt, ledger } = receiptOf(VALID);
  const anchors = ledger.seals.map((seal) => ({ n: seal.n, hash: hashSeal(seal) }));
  const pieces = (async function* () {
    yield Buffer.from(formatLines(receipt));
  })();
  const report = await verify(
    pieces,
    { key: undefined, anchors, roots: [root.fingerprint] },
    nodeCryptography,
  );
  expect(report.proved.join('\n')).toContain('(event 2), before seal 1 left (2026-11-01T12:01:00.000Z)');
});

describe('an order with an approved time', () => {
  const timed = { ...STATEMENT, notBefore: '2026-12-06T01:00:00.000Z' };
  const hash = sha256(canonical(timed)).toString('hex');
  const verifySentAt = (at: string) => {
    const subject = { kind: 'order', id: STATEMENT.order };
    const events: Event[] = [
      {
        ...{ type: 'event', seq: 1, at: '2026-11-25T13:00:00.000Z', subject, kind: 'requested' },
        actor: 'system',
        data: { statement: hash },
      },
      { type: 'event', seq: 2, at, subject, kind: 'sending', actor: 'system', data: { statement: hash } },
    ];
    const receipt = makeReceipt(makeLedger(events, [2]), STATEMENT.order);
    return check(receipt.with(1, { type: 'statement', statement: timed }), undefined);
  };

  it('is proved if it was sent at that time', async () => {
    const report = await verifySentAt('2026-12-06T01:00:00.000Z');
    expect(report).toMatchObject({ verdict: 'proved', differences: [] });
    expect(report.proved).toContain('It was approved to be sent at 2026-12-06T01:00:00.000Z or later.');
  });

  it.each(['2026-12-06T00:59:59.999Z', 'soon'])('differs if it was sent earlier: %s', async (at) => {
    expect((await verifySentAt(at)).differences).toEqual([
      { code: 'changed', text: 'event 2 sent it before 2026-12-06T01:00:00.000Z, its approved time' },
    ]);
  });
});

describe('an anchor', () => {
  const common = { type: 'event' as const, at: '2026-11-25T13:00:00.000Z' };
  const ofOrder = { ...common, subject: { kind: 'order', id: STATEMENT.order } };
  const requested = { ...ofOrder, seq: 1, kind: 'requested', actor: 'U0ALICE', data: { statement } };
  const approved = { ...ofOrder, seq: 2, kind: 'approved', actor: bob.owner, data: VALID };
  const later: Event = {
    ...common,
    seq: 3,
    subject: { kind: 'name', id: 'cafe.rest' },
    kind: 'name_watched',
  };
  const checkWith = async (lines: readonly Line[], seal: Seal | undefined) => {
    const pieces = (async function* () {
      yield Buffer.from(formatLines(lines));
    })();
    const anchors = [{ n: seal?.n ?? 0, hash: hashSeal(seal) }];
    return verify(pieces, { key: undefined, anchors, roots: [root.fingerprint] }, nodeCryptography);
  };

  it('proves nothing about later seals', async () => {
    const ledger = makeLedger([requested, approved], [1, 1]);
    const report = await checkWith(makeReceipt(ledger, STATEMENT.order), ledger.seals[0]);
    expect(report).toMatchObject({ verdict: 'proved', anchored: { seal: 1 } });
    expect(report.proved.join('\n')).toContain('(event 2).');
    expect(report.proved.join('\n')).toContain('Anchor 1 fits: event 1 stood so');
    expect(report.notes.join('\n')).toContain('event 2: after every anchor that is known');
  });

  it('proves nothing about a seal that isn’t chained to it, which the key’s holder could forge', async () => {
    const honest = makeLedger([requested, { ...later, seq: 2 }, later], [1, 1, 1]);
    const forged = makeLedger([requested, approved], [2], honest.signer);
    const [first, , last] = honest.seals;
    const receipt = [...makeReceipt(forged, STATEMENT.order), ...(last === undefined ? [] : [last])];
    const report = await checkWith(receipt, last);
    expect(report.anchored).toBeUndefined();
    expect(report.proved.join('\n')).not.toContain('before seal');
    expect(report.notes.join('\n')).toContain('No matching anchor was given');
    expect((await checkWith(receipt, first)).verdict).toBe('differs');
  });
});

it.each<[what: string, data: object, fault: string]>([
  ['is from another person', { ...approve(lead), chain: [vouch(root, lead)] }, 'it is one of U0LEAD'],
  [
    'is over another statement',
    { ...VALID, ...approve(bob, { statement: '00' }) },
    'it is over another statement',
  ],
  [
    'is bound to another order',
    { ...VALID, binding: { ...VALID.binding, order: 'another' } },
    'it is bound to',
  ],
  ['is bound to nothing', { ...VALID, binding: undefined }, 'it is bound to something else'],
  [
    'was changed',
    { ...VALID, signature: { ...VALID.signature, signature: vouch(bob, bob).signature } },
    'the key has not signed it',
  ],
  [
    'has the fingerprint of another key',
    { ...VALID, signature: { ...VALID.signature, key: lead.fingerprint } },
    'the public key beside it is not',
  ],
  [
    'has another challenge',
    { ...VALID, signature: { ...VALID.signature, challenge: { ...VALID.signature.challenge, policy: 4 } } },
    'it is over something else',
  ],
  [
    'was made without user verification',
    { ...VALID, signature: signWith(bob, VALID.signature.challenge, { flags: 0x01 }) },
    'has not verified who used it',
  ],
  [
    'was made for another origin',
    { ...VALID, signature: signWith(bob, VALID.signature.challenge, { origin: 'https://evil.example' }) },
    'for another address',
  ],
  [
    'was made by registering a key',
    { ...VALID, signature: signWith(bob, VALID.signature.challenge, { type: 'webauthn.create' }) },
    'not made to sign in',
  ],
  [
    'is a vouch instead of an approval',
    { ...VALID, signature: signWith(bob, { ...vouch(bob, lead).challenge, decision: 'vouch' }) },
    'it approves nothing',
  ],
  ['has a chain for another key', { ...VALID, chain: [vouch(root, lead)] }, 'it does not vouch for'],
  [
    'has a chain with a forged link',
    { ...VALID, chain: [VALID.chain[0], { ...VALID.chain[1], signature: VALID.chain[0]?.signature }] },
    'link 2 of its chain: the key has not signed it',
  ],
])('a signature is reported if it %s', async (_what, data, fault) => {
  const { receipt } = receiptOf(data);
  const report = await check(receipt, [root.fingerprint]);
  expect(report.verdict).toBe('differs');
  expect(report.differences.map(({ text }) => text).join('\n')).toContain(fault);
});

it('the report notes missing roots', async () => {
  const { receipt } = receiptOf(VALID);
  const report = await check(receipt, undefined);
  expect(report.verdict).toBe('proved');
  expect(report.notes.join('\n')).toContain('(--roots)');
});

it.each(['receipt', 'ledger'] as const)('a signature with another root is reported in a %s', async (file) => {
  const { receipt, ledger } = receiptOf(VALID);
  const lines = { receipt, ledger: ledger.lines }[file];
  expect((await check(lines, [root.fingerprint])).verdict).toBe('proved');
  expect((await check(lines, [lead.fingerprint])).differences).toEqual([
    { code: 'key', text: expect.stringContaining('event 2: its signature rests on') },
  ]);
});

describe('a revoked key', () => {
  const common = { type: 'event' as const, seq: 0, at: '2026-11-25T13:00:00.000Z' };
  const ofOrder = { ...common, subject: { kind: 'order', id: STATEMENT.order } };
  const requested = { ...ofOrder, kind: 'requested', actor: 'U0ALICE', data: { statement } };
  const approved = { ...ofOrder, kind: 'approved', actor: bob.owner, data: VALID };
  const revoke = (key: Passkey, data: object, actor = 'system') => ({
    ...{ ...common, subject: { kind: 'key', id: key.fingerprint }, kind: 'key_revoked' },
    ...{ actor, data: { owner: key.owner, ...data } },
  });
  const signedBy = (by: Passkey, of: Passkey) => ({
    signature: signWith(by, {
      by: by.owner,
      decision: 'revoke',
      key: of.fingerprint,
      nonce: '00',
      of: of.owner,
    }),
  });
  const files = (events: readonly Event[]) => {
    const ledger = makeLedger(
      events.map((event, at) => ({ ...event, seq: at + 1 })),
      [events.length],
    );
    return {
      ledger: ledger.lines,
      // Like the bot's receipts, it includes revocations.
      receipt: makeReceipt(ledger, STATEMENT.order, ({ kind }) => kind === 'key_revoked'),
    };
  };

  describe.each(['receipt', 'ledger'] as const)('in a %s', (file) => {
    it.each<[whose: string, key: Passkey]>([
      ['the signing key', bob],
      ['a vouching key', lead],
      ['the root', root],
    ])('is reported if it was revoked before the signature: %s', async (_whose, key) => {
      const lines = files([requested, revoke(key, { left: true }), approved])[file];
      expect((await check(lines, undefined)).differences).toEqual([
        {
          code: 'key',
          text: `event 3: its signature rests on ${key.fingerprint}, which had been revoked because its owner had left at ${common.at} (event 2)`,
        },
      ]);
    });

    it('doesn’t matter if it was revoked after the signature, or is another key', async () => {
      const stranger = newPasskey('U0EVE', 'ES256');
      const events = [
        revoke(stranger, { left: true }),
        requested,
        approved,
        revoke(bob, signedBy(root, bob), root.owner),
      ];
      expect(await check(files(events)[file], undefined)).toMatchObject({
        verdict: 'proved',
        differences: [],
      });
    });
  });

  it('is noted if it was revoked after the signature', async () => {
    const { receipt } = files([requested, approved, revoke(bob, signedBy(root, bob), root.owner)]);
    expect((await check(receipt, undefined)).notes.join('\n')).toContain(
      `The key ${bob.fingerprint} was revoked by U0ROOT at ${common.at} (event 3)`,
    );
  });
});
