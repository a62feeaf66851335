import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { expect } from 'vitest';
import { seeded } from './seeded.ts';

/** One file of this many meets a rude sandbox; another one for each `SEED`. */
const SHARE = 3;

/** Numbers for a rude sandbox, by `SEED` and the test file; undefined where that file meets a polite one. `RUDE=all` leaves none polite. */
export function rudeness(): (() => number) | undefined {
  const { SEED: seed = '1', RUDE: which } = process.env;
  const file = relative(process.cwd(), expect.getState().testPath ?? '');
  const number = createHash('sha256').update(`${seed} ${file}`).digest().readUInt32BE(0);
  return which === 'all' || number % SHARE === 0 ? seeded(number) : undefined;
}
