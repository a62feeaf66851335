import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { replay } from './machine.ts';
import { createSequence } from './sequence.ts';

/*
 * Replays random lives of names, each from a seed, and compares their dates, doubts, incidents and evidence.
 * Each digest covers 50 names. After an intended change, renew them with `-u`, and explain why in the commit.
 */

const NAMES = 2_000;
const NAMES_PER_DIGEST = 50;
const DIGEST_LENGTH = 8;

test('random lives of 2,000 names give the same results as before', async () => {
  const digests: string[] = [];
  for (let first = 0; first < NAMES; first += NAMES_PER_DIGEST) {
    const hash = createHash('sha256');
    for (let seed = first; seed < first + NAMES_PER_DIGEST; seed += 1) hash.update(await replaySeed(seed));
    digests.push(hash.digest('hex').slice(0, DIGEST_LENGTH));
  }
  expect(digests.join(' ')).toMatchInlineSnapshot(
    `"85e66048 6bb9bdf3 33080f55 0cd31241 8d4853f0 22237c82 d90e0920 99aa8479 70f54579 1d87c49f e5a48a24 1989200a dd375a8d 968643f8 48582061 6af222f1 269486be 9d7aa58e f55292f6 38ca5057 2e99ed18 df1ec284 87a6daef 788bc2f5 489dd4e1 fa72d55a 5754bee2 43359fe5 a130ffa2 5c9688ec 4e6a04a8 faf7a4a4 2a471ee7 6f398611 7c63fdb5 f3391b8f 0d3b39e1 12520c96 1ea32870 02ee3f37"`,
  );
}, 60_000);

async function replaySeed(seed: number): Promise<string> {
  const sequence = createSequence(seed);
  const { steps, evidence } = await replay(sequence);
  const lines = steps.map((known, n) => `${sequence.steps[n]?.kind} ${JSON.stringify(known)}`);
  return [...lines, evidence].join('\n');
}
