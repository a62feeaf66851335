import fc from 'fast-check';

/*
 * fast-check with one seed for every run, so that a failure on one machine is a failure on all.
 * SEED tries other values.
 */

fc.configureGlobal({ seed: Number(process.env['SEED'] ?? 20_261) });

export default fc;
