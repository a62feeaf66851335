import fc from 'fast-check';

/*
 * fast-check with one seed for every run, so that a failure on one machine is a failure on all. SEED tries other
 * values.
 */

fc.configureGlobal({ seed: Number(process.env['SEED'] ?? 20_261) });

/** `npm test` tries a fifth of the values, `npm run test:all` all of them. */
const SHARE = process.env['ALL_VALUES'] === undefined ? 1 / 5 : 1;

/** How many values a property is tried on. @param all in the whole suite */
export function runs(all: number): number {
  return Math.ceil(all * SHARE);
}

export default fc;
