import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Demo, type DemoOptions, startDemo } from '../../demo/demo.ts';
import { pageDir } from '../../demo/page-files.ts';
import { createLog } from '../../src/lib/log.ts';
import { createTestDatabase } from '../support/database.ts';

export interface BrowserDemo extends Demo {
  stop(): Promise<void>;
}

/**
 * Starts the demo like `npm run demo`, on a separate database.
 *
 * @param options `settings` override the demo's settings; `lived` adds the history of `npm run demo`
 */
export async function startBrowserDemo(
  options: Pick<DemoOptions, 'settings' | 'lived' | 'watchOnly'> = {},
): Promise<BrowserDemo> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-page-'));
  const log = createLog('error');
  const demo = await startDemo({ port: 0, dataDir, databaseUrl: database.url, pageDir, log, ...options });
  return {
    ...demo,
    async stop() {
      await demo.stop();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
