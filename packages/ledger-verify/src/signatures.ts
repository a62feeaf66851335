import { type Bytes, concat, decodeBase64Url, toBase64Url, toHex, utf8 } from './bytes.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject, objectOf } from './canonical-json.ts';
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
  readonly keys: readonly string[];
  /** Only then does the event include the chain. */
  readonly isAboutOrder: boolean;
  /** Sentences about what is wrong with the signatures. */
  readonly faults: readonly string[];
}

/** Layout of the authenticator data (WebAuthn, section 6.1). */
const RP_ID_HASH_BYTES = 32;
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;

/**
 * Prefixes of public keys in hex: the sequence headers, followed by the identifiers of RFC 8410, RFC 5480 and RFC 3279.
 */
const KEY_ALGORITHMS: readonly (readonly [RegExp, SignatureAlgorithm])[] = [
  [/^302a300506032b6570/, { name: 'Ed25519' }],
  [
    /^3059301306072a8648ce3d020106082a8648ce3d030107/,
    { name: 'ECDSA', hash: 'SHA-256', namedCurve: 'P-256' },
  ],
  [/^3082....300d06092a864886f70d010101/, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
];

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function bytesOf(value: Json | undefined): Bytes {
  return decodeBase64Url(value) ?? new Uint8Array();
}

async function findSignatureFaults(assertion: JsonObject, cryptography: Cryptography): Promise<string[]> {
  const key = textOf(assertion['key']);
  const publicKey = bytesOf(assertion['publicKey']);
  const authenticator = bytesOf(assertion['authenticatorData']);
  const clientData = bytesOf(assertion['clientDataJSON']);
  const client = readClientData(clientData);
  const challenge = toBase64Url(
    await cryptography.sha256(utf8(canonicalJson(assertion['challenge'] ?? null))),
  );
  const host = URL.canParse(textOf(client['origin'])) ? new URL(textOf(client['origin'])).hostname : '';
  const hostHash = toHex(await cryptography.sha256(utf8(host)));
  const flags = authenticator[RP_ID_HASH_BYTES] ?? 0;
  const algorithm = KEY_ALGORITHMS.find(([pattern]) => pattern.test(toHex(publicKey)))?.[1];
  const signedBytes = concat(authenticator, await cryptography.sha256(clientData));
  const isValid =
    algorithm !== undefined &&
    (await cryptography.verify(algorithm, publicKey, bytesOf(assertion['signature']), signedBytes));
  return [
    ...((await computeFingerprint(cryptography, publicKey)) === key
      ? []
      : [`the public key beside it is not ${key}`]),
    ...(client['type'] === 'webauthn.get' ? [] : ['it was not made to sign in with a passkey']),
    ...(client['challenge'] === challenge ? [] : ['it is over something else']),
    ...(toHex(authenticator.subarray(0, RP_ID_HASH_BYTES)) === hostHash
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
    return objectOf(clientData);
  } catch {
    return {};
  }
}

/**
 * Verifies the signature of an event, and the chain that vouches for its key.
 * @param order the order that the signature must be about; undefined for any
 * @returns undefined if the event has no signature
 */
export async function checkSignedEvent(
  { content }: EventLine,
  cryptography: Cryptography,
  order?: string,
): Promise<SignedEvent | undefined> {
  const data = objectOf(content?.['data']);
  const { signature } = data;
  if (!isJsonObject(signature)) return undefined;
  const challenge = objectOf(signature['challenge']);
  const signer = textOf(challenge['approver']) || textOf(challenge['by']);
  const faults = await findSignatureFaults(signature, cryptography);
  const isAboutOrder = objectOf(content?.['subject'])['kind'] === 'order';
  if (isAboutOrder && challenge['decision'] !== 'approve') faults.push('it approves nothing');
  if (signer !== content?.['actor']) faults.push(`it is one of ${signer}, not of the person who acted`);
  if (challenge['decision'] === 'approve')
    faults.push(...(await findApprovalFaults(data, challenge, cryptography, order)));
  const chain = Array.isArray(data['chain']) ? data['chain'].map(objectOf) : [];
  let key = textOf(signature['key']);
  let owner = signer;
  const keys = [key];
  for (const [index, link] of chain.entries()) {
    const vouched = objectOf(link['challenge']);
    const linkFaults = await findSignatureFaults(link, cryptography);
    if (vouched['decision'] !== 'vouch' || vouched['key'] !== key || vouched['of'] !== owner)
      linkFaults.push(`it does not vouch for ${key} of ${owner}`);
    faults.push(...linkFaults.map((fault) => `link ${index + 1} of its chain: ${fault}`));
    key = textOf(link['key']);
    keys.push(key);
    owner = textOf(vouched['by']);
  }
  const chainText =
    chain.length === 0
      ? 'itself a root'
      : `vouched for by root ${key}${chain.length > 1 ? ` through ${chain.length - 1} more` : ''}`;
  const description = `${signer}’s passkey ${keys[0]}, ${chainText}, signed ${describeChallenge(challenge)}`;
  return { text: description, keys, isAboutOrder, faults };
}

/**
 * The end of a sentence about a signature whose chain doesn't end in a trusted root. Undefined if it does, or if no
 * roots were given.
 */
export function describeUnknownRoot(
  { keys }: SignedEvent,
  roots: readonly string[] | undefined,
): string | undefined {
  const root = keys.at(-1) ?? '';
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
 * Reads an event as a revocation. A revocation needs no signature, because an attacker who could forge one could also
 * stop the bot.
 * @returns undefined for other events
 */
export function readRevocation({ seq, content }: EventLine): Revocation | undefined {
  const { kind, id } = objectOf(content?.['subject']);
  if (content?.['kind'] !== 'key_revoked' || kind !== 'key') return undefined;
  const reason =
    objectOf(content['data'])['left'] === true
      ? 'because its owner had left'
      : `by ${textOf(content['actor'])}`;
  return { key: textOf(id), seq, text: `revoked ${reason} at ${textOf(content['at'])} (event ${seq})` };
}

/** Checks that the signature of an approval covers its statement and order. */
async function findApprovalFaults(
  data: JsonObject,
  challenge: JsonObject,
  { sha256 }: Cryptography,
  order: string | undefined,
): Promise<string[]> {
  const { binding = null } = data;
  const nonce = toHex(await sha256(utf8(canonicalJson(binding))));
  return [
    ...(challenge['statement'] === data['statement'] ? [] : ['it is over another statement']),
    ...(challenge['nonce'] === nonce ? [] : ['it is bound to something else']),
    ...(order === undefined || objectOf(binding)['order'] === order ? [] : ['it is bound to another order']),
  ];
}

function describeChallenge(challenge: JsonObject): string {
  switch (challenge['decision']) {
    case 'approve':
      return `exactly the statement ${textOf(challenge['statement'])}`;
    case 'publish':
      return `the charter ${textOf(challenge['charter'])}`;
    default:
      return `“${textOf(challenge['decision'])}” for ${textOf(challenge['key'])} of ${textOf(challenge['of'])}`;
  }
}
