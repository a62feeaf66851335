import { defineConfig } from 'vitest/config';
import { PACKAGES_BY_SOURCE } from './vitest.shared.ts';

/** Hours of crashes, replicas and outages: `npm run test:torture`; SEED repeats a run. */
export default defineConfig({
  ...PACKAGES_BY_SOURCE,
  test: {
    include: ['test/torture/**/*.torture.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Each of them wants the machine for itself.
    fileParallelism: false,
  },
});
