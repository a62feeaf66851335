import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { expect } from 'vitest';
import { seededRandom } from './seeded.ts';

/** One in this many files gets a rude sandbox, and one gets rate limits. Which files depends on `SEED`. */
const SHARE = 3;

/** A number for the test file, by `SEED` and purpose. */
function hashTestFile(purpose: string): number {
  const file = relative(process.cwd(), expect.getState().testPath ?? '');
  const text = [process.env['SEED'] ?? '1', ...(purpose === '' ? [] : [purpose]), file].join(' ');
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}

/**
 * The seed of a rude sandbox, by `SEED` and the test file; undefined if the file gets a polite one. `RUDE=all` makes
 * all of them rude.
 */
export function pickRudenessSeed(): number | undefined {
  const number = hashTestFile('');
  return process.env['RUDE'] === 'all' || number % SHARE === 0 ? number : undefined;
}

/**
 * Whether the file gets Slack's rate limits, by `SEED`. Deep files make more calls a minute than people do, so they get
 * them only if `SLACK_RATE_LIMITS` is `true`.
 */
export function hasRateLimits(): boolean {
  const all = process.env['SLACK_RATE_LIMITS'];
  const isDeep = expect.getState().testPath?.includes('.deep.') ?? false;
  return all === undefined ? !isDeep && hashTestFile('rate limits') % SHARE === 0 : all === 'true';
}

const SLOWEST_MS = 4_000;
const FASTEST_MS = 1_000;

/** Slack's latency, one to four seconds, by `SEED` and the test file. */
export function createSlackLatency(): () => number {
  const random = seededRandom(hashTestFile('slow answers'));
  return () => FASTEST_MS + random() * (SLOWEST_MS - FASTEST_MS);
}
