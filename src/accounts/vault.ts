import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Secret } from '../service/secret.ts';

export interface SealedSecret {
  readonly keyId: string;
  /** 12-byte nonce, ciphertext, 16-byte tag. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Encrypts and decrypts secrets with AES-256-GCM (NIST SP 800-38D). */
export interface Vault {
  readonly currentKeyId: string;
  /**
   * @param associatedData identifies the secret's row (team, user, context …), so that a secret moved to
   * another row can't be decrypted
   */
  seal(secret: Secret, associatedData: readonly string[]): SealedSecret;
  /**
   * @throws {UnknownKeyError} if this process doesn't have the key
   * @throws {VaultError} if the secret was changed or moved from another row
   */
  open(sealed: SealedSecret, associatedData: readonly string[]): Secret;
}

export class VaultError extends Error {
  override readonly name: string = 'VaultError';
}

/** The data isn't lost: another replica may have the key, or this one after a restart. */
export class UnknownKeyError extends VaultError {
  override readonly name = 'UnknownKeyError';

  constructor(keyId: string) {
    super(`decrypting a secret: key "${keyId}" is not in CREDENTIALS_KEYS`);
  }
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
/** Must be passed to Node, because Node 20 otherwise accepts tags of 4 bytes. */
const TAG_BYTES = 16;

/**
 * @param keys 32 bytes each; the first key encrypts, all keys decrypt
 * @param onUnknownKey called with the key's id whenever a secret can't be decrypted without it
 */
export function createVault(
  keys: readonly [
    { readonly id: string; readonly key: Uint8Array },
    ...{ readonly id: string; readonly key: Uint8Array }[],
  ],
  onUnknownKey: (keyId: string) => void = () => undefined,
): Vault {
  const [currentKey] = keys;
  const keysById = new Map(keys.map(({ id, key }) => [id, key]));
  const encodeAssociatedData = (keyId: string, associatedData: readonly string[]) =>
    Buffer.from(JSON.stringify([keyId, ...associatedData]));

  return {
    currentKeyId: currentKey.id,

    seal(secret, associatedData) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, currentKey.key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(encodeAssociatedData(currentKey.id, associatedData));
      const ciphertextParts = [cipher.update(secret.reveal(), 'utf8'), cipher.final()];
      return {
        keyId: currentKey.id,
        bytes: Uint8Array.from(Buffer.concat([nonce, ...ciphertextParts, cipher.getAuthTag()])),
      };
    },

    open(sealed, associatedData) {
      const key = keysById.get(sealed.keyId);
      if (key === undefined) {
        onUnknownKey(sealed.keyId);
        throw new UnknownKeyError(sealed.keyId);
      }
      if (sealed.bytes.length < NONCE_BYTES + TAG_BYTES) {
        throw new VaultError('decrypting a secret: the ciphertext is too short');
      }
      const bytes = Buffer.from(sealed.bytes);
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(encodeAssociatedData(sealed.keyId, associatedData));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const plaintextParts = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
        return new Secret(Buffer.concat(plaintextParts).toString('utf8'));
      } catch (cause) {
        throw new VaultError('decrypting a secret: it was changed, or belongs to another account', {
          cause,
        });
      }
    },
  };
}
