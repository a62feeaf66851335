import { defineConfig } from 'vitest/config';
import { WITH_DATABASE } from './vitest.shared.ts';

/** `npm run test:all`: also every fault of every task, outages, replicas, real servers that die, and query plans. */
export default defineConfig({
  ...WITH_DATABASE,
  // Properties are tried on all their values.
  test: { ...WITH_DATABASE.test, env: { ALL_VALUES: 'yes' } },
});
