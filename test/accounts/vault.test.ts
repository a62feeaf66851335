import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createVault, UnknownKeyError, VaultError } from '../../src/accounts/vault.ts';
import { Secret } from '../../src/service/secret.ts';
import fc from '../support/properties.ts';

const oldKey = { id: '2025', key: randomBytes(32) };
const newKey = { id: '2026', key: randomBytes(32) };
const vault = createVault([newKey, oldKey]);
const owner = ['account', 'T0STEWARD', 'U0ALICE', '4'];

describe('the vault', () => {
  it('opens any text for the owner it was sealed for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.string()), (text, anyOwner) => {
        const sealed = vault.seal(new Secret(text), anyOwner);
        expect(vault.open(sealed, anyOwner).reveal()).toBe(text);
      }),
    );
  });

  it('seals the same text to different bytes each time', () => {
    const sealed = Array.from({ length: 100 }, () =>
      Buffer.from(vault.seal(new Secret('same'), owner).bytes).toString('hex'),
    );
    expect(new Set(sealed).size).toBe(100);
  });

  it.each([
    ['another person', ['account', 'T0STEWARD', 'U0BOB', '4']],
    ['another context', ['account', 'T0STEWARD', 'U0ALICE', '1']],
    ['another team', ['account', 'T0OTHER', 'U0ALICE', '4']],
    ['the same parts split differently', ['account', 'T0STEWARDU0ALICE', '4']],
    ['no owner', []],
  ])('doesn’t open for %s', (_name, other) => {
    const sealed = vault.seal(new Secret('hunter2'), owner);
    expect(() => vault.open(sealed, other)).toThrow(VaultError);
  });

  it('doesn’t open with any bit flipped', () => {
    const sealed = vault.seal(new Secret('hunter2'), owner);
    for (let bit = 0; bit < sealed.bytes.length * 8; bit += 1) {
      const bytes = Uint8Array.from(sealed.bytes);
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => vault.open({ ...sealed, bytes }, owner), `bit ${bit}`).toThrow(VaultError);
    }
  });

  it('doesn’t open when truncated to any length', () => {
    const sealed = vault.seal(new Secret('hunter2'), owner);
    for (let length = 0; length < sealed.bytes.length; length += 1) {
      const bytes = sealed.bytes.slice(0, length);
      expect(() => vault.open({ ...sealed, bytes }, owner), `${length} bytes`).toThrow(VaultError);
    }
  });

  it('opens text sealed with older keys, and reports a missing key', () => {
    const sealed = createVault([oldKey]).seal(new Secret('hunter2'), owner);
    expect(vault.open(sealed, owner).reveal()).toBe('hunter2');
    expect(vault.currentKeyId).toBe('2026');
    const missing: string[] = [];
    const keyless = createVault([newKey], (keyId) => missing.push(keyId));
    expect(() => keyless.open(sealed, owner)).toThrow(UnknownKeyError);
    expect(() => keyless.open(sealed, owner)).toThrow(/key "2025" is not in CREDENTIALS_KEYS/);
    expect(missing).toEqual(['2025', '2025']);
  });

  it('doesn’t open text with the ID of another key', () => {
    const sealed = vault.seal(new Secret('hunter2'), owner);
    expect(() => vault.open({ ...sealed, keyId: '2025' }, owner)).toThrow(VaultError);
  });

  it('throws errors without the secret', () => {
    const sealed = vault.seal(new Secret('hunter2'), owner);
    try {
      vault.open(sealed, ['somebody else']);
      expect.unreachable('the vault opened it');
    } catch (error) {
      expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
    }
  });
});

describe('a secret', () => {
  it('is printed as [secret], however it is converted to text', () => {
    const secret = new Secret('hunter2');
    const texts = [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect(secret),
      inspect({ deep: { secret } }, { depth: 9, showHidden: true }),
      Object.values(secret).join(),
    ];
    for (const text of texts) expect(text).not.toContain('hunter2');
    expect(JSON.stringify({ secret })).toBe('{"secret":"[secret]"}');
    expect(secret.reveal()).toBe('hunter2');
  });
});
