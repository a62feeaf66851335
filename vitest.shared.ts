import { availableParallelism } from 'node:os';

/** `source` for the packages of this repository, so that tests need no build; the rest are Vite's own. */
const resolve = { conditions: ['source', 'module', 'node', 'development|production'] };

/** Has tests, and what is set up once for all of them, find the packages by their sources. */
export const PACKAGES_BY_SOURCE = { environments: { ssr: { resolve }, __vitest__: { resolve } } };

/** Tests that may use the run's PostgreSQL. */
export const WITH_DATABASE = {
  ...PACKAGES_BY_SOURCE,
  test: {
    include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    setupFiles: ['test/setup.ts'],
    // They often wait, for the database and for each other: two cores are busy with three of them.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // A worker loads the bot once, not once a file: that took longer than many a test. No test leaves anything behind
    // in a module.
    isolate: false,
    // Ends what hangs. How long a thing may take is said by its test, which names it; a busy machine takes long.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};
