import { configDefaults, defineConfig } from 'vitest/config';
import { WITH_DATABASE } from './vitest.shared.ts';

/** `npm test`: what tells within two minutes whether a change holds. The rest is `npm run test:all`. */
export default defineConfig({
  ...WITH_DATABASE,
  test: {
    ...WITH_DATABASE.test,
    exclude: [...configDefaults.exclude, '**/*.deep.test.ts'],
  },
});
