import { type Bytes, concatBytes, decodeBase64Url, toBase64Url, toHex, utf8 } from './bytes.ts';
import {
  asObjectOrEmpty,
  isJsonObject,
  type Json,
  type JsonObject,
  toCanonicalJson,
} from './canonical-json.ts';
import type { Cryptography, SignatureAlgorithm } from './cryptography.ts';
import { computeFingerprint } from './seals.ts';
import type { EventLine } from './shapes.ts';

/*
 * Approvals signed with passkeys (WebAuthn), and the chain of people who vouched for a passkey. Each signature comes
 * with its public key, so it can be verified without other data.
 */

export interface SignedEvent {
  /** A sentence that says who signed what with which key, and which root vouched for it. */
  readonly text: string;
  /** Fingerprints: the signing key first, then the keys that vouched for it. A root comes last. */
  readonly keyFingerprints: readonly string[];
  /** Only events about orders include the chain of vouches. */
  readonly isAboutOrder: boolean;
  /** Sentences about what is wrong with the signatures. */
  readonly faults: readonly string[];
}

/** Layout of the authenticator data (WebAuthn, section 6.1). */
const RP_ID_HASH_BYTES = 32;
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;

/** DER prefixes of public keys, in hex, with the algorithm identifiers of RFC 8410, RFC 5480 and RFC 3279. */
const KEY_ALGORITHMS: readonly (readonly [RegExp, SignatureAlgorithm])[] = [
  [/^302a300506032b6570/, { name: 'Ed25519' }],
  [
    /^3059301306072a8648ce3d020106082a8648ce3d030107/,
    { name: 'ECDSA', hash: 'SHA-256', namedCurve: 'P-256' },
  ],
  [/^3082....300d06092a864886f70d010101/, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
];

function asTextOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function decodeBytesOrEmpty(value: Json | undefined): Bytes {
  return decodeBase64Url(value) ?? new Uint8Array();
}

async function findSignatureFaults(assertion: JsonObject, cryptography: Cryptography): Promise<string[]> {
  const keyFingerprint = asTextOrEmpty(assertion['key']);
  const publicKey = decodeBytesOrEmpty(assertion['publicKey']);
  const authenticatorData = decodeBytesOrEmpty(assertion['authenticatorData']);
  const clientDataBytes = decodeBytesOrEmpty(assertion['clientDataJSON']);
  const client = readClientData(clientDataBytes);
  const expectedChallenge = toBase64Url(
    await cryptography.sha256(utf8(toCanonicalJson(assertion['challenge'] ?? null))),
  );
  const originHost = URL.canParse(asTextOrEmpty(client['origin']))
    ? new URL(asTextOrEmpty(client['origin'])).hostname
    : '';
  const hostHash = toHex(await cryptography.sha256(utf8(originHost)));
  const flags = authenticatorData[RP_ID_HASH_BYTES] ?? 0;
  const algorithm = KEY_ALGORITHMS.find(([pattern]) => pattern.test(toHex(publicKey)))?.[1];
  const signedBytes = concatBytes(authenticatorData, await cryptography.sha256(clientDataBytes));
  const isValid =
    algorithm !== undefined &&
    (await cryptography.verify(
      algorithm,
      publicKey,
      decodeBytesOrEmpty(assertion['signature']),
      signedBytes,
    ));
  return [
    ...((await computeFingerprint(cryptography, publicKey)) === keyFingerprint
      ? []
      : [`the public key beside it is not ${keyFingerprint}`]),
    ...(client['type'] === 'webauthn.get' ? [] : ['it was not made to sign in with a passkey']),
    ...(client['challenge'] === expectedChallenge ? [] : ['it is over something else']),
    ...(toHex(authenticatorData.subarray(0, RP_ID_HASH_BYTES)) === hostHash
      ? []
      : ['it was made for another address']),
    ...((flags & USER_PRESENT) !== 0 && (flags & USER_VERIFIED) !== 0
      ? []
      : ['the passkey has not verified who used it']),
    ...(isValid ? [] : ['the key has not signed it']),
  ];
}

function readClientData(bytes: Bytes): JsonObject {
  try {
    const clientData: Json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return asObjectOrEmpty(clientData);
  } catch {
    return {};
  }
}

/**
 * Verifies the signature of an event, and the chain that vouches for its key.
 * @param orderId the ID of the order that the signature must be about; undefined for any
 * @returns undefined if the event has no signature
 */
export async function checkSignedEvent(
  { content }: EventLine,
  cryptography: Cryptography,
  orderId?: string,
): Promise<SignedEvent | undefined> {
  const data = asObjectOrEmpty(content?.['data']);
  const { signature } = data;
  if (!isJsonObject(signature)) return undefined;
  const challenge = asObjectOrEmpty(signature['challenge']);
  const signerId = asTextOrEmpty(challenge['approver']) || asTextOrEmpty(challenge['by']);
  const faults = await findSignatureFaults(signature, cryptography);
  const isAboutOrder = asObjectOrEmpty(content?.['subject'])['kind'] === 'order';
  if (isAboutOrder && challenge['decision'] !== 'approve') faults.push('it approves nothing');
  if (signerId !== content?.['actor']) faults.push(`it is one of ${signerId}, not of the person who acted`);
  if (challenge['decision'] === 'approve')
    faults.push(...(await findApprovalFaults(data, challenge, cryptography, orderId)));
  const chain = Array.isArray(data['chain']) ? data['chain'].map(asObjectOrEmpty) : [];
  let key = asTextOrEmpty(signature['key']);
  let ownerId = signerId;
  const keyFingerprints = [key];
  for (const [index, link] of chain.entries()) {
    const linkChallenge = asObjectOrEmpty(link['challenge']);
    const linkFaults = await findSignatureFaults(link, cryptography);
    if (
      linkChallenge['decision'] !== 'vouch' ||
      linkChallenge['key'] !== key ||
      linkChallenge['of'] !== ownerId
    )
      linkFaults.push(`it does not vouch for ${key} of ${ownerId}`);
    faults.push(...linkFaults.map((fault) => `link ${index + 1} of its chain: ${fault}`));
    key = asTextOrEmpty(link['key']);
    keyFingerprints.push(key);
    ownerId = asTextOrEmpty(linkChallenge['by']);
  }
  const chainText =
    chain.length === 0
      ? 'itself a root'
      : `vouched for by root ${key}${chain.length > 1 ? ` through ${chain.length - 1} more` : ''}`;
  const description = `${signerId}’s passkey ${keyFingerprints[0]}, ${chainText}, signed ${describeChallenge(challenge)}`;
  return { text: description, keyFingerprints, isAboutOrder, faults };
}

/**
 * Returns the end of a sentence that names the untrusted root of a signature, or undefined if the root is trusted or
 * no roots were given.
 */
export function describeUnknownRoot(
  { keyFingerprints }: SignedEvent,
  roots: readonly string[] | undefined,
): string | undefined {
  const root = keyFingerprints.at(-1) ?? '';
  return roots === undefined || roots.includes(root)
    ? undefined
    : `its signature rests on ${root}, which is none of the roots`;
}

export interface Revocation {
  readonly key: string;
  readonly seq: number;
  /** The end of a sentence: who revoked the key, and when. */
  readonly text: string;
}

/**
 * Parses an event that revokes a passkey. Its signature isn't checked, because an attacker who could forge revocations
 * could also stop the bot.
 * @returns undefined for other events
 */
export function readRevocation({ seq, content }: EventLine): Revocation | undefined {
  const { kind, id } = asObjectOrEmpty(content?.['subject']);
  if (content?.['kind'] !== 'key_revoked' || kind !== 'key') return undefined;
  const reason =
    asObjectOrEmpty(content['data'])['left'] === true
      ? 'because its owner had left'
      : `by ${asTextOrEmpty(content['actor'])}`;
  return {
    key: asTextOrEmpty(id),
    seq,
    text: `revoked ${reason} at ${asTextOrEmpty(content['at'])} (event ${seq})`,
  };
}

/** Checks that the signature of an approval covers its statement and order. */
async function findApprovalFaults(
  data: JsonObject,
  challenge: JsonObject,
  { sha256 }: Cryptography,
  orderId: string | undefined,
): Promise<string[]> {
  const { binding = null } = data;
  const nonce = toHex(await sha256(utf8(toCanonicalJson(binding))));
  return [
    ...(challenge['statement'] === data['statement'] ? [] : ['it is over another statement']),
    ...(challenge['nonce'] === nonce ? [] : ['it is bound to something else']),
    ...(orderId === undefined || asObjectOrEmpty(binding)['order'] === orderId
      ? []
      : ['it is bound to another order']),
  ];
}

function describeChallenge(challenge: JsonObject): string {
  switch (challenge['decision']) {
    case 'approve':
      return `exactly the statement ${asTextOrEmpty(challenge['statement'])}`;
    case 'publish':
      return `the charter ${asTextOrEmpty(challenge['charter'])}`;
    default:
      return `“${asTextOrEmpty(challenge['decision'])}” for ${asTextOrEmpty(challenge['key'])} of ${asTextOrEmpty(challenge['of'])}`;
  }
}
