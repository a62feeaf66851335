import { afterAll, beforeAll, expect, test } from 'vitest';
import { newSigner, signVouch } from './signing/sample.ts';
import { type SigningRig, startSigningRig } from './signing-rig.ts';

/* Every command and click reads the current settings, including the keys. */

const KEYS = 200;
const KEYS_PER_PERSON = 10;
const READS = 41;

let s: SigningRig;
beforeAll(async () => {
  s = await startSigningRig();
  await s.publishPolicy([]);
});
afterAll(() => s.rig.end());

/** The median of many reads, in milliseconds. */
async function measureMedianRead(): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < READS; n += 1) {
    const startedAt = performance.now();
    await s.signing.loadSettings();
    times.push(performance.now() - startedAt);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(READS / 2)] ?? Number.POSITIVE_INFINITY;
}

test('200 passkeys, half of them vouched for, add less than 2 ms to a read of the settings', async () => {
  await s.sealPendingEvents();
  await s.signing.loadSettings();
  const before = await measureMedianRead();
  for (let n = 0; n < KEYS; n += 1) {
    const signer = newSigner(`U${Math.floor(n / KEYS_PER_PERSON)}`);
    await s.addKey(signer);
    if (n % 2 === 0)
      await s.keys.vouch(signer.owner, signVouch(s.people.anna, signer), new Date('2026-03-01T09:00:00Z'));
  }
  await s.sealPendingEvents();
  await s.signing.loadSettings();
  const after = await measureMedianRead();
  expect((await s.signing.loadKeys()).ring.validKeys.size).toBeGreaterThan(KEYS / 2);
  expect(after - before, `${before.toFixed(1)} ms before, ${after.toFixed(1)} ms after`).toBeLessThan(2);
}, 300_000);
