import { readFileSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

/** `source` for the packages of this repository, so that tests need no build; the rest are Vite's own. */
const resolve = { conditions: ['source', 'module', 'node', 'development|production'] };
/** Tests, and the global setup, find the packages by their sources. */
const environments = { ssr: { resolve }, __vitest__: { resolve } };

const MEMORY = '/dev/shm';
const MIN_MEMORY_BYTES = 4 * 2 ** 30;

/** Whether there is room in memory for temporary files, and programs can run from there. */
function canUseMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY);
    return mount !== undefined && !mount.includes('noexec') && bavail * bsize >= MIN_MEMORY_BYTES;
  } catch {
    return false;
  }
}

// A test database has about 900 files. Creating one took 430 ms on a disk and takes 10 ms in memory.
if (process.env['TMPDIR'] === undefined && canUseMemory()) process.env['TMPDIR'] = MEMORY;

/** Tests that may use the run's PostgreSQL. */
const withDatabase = {
  include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
  setupFiles: ['test/setup.ts'],
  // They often wait, for the database and for each other: two cores are busy with three of them.
  maxWorkers: Math.max(3, availableParallelism() - 1),
  // A worker loads the bot once, not once a file, which took longer than many tests. Tests leave nothing behind in modules.
  isolate: false,
  // Ends what hangs. A test that bounds a duration does so itself; a busy machine takes long.
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  environments,
  test: {
    globalSetup: ['test/global-setup.ts'],
    projects: [
      {
        environments,
        test: { ...withDatabase, name: 'unit', exclude: [...configDefaults.exclude, '**/*.deep.test.ts'] },
      },
      // All of them: also every fault of every task, outages, replicas, real servers that die, and query plans.
      // Properties are tried on all their values.
      // They wait longer, for processes, timeouts and restarts, so one more of them runs at once.
      {
        environments,
        test: {
          ...withDatabase,
          name: 'deep',
          env: { ALL_VALUES: 'yes' },
          maxWorkers: Math.max(4, availableParallelism()),
        },
      },
      // Hours of crashes, replicas and outages; SEED repeats a run. Each file has the machine to itself.
      {
        environments,
        test: { name: 'torture', include: ['test/torture/**/*.torture.ts'], fileParallelism: false },
      },
      // The pages in a real browser.
      {
        environments,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.browser.ts'],
          globalSetup: ['test/browser/build-page.ts'],
          // One browser leaves a core idle; more than two would only wait for each other.
          maxWorkers: 2,
          testTimeout: 90_000,
          hookTimeout: 90_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
    ],
  },
});
