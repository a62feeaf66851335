import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.ts';

/** Created by the global setup, with all migrations and no rows. */
export const TEMPLATE_DATABASE = 'domain_steward_template';

export interface TestDatabase {
  readonly url: string;
  /** Closes all connections and removes the database. */
  drop(): Promise<void>;
}

/**
 * Creates a database on the test run's PostgreSQL server.
 * @param template its initial content: the migrated schema, or `empty`
 */
export async function createTestDatabase(template: 'migrated' | 'empty' = 'migrated'): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const source = template === 'migrated' ? TEMPLATE_DATABASE : 'template0';
  await runAsAdmin(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${source} STRATEGY FILE_COPY`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => runAsAdmin(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** A migrated database for all tests of a file. */
export function useTestDatabase(onOpen: (database: Database) => void): void {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = openDatabase({ url: testDatabase.url });
    onOpen(database);
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });
}

async function runAsAdmin(url: string, sql: string): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await admin.query(sql);
  } finally {
    await admin.end();
  }
}
