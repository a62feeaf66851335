import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    testTimeout: 20_000,
    // Starting the whole demo takes long on a busy machine.
    hookTimeout: 30_000,
    // pg-boss marks jobs as done without waiting for it: nobody can catch that the database is away just then.
    onUnhandledError: ({ stack = '' }) => (/pg-boss.src.manager\.js/.test(stack) ? false : undefined),
  },
});
