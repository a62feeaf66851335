import { defineConfig } from 'vitest/config';

/** The page in a real browser: `npm run test:browser`. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: ['test/global-setup.ts', 'test/browser/build-page.ts'],
    // One browser at a time: several would only wait for each other.
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
