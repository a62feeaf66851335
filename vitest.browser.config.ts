import { defineConfig } from 'vitest/config';
import { PACKAGES_BY_SOURCE } from './vitest.shared.ts';

/** The page in a real browser: `npm run test:browser`. */
export default defineConfig({
  ...PACKAGES_BY_SOURCE,
  test: {
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: ['test/global-setup.ts', 'test/browser/build-page.ts'],
    // One browser leaves a core idle; more than two would only wait for each other.
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
