import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { PACKAGES_BY_SOURCE } from './vitest.shared.ts';

export default defineConfig({
  ...PACKAGES_BY_SOURCE,
  test: {
    include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    setupFiles: ['test/setup.ts'],
    // They mostly wait, for the database and for each other: on two cores two of them take half the time of one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Ends what hangs. How long a thing may take is said by its test, which names it; a busy machine takes long.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
