import fc from 'fast-check';

/*
 * fast-check with the same seed in every run, so that a failure on one machine is a failure on all. Set SEED to try
 * other values.
 */

fc.configureGlobal({ seed: Number(process.env['SEED'] ?? 20_261) });

/** `npm test` tries a fifth of the values, `npm run test:all` all of them. */
const SHARE_OF_VALUES = process.env['ALL_VALUES'] === undefined ? 1 / 5 : 1;

/** How many values a property is tried on. @param all the number in `npm run test:all` */
export function runs(all: number): number {
  return Math.ceil(all * SHARE_OF_VALUES);
}

export default fc;
