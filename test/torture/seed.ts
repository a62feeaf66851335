import { randomInt } from 'node:crypto';

/** A non-negative integer from the environment. */
export function readInteger(variable: string, fallback: number): number {
  const text = process.env[variable];
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Error(`${variable} is not a whole number: ${text}`);
  return value;
}

/** SEED or a new seed, printed so that the run can be repeated. */
export function readSeed(): number {
  const seed = readInteger('SEED', randomInt(2 ** 31));
  process.stdout.write(`SEED=${seed}\n`);
  return seed;
}
