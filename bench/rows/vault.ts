import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createVault } from '../../src/accounts/vault.ts';
import { Secret } from '../../src/service/secret.ts';
import { type Bench, type Line, measureAlternately, type Row } from '../measure.ts';

/* Sealing and opening a credential, compared with plain AES-256-GCM by `node:crypto`. */

const MIN_RATIO = 0.8;
const CREDENTIAL = JSON.stringify({
  method: 'password',
  user: 'customer',
  context: 4,
  password: 'p'.repeat(24),
});
const OWNER = ['account', 'T0STEWARD', 'U0PERSON', '4'];

async function* measure({ effort }: Bench): AsyncGenerator<Line> {
  const roundMs = effort.quick ? 20 : 1_000;
  const key = randomBytes(32);
  const vault = createVault([{ id: 'bench', key }]);
  const ours = () => vault.open(vault.seal(new Secret(CREDENTIAL), OWNER), OWNER).reveal();
  const theirs = () => openByHand(sealByHand(CREDENTIAL, key), key);
  if (ours() !== CREDENTIAL || theirs() !== CREDENTIAL) throw new Error('what was sealed does not open');
  for (const side of [ours, theirs]) measureRate(side, roundMs);
  const measured = await measureAlternately(
    effort.rounds * 2,
    async () => measureRate(ours, roundMs),
    async () => measureRate(theirs, roundMs),
  );
  yield {
    row: 'vault',
    what: 'credentials sealed and opened',
    reference: 'node:crypto by hand',
    unit: '/s',
    ...measured,
    target: { of: 'ratio', kind: 'at least', value: MIN_RATIO },
  };
}

function sealByHand(text: string, key: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from('account T0STEWARD U0PERSON 4'));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

function openByHand(sealed: Buffer, key: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
  decipher.setAAD(Buffer.from('account T0STEWARD U0PERSON 4'));
  decipher.setAuthTag(sealed.subarray(-16));
  return decipher.update(sealed.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8');
}

function measureRate(action: () => unknown, forMs: number): number {
  const startedAt = performance.now();
  let count = 0;
  while (performance.now() - startedAt < forMs) {
    for (let n = 0; n < 50; n += 1) action();
    count += 50;
  }
  return (count * 1_000) / (performance.now() - startedAt);
}

export const vault: Row = { id: 'vault', seconds: 25, measure };
