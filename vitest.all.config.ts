import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { WITH_DATABASE } from './vitest.shared.ts';

/** `npm run test:all`: also every fault of every task, outages, replicas, real servers that die, and query plans. */
export default defineConfig({
  ...WITH_DATABASE,
  test: {
    ...WITH_DATABASE.test,
    // Properties are tried on all their values.
    env: { ALL_VALUES: 'yes' },
    // The long stories wait more than they work.
    maxWorkers: Math.max(4, availableParallelism() - 1),
  },
});
