import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createTestDatabase } from '../support/database.ts';

/* A confirmed commit must be on the server's disk, whatever the server, database or role is set to. */

const SHOW_SETTING = { text: `SELECT current_setting('synchronous_commit') AS value`, values: [] };
const valueRowsSchema = z.array(z.object({ value: z.string() }).transform(({ value }) => value));

/** Creates a database whose sessions start with this setting. */
async function createDatabaseWithSetting(
  settingStatement: string,
  template: 'migrated' | 'empty' = 'migrated',
) {
  const created = await createTestDatabase(template);
  onTestFinished(created.drop);
  const before = openDatabase({ url: created.url });
  const name = new URL(created.url).pathname.slice(1);
  const user = new URL(created.url).username;
  await before.run({ text: settingStatement.replace('$database', name).replace('$user', user), values: [] });
  await before.close();
  return created;
}

describe.each([
  ['off for the database', 'ALTER DATABASE $database SET synchronous_commit = off', 'on'],
  ['off for the role', 'ALTER ROLE $user IN DATABASE $database SET synchronous_commit = off', 'on'],
  ['local', 'ALTER DATABASE $database SET synchronous_commit = local', 'on'],
  ['remote_write', 'ALTER DATABASE $database SET synchronous_commit = remote_write', 'on'],
  ['on', 'ALTER DATABASE $database SET synchronous_commit = on', 'on'],
  ['remote_apply', 'ALTER DATABASE $database SET synchronous_commit = remote_apply', 'remote_apply'],
])('if sessions start with synchronous_commit %s', (_what, settingStatement, expected) => {
  test(`sessions of the pool set it to ${expected}`, async () => {
    const { url } = await createDatabaseWithSetting(settingStatement);
    const database = openDatabase({ url });
    onTestFinished(() => database.close());
    const [direct, inTransaction, byPrisma] = await Promise.all([
      database.run(SHOW_SETTING),
      database.transaction((run) => run(SHOW_SETTING)),
      database.prisma.$queryRaw`SELECT current_setting('synchronous_commit') AS value`,
    ]);
    for (const answer of [direct, inTransaction, byPrisma])
      expect(valueRowsSchema.parse(answer)).toEqual([expected]);
  });

  test(`the migrating session sets it to ${expected}`, async () => {
    const { url } = await createDatabaseWithSetting(settingStatement, 'empty');
    const folder = await mkdtemp(join(tmpdir(), 'domain-steward-migrations-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, '1_see'));
    await writeFile(join(folder, '1_see/migration.sql'), `CREATE TABLE seen AS ${SHOW_SETTING.text}`);
    await migrate({ url, folder });
    const database = openDatabase({ url });
    onTestFinished(() => database.close());
    expect(valueRowsSchema.parse(await database.run({ text: 'SELECT value FROM seen', values: [] }))).toEqual(
      [expected],
    );
  });
});
