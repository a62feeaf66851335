import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../src/store/migrate.ts';
import { TEMPLATE_DATABASE } from './support/database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The superuser's URL of this run's PostgreSQL: `postgresql://…/postgres`. */
    readonly postgresUrl: string;
    /** The folder for bundles of programs that tests start. */
    readonly bundleDir: string;
  }
}

/**
 * Starts one PostgreSQL for the whole run, with a template for `createTestDatabase`, and a bundle folder.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-test-'));
  await chmod(dataDir, 0o755); // If root runs the tests, PostgreSQL's user needs access.
  const bundleDir = join(dataDir, 'bundles');
  await mkdir(bundleDir);
  const server = await startEmbeddedPostgres({
    dataDir,
    // Data needn't survive a crash of the machine. Killing the process loses nothing.
    settings: { max_connections: '300', fsync: 'off', full_page_writes: 'off' },
  });
  const stop = async () => {
    await server.stop();
    await rm(await realpath(join(dataDir, 'postgres')), { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await createTemplate(server.url);
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide('postgresUrl', server.url);
  project.provide('bundleDir', bundleDir);
  return stop;
}

async function createTemplate(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
    const url = new URL(adminUrl);
    url.pathname = `/${TEMPLATE_DATABASE}`;
    await prepareTemplate(url.href);
  } finally {
    await admin.end();
  }
}

/** Must close its connections, so that the database can be used as a template. */
async function prepareTemplate(url: string): Promise<void> {
  await migrate({ url });
}
