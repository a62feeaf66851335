import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Demo, startDemo } from '../../src/demo/demo.ts';
import { pageDir } from '../../src/demo/page-files.ts';
import { createLog } from '../../src/log.ts';
import { createTestDatabase } from '../support/database.ts';

export interface PageDemo extends Demo {
  stop(): Promise<void>;
}

/** The demo as `npm run demo` starts it, on a database of its own. */
export async function startPageDemo(settings: Readonly<Record<string, string>> = {}): Promise<PageDemo> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-page-'));
  const log = createLog('silent');
  const demo = await startDemo({ port: 0, dataDir, databaseUrl: database.url, pageDir, log, settings });
  return {
    ...demo,
    async stop() {
      await demo.stop();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
