import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { diffSchemas } from './schema-engine.ts';

// npm run migration -- NAME
//
// Writes the migration from the last one to prisma/schema.prisma. The resulting schema is stored next to the SQL, so
// writing the next migration needs no existing database, and keeps hand-written SQL (a trigger, a partial index).

const prisma = fileURLToPath(new URL('../prisma', import.meta.url));
const migrations = join(prisma, 'migrations');

const name = process.argv[2];
if (name === undefined || !/^[a-z][a-z0-9_]*$/.test(name)) {
  process.stderr.write(
    'Give the migration a name of lower-case letters, digits and _: npm run migration -- add_owner\n',
  );
  process.exit(1);
}

const schema = await readFile(join(prisma, 'schema.prisma'), 'utf8');
await mkdir(migrations, { recursive: true });
const lastMigration = (await readdir(migrations, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort()
  .at(-1);
const previousSchema =
  lastMigration === undefined
    ? undefined
    : await readFile(join(migrations, lastMigration, 'schema.prisma'), 'utf8');

const sql = await withScratchServer((url) => diffSchemas(previousSchema, schema, url));
if (sql === '') {
  process.stdout.write('No changes: the migrations match prisma/schema.prisma.\n');
} else {
  const timestamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  const folder = join(migrations, `${lastMigration === undefined ? '00000000000000' : timestamp}_${name}`);
  await mkdir(folder);
  await writeFile(join(folder, 'migration.sql'), sql);
  await writeFile(join(folder, 'schema.prisma'), schema);
  await writeFile(join(migrations, 'migration_lock.toml'), 'provider = "postgresql"\n');
  process.stdout.write(`Wrote ${join(folder, 'migration.sql')}. Read it before you commit it.\n`);
}

async function withScratchServer<T>(action: (url: string) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-migration-'));
  try {
    // For root: PostgreSQL's user must be able to enter it.
    await chmod(dataDir, 0o755);
    const server = await startEmbeddedPostgres({ dataDir });
    try {
      return await action(server.url);
    } finally {
      await server.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
