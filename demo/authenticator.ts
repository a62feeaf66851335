import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import {
  type Assertion,
  type Challenge,
  encodeChallenge,
  type RelyingParty,
} from '#src/approvals/signing/assertion.ts';
import { computeFingerprint, type Fingerprint, spkiToCose } from '#src/approvals/signing/public-key.ts';

/** The flags of an authenticator's data (WebAuthn, 6.1). */
const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 } as const;

/** Deviations from a correct authenticator. */
export interface Misbehaviour {
  readonly isUserVerified?: boolean;
  readonly counter?: number;
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();

/** A software passkey: a real ES256 key, which signs what a browser would make it sign. */
export class Authenticator {
  readonly credential: string;
  readonly publicKey: string;
  readonly fingerprint: Fingerprint;
  readonly #key: KeyObject;
  readonly #relyingParty: RelyingParty;

  /** @param privateKey PKCS #8; a new key by default */
  constructor(relyingParty: RelyingParty, privateKey?: Buffer) {
    this.#relyingParty = relyingParty;
    this.#key =
      privateKey === undefined
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
        : createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' });
    this.publicKey = text(createPublicKey(this.#key).export({ format: 'der', type: 'spki' }));
    this.fingerprint = computeFingerprint(this.publicKey);
    this.credential = text(sha256(this.publicKey).subarray(0, 16));
  }

  /** PKCS #8, for a browser's authenticator. */
  privateKey(): Buffer {
    return this.#key.export({ format: 'der', type: 'pkcs8' });
  }

  #clientData(type: string, challenge: string, { origin, ...other }: Misbehaviour): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: other.type ?? type,
        challenge: other.challenge ?? challenge,
        origin: origin ?? this.#relyingParty.origin,
        crossOrigin: false,
      }),
    );
  }

  #data(flags: number, { rpId, isUserVerified = true, counter = 0 }: Misbehaviour): Buffer {
    const head = Buffer.alloc(37);
    sha256(rpId ?? this.#relyingParty.id).copy(head);
    head[32] = FLAGS.present | flags | (isUserVerified ? FLAGS.verified : 0);
    head.writeUInt32BE(counter, 33);
    return head;
  }

  /** Answers `navigator.credentials.get`. @param challenge in base64url */
  answer(challenge: string, otherwise: Misbehaviour = {}): AuthenticationResponseJSON {
    const clientData = this.#clientData('webauthn.get', challenge, otherwise);
    const data = this.#data(0, otherwise);
    const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), this.#key);
    return {
      id: this.credential,
      rawId: this.credential,
      type: 'public-key',
      response: {
        authenticatorData: text(data),
        clientDataJSON: text(clientData),
        signature: text(signature),
      },
      clientExtensionResults: {},
    };
  }

  /** Answers `navigator.credentials.create` without an attestation. */
  register(challenge: string, otherwise: Misbehaviour = {}): RegistrationResponseJSON {
    const clientData = this.#clientData('webauthn.create', challenge, otherwise);
    const id = Buffer.from(this.credential, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const authData = Buffer.concat([
      this.#data(FLAGS.attested, otherwise),
      Buffer.alloc(16),
      length,
      id,
      spkiToCose(this.publicKey),
    ]);
    const attestation = isoCBOR.encode(
      new Map<string, string | Map<string, string> | Uint8Array>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', new Uint8Array(authData)],
      ]),
    );
    return {
      id: this.credential,
      rawId: this.credential,
      type: 'public-key',
      response: { clientDataJSON: text(clientData), attestationObject: text(attestation) },
      clientExtensionResults: {},
    };
  }

  /** Signs a challenge, in the stored form. */
  assert<Signed extends Challenge>(challenge: Signed, otherwise: Misbehaviour = {}): Assertion<Signed> {
    const { response } = this.answer(encodeChallenge(challenge), otherwise);
    const { authenticatorData, clientDataJSON, signature } = response;
    return {
      challenge,
      key: this.fingerprint,
      publicKey: this.publicKey,
      credential: this.credential,
      ...{ authenticatorData, clientDataJSON, signature },
    };
  }
}
