import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Ends what hangs. How long a thing may take is said by its test, which names it; a busy machine takes long.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // pg-boss marks jobs as done without waiting for it: nobody can catch that the database is away just then.
    onUnhandledError: ({ stack = '' }) => (/pg-boss.src.manager\.js/.test(stack) ? false : undefined),
  },
});
