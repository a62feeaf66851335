import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nodeCryptography, type TrustedInputs, verify } from '../src/index.ts';
import {
  canonicalize,
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

function makePasskey(owner: string, algorithm: 'ES256' | 'RS256' | 'EdDSA'): Passkey {
  const { publicKey, privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : algorithm === 'RS256'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519');
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return { owner, spki, privateKey, fingerprint: `SHA256:${sha256(spki).toString('base64url')}` };
}

const ORIGIN = 'https://steward.example';

/** Creates a WebAuthn assertion, as the bot stores it. */
function createAssertion(
  key: Passkey,
  challenge: object,
  { origin = ORIGIN, flags = 0x05, type = 'webauthn.get' } = {},
) {
  const clientData = Buffer.from(
    JSON.stringify({
      type,
      challenge: sha256(canonicalize(challenge)).toString('base64url'),
      origin,
      crossOrigin: false,
    }),
  );
  const host = new URL(ORIGIN).hostname;
  const authenticatorData = Buffer.concat([sha256(host), Buffer.of(flags, 0, 0, 0, 0)]);
  const signedBytes = Buffer.concat([authenticatorData, sha256(clientData)]);
  const algorithm = key.privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  return {
    challenge,
    key: key.fingerprint,
    publicKey: key.spki.toString('base64url'),
    credential: 'AQID',
    authenticatorData: authenticatorData.toString('base64url'),
    clientDataJSON: clientData.toString('base64url'),
    signature: sign(algorithm, signedBytes, key.privateKey).toString('base64url'),
  };
}

const root = makePasskey('U0ROOT', 'EdDSA');
const lead = makePasskey('U0LEAD', 'RS256');
const bob = makePasskey('U0BOB', 'ES256');
const statementHash = sha256(canonicalize(STATEMENT)).toString('hex');
const vouch = (voucher: Passkey, vouchedKey: Passkey) =>
  createAssertion(voucher, {
    by: voucher.owner,
    decision: 'vouch',
    key: vouchedKey.fingerprint,
    nonce: '00',
    of: vouchedKey.owner,
  });

function approve(key: Passkey, changes: object = {}) {
  const binding = { order: STATEMENT.order, requesters: ['U0ALICE'], salt: '07' };
  const nonce = sha256(canonicalize(binding)).toString('hex');
  const challenge = {
    approver: key.owner,
    decision: 'approve',
    nonce,
    policy: 3,
    statement: statementHash,
    ...changes,
  };
  return { binding, statement: statementHash, signature: createAssertion(key, challenge) };
}

const VALID_APPROVAL = { ...approve(bob), chain: [vouch(lead, bob), vouch(root, lead)] };

function makeApprovalReceipt(data: object, actor = bob.owner) {
  const commonFields = {
    type: 'event' as const,
    at: '2026-11-25T13:00:00.000Z',
    subject: { kind: 'order', id: STATEMENT.order },
  };
  const events: Event[] = [
    { ...commonFields, seq: 1, kind: 'requested', actor: 'U0ALICE', data: { statement: statementHash } },
    { ...commonFields, seq: 2, kind: 'approved', actor, data },
  ];
  const ledger = makeLedger(events, [2]);
  return { receipt: makeReceipt(ledger, STATEMENT.order), ledger };
}

function verifyFile(
  lines: readonly Line[],
  roots: readonly string[] | undefined,
  anchors: TrustedInputs['anchors'] = [],
) {
  const chunks = (async function* () {
    yield Buffer.from(formatLines(lines));
  })();
  return verify(chunks, { key: undefined, anchors, roots }, nodeCryptography);
}

describe('a passkey’s signature', () => {
  it('is proved with its owner, statement and root', async () => {
    const { receipt } = makeApprovalReceipt(VALID_APPROVAL);
    const report = await verifyFile(receipt, [root.fingerprint]);
    expect(report).toMatchObject({ verdict: 'proved', differences: [] });
    expect(report.proved.join('\n')).toContain(
      `U0BOB’s passkey ${bob.fingerprint}, vouched for by root ${root.fingerprint} through 1 more, signed exactly the statement ${statementHash} (event 2)`,
    );
  });

  it.each([bob, lead, root])('is verified with each algorithm ($owner)', async (key) => {
    const { receipt } = makeApprovalReceipt({ ...approve(key), chain: [] }, key.owner);
    expect((await verifyFile(receipt, [key.fingerprint])).differences).toEqual([]);
  });
});

it('an anchor dates a signature', async () => {
  const { receipt, ledger } = makeApprovalReceipt(VALID_APPROVAL);
  const anchors = ledger.seals.map((seal) => ({ n: seal.n, hash: hashSeal(seal) }));
  const report = await verifyFile(receipt, [root.fingerprint], anchors);
  expect(report.proved.join('\n')).toContain('(event 2), before seal 1 left (2026-11-01T12:01:00.000Z)');
});

describe('an order with an approved time', () => {
  const scheduledStatement = { ...STATEMENT, notBefore: '2026-12-06T01:00:00.000Z' };
  const scheduledStatementHash = sha256(canonicalize(scheduledStatement)).toString('hex');
  const verifySentAt = (at: string) => {
    const subject = { kind: 'order', id: STATEMENT.order };
    const events: Event[] = [
      {
        ...{ type: 'event', seq: 1, at: '2026-11-25T13:00:00.000Z', subject, kind: 'requested' },
        actor: 'system',
        data: { statement: scheduledStatementHash },
      },
      {
        type: 'event',
        seq: 2,
        at,
        subject,
        kind: 'sending',
        actor: 'system',
        data: { statement: scheduledStatementHash },
      },
    ];
    const receipt = makeReceipt(makeLedger(events, [2]), STATEMENT.order);
    return verifyFile(receipt.with(1, { type: 'statement', statement: scheduledStatement }), undefined);
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
  const commonFields = { type: 'event' as const, at: '2026-11-25T13:00:00.000Z' };
  const orderEventFields = { ...commonFields, subject: { kind: 'order', id: STATEMENT.order } };
  const requested = {
    ...orderEventFields,
    seq: 1,
    kind: 'requested',
    actor: 'U0ALICE',
    data: { statement: statementHash },
  };
  const approved = { ...orderEventFields, seq: 2, kind: 'approved', actor: bob.owner, data: VALID_APPROVAL };
  const laterEvent: Event = {
    ...commonFields,
    seq: 3,
    subject: { kind: 'name', id: 'cafe.rest' },
    kind: 'name_watched',
  };
  const verifyWithAnchor = (lines: readonly Line[], seal: Seal | undefined) =>
    verifyFile(lines, [root.fingerprint], [{ n: seal?.n ?? 0, hash: hashSeal(seal) }]);

  it('proves nothing about later seals', async () => {
    const ledger = makeLedger([requested, approved], [1, 1]);
    const report = await verifyWithAnchor(makeReceipt(ledger, STATEMENT.order), ledger.seals[0]);
    expect(report).toMatchObject({ verdict: 'proved', anchored: { seal: 1 } });
    expect(report.proved.join('\n')).toContain('(event 2).');
    expect(report.proved.join('\n')).toContain('Anchor 1 fits: event 1 stood so');
    expect(report.notes.join('\n')).toContain('event 2: after every anchor that is known');
  });

  it('proves nothing about a forged seal that isn’t chained to the anchored one', async () => {
    const honestLedger = makeLedger([requested, { ...laterEvent, seq: 2 }, laterEvent], [1, 1, 1]);
    const forgedLedger = makeLedger([requested, approved], [2], honestLedger.signer);
    const [firstSeal, , lastSeal] = honestLedger.seals;
    const receipt = [
      ...makeReceipt(forgedLedger, STATEMENT.order),
      ...(lastSeal === undefined ? [] : [lastSeal]),
    ];
    const report = await verifyWithAnchor(receipt, lastSeal);
    expect(report.anchored).toBeUndefined();
    expect(report.proved.join('\n')).not.toContain('before seal');
    expect(report.notes.join('\n')).toContain('No matching anchor was given');
    expect((await verifyWithAnchor(receipt, firstSeal)).verdict).toBe('differs');
  });
});

it.each<[what: string, data: object, fault: string]>([
  ['is from another person', { ...approve(lead), chain: [vouch(root, lead)] }, 'it is one of U0LEAD'],
  [
    'is over another statement',
    { ...VALID_APPROVAL, ...approve(bob, { statement: '00' }) },
    'it is over another statement',
  ],
  [
    'is bound to another order',
    { ...VALID_APPROVAL, binding: { ...VALID_APPROVAL.binding, order: 'another' } },
    'it is bound to',
  ],
  ['is bound to nothing', { ...VALID_APPROVAL, binding: undefined }, 'it is bound to something else'],
  [
    'was changed',
    { ...VALID_APPROVAL, signature: { ...VALID_APPROVAL.signature, signature: vouch(bob, bob).signature } },
    'the key has not signed it',
  ],
  [
    'has the fingerprint of another key',
    { ...VALID_APPROVAL, signature: { ...VALID_APPROVAL.signature, key: lead.fingerprint } },
    'the public key beside it is not',
  ],
  [
    'has another challenge',
    {
      ...VALID_APPROVAL,
      signature: {
        ...VALID_APPROVAL.signature,
        challenge: { ...VALID_APPROVAL.signature.challenge, policy: 4 },
      },
    },
    'it is over something else',
  ],
  [
    'was made without user verification',
    {
      ...VALID_APPROVAL,
      signature: createAssertion(bob, VALID_APPROVAL.signature.challenge, { flags: 0x01 }),
    },
    'has not verified who used it',
  ],
  [
    'was made for another origin',
    {
      ...VALID_APPROVAL,
      signature: createAssertion(bob, VALID_APPROVAL.signature.challenge, { origin: 'https://evil.example' }),
    },
    'for another address',
  ],
  [
    'was made by registering a key',
    {
      ...VALID_APPROVAL,
      signature: createAssertion(bob, VALID_APPROVAL.signature.challenge, { type: 'webauthn.create' }),
    },
    'not made to sign in',
  ],
  [
    'is a vouch instead of an approval',
    {
      ...VALID_APPROVAL,
      signature: createAssertion(bob, { ...vouch(bob, lead).challenge, decision: 'vouch' }),
    },
    'it approves nothing',
  ],
  ['has a chain for another key', { ...VALID_APPROVAL, chain: [vouch(root, lead)] }, 'it does not vouch for'],
  [
    'has a chain with a forged link',
    {
      ...VALID_APPROVAL,
      chain: [
        VALID_APPROVAL.chain[0],
        { ...VALID_APPROVAL.chain[1], signature: VALID_APPROVAL.chain[0]?.signature },
      ],
    },
    'link 2 of its chain: the key has not signed it',
  ],
])('a signature is reported if it %s', async (_what, data, expectedFault) => {
  const { receipt } = makeApprovalReceipt(data);
  const report = await verifyFile(receipt, [root.fingerprint]);
  expect(report.verdict).toBe('differs');
  expect(report.differences.map(({ text }) => text).join('\n')).toContain(expectedFault);
});

it('the report notes missing roots', async () => {
  const { receipt } = makeApprovalReceipt(VALID_APPROVAL);
  const report = await verifyFile(receipt, undefined);
  expect(report.verdict).toBe('proved');
  expect(report.notes.join('\n')).toContain('(--roots)');
});

it.each(['receipt', 'ledger'] as const)(
  'a signature with another root is reported in a %s',
  async (fileKind) => {
    const { receipt, ledger } = makeApprovalReceipt(VALID_APPROVAL);
    const lines = { receipt, ledger: ledger.lines }[fileKind];
    expect((await verifyFile(lines, [root.fingerprint])).verdict).toBe('proved');
    expect((await verifyFile(lines, [lead.fingerprint])).differences).toEqual([
      { code: 'key', text: expect.stringContaining('event 2: its signature rests on') },
    ]);
  },
);

describe('a revoked key', () => {
  const commonFields = { type: 'event' as const, seq: 0, at: '2026-11-25T13:00:00.000Z' };
  const orderEventFields = { ...commonFields, subject: { kind: 'order', id: STATEMENT.order } };
  const requested = {
    ...orderEventFields,
    kind: 'requested',
    actor: 'U0ALICE',
    data: { statement: statementHash },
  };
  const approved = { ...orderEventFields, kind: 'approved', actor: bob.owner, data: VALID_APPROVAL };
  const makeRevocation = (key: Passkey, data: object, actor = 'system') => ({
    ...{ ...commonFields, subject: { kind: 'key', id: key.fingerprint }, kind: 'key_revoked' },
    ...{ actor, data: { owner: key.owner, ...data } },
  });
  const signRevocation = (revoker: Passkey, revokedKey: Passkey) => ({
    signature: createAssertion(revoker, {
      by: revoker.owner,
      decision: 'revoke',
      key: revokedKey.fingerprint,
      nonce: '00',
      of: revokedKey.owner,
    }),
  });
  const makeFiles = (events: readonly Event[]) => {
    const ledger = makeLedger(
      events.map((event, index) => ({ ...event, seq: index + 1 })),
      [events.length],
    );
    return {
      ledger: ledger.lines,
      // Like the bot's receipts, it includes revocations.
      receipt: makeReceipt(ledger, STATEMENT.order, ({ kind }) => kind === 'key_revoked'),
    };
  };

  describe.each(['receipt', 'ledger'] as const)('in a %s', (fileKind) => {
    it.each<[whose: string, key: Passkey]>([
      ['the signing key', bob],
      ['a vouching key', lead],
      ['the root', root],
    ])('is reported if it was revoked before the signature: %s', async (_whose, key) => {
      const lines = makeFiles([requested, makeRevocation(key, { left: true }), approved])[fileKind];
      expect((await verifyFile(lines, undefined)).differences).toEqual([
        {
          code: 'key',
          text: `event 3: its signature rests on ${key.fingerprint}, which had been revoked because its owner had left at ${commonFields.at} (event 2)`,
        },
      ]);
    });

    it('doesn’t matter if it was revoked after the signature, or is another key', async () => {
      const stranger = makePasskey('U0EVE', 'ES256');
      const events = [
        makeRevocation(stranger, { left: true }),
        requested,
        approved,
        makeRevocation(bob, signRevocation(root, bob), root.owner),
      ];
      expect(await verifyFile(makeFiles(events)[fileKind], undefined)).toMatchObject({
        verdict: 'proved',
        differences: [],
      });
    });
  });

  it('is noted if it was revoked after the signature', async () => {
    const { receipt } = makeFiles([
      requested,
      approved,
      makeRevocation(bob, signRevocation(root, bob), root.owner),
    ]);
    expect((await verifyFile(receipt, undefined)).notes.join('\n')).toContain(
      `The key ${bob.fingerprint} was revoked by U0ROOT at ${commonFields.at} (event 3)`,
    );
  });
});
