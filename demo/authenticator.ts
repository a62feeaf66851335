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

/** Flags in the authenticator data (WebAuthn, section 6.1). */
const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 } as const;

/** Deviations from a correct authenticator. */
export interface Deviations {
  readonly isUserVerified?: boolean;
  readonly counter?: number;
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
}

const toBase64Url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();

/** A software passkey with an ES256 key. */
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
    this.publicKey = toBase64Url(createPublicKey(this.#key).export({ format: 'der', type: 'spki' }));
    this.fingerprint = computeFingerprint(this.publicKey);
    this.credential = toBase64Url(sha256(this.publicKey).subarray(0, 16));
  }

  /** PKCS #8, for a virtual authenticator in a browser. */
  privateKey(): Buffer {
    return this.#key.export({ format: 'der', type: 'pkcs8' });
  }

  #buildClientData(type: string, challenge: string, { origin, ...other }: Deviations): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: other.type ?? type,
        challenge: other.challenge ?? challenge,
        origin: origin ?? this.#relyingParty.origin,
        crossOrigin: false,
      }),
    );
  }

  #buildAuthenticatorData(flags: number, { rpId, isUserVerified = true, counter = 0 }: Deviations): Buffer {
    const bytes = Buffer.alloc(37);
    sha256(rpId ?? this.#relyingParty.id).copy(bytes);
    bytes[32] = FLAGS.present | flags | (isUserVerified ? FLAGS.verified : 0);
    bytes.writeUInt32BE(counter, 33);
    return bytes;
  }

  /** Responds like `navigator.credentials.get`. @param challenge in base64url */
  answer(challenge: string, deviations: Deviations = {}): AuthenticationResponseJSON {
    const clientData = this.#buildClientData('webauthn.get', challenge, deviations);
    const data = this.#buildAuthenticatorData(0, deviations);
    const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), this.#key);
    return {
      id: this.credential,
      rawId: this.credential,
      type: 'public-key',
      response: {
        authenticatorData: toBase64Url(data),
        clientDataJSON: toBase64Url(clientData),
        signature: toBase64Url(signature),
      },
      clientExtensionResults: {},
    };
  }

  /** Responds like `navigator.credentials.create`, without an attestation. */
  register(challenge: string, deviations: Deviations = {}): RegistrationResponseJSON {
    const clientData = this.#buildClientData('webauthn.create', challenge, deviations);
    const id = Buffer.from(this.credential, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const authData = Buffer.concat([
      this.#buildAuthenticatorData(FLAGS.attested, deviations),
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
      response: { clientDataJSON: toBase64Url(clientData), attestationObject: toBase64Url(attestation) },
      clientExtensionResults: {},
    };
  }

  /** @returns the assertion as the bot stores it */
  assert<Signed extends Challenge>(challenge: Signed, deviations: Deviations = {}): Assertion<Signed> {
    const { response } = this.answer(encodeChallenge(challenge), deviations);
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
