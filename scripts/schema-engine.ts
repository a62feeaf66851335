import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import * as engine from '@prisma/schema-engine-wasm/schema_engine_bg';

/** Only the parts that are used here, because Node's types don't include `WebAssembly`. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
    imports: Readonly<Record<string, object>>,
  ): Promise<{ instance: { exports: Readonly<Record<string, unknown>> } }>;
};

/**
 * Computes the SQL that migrates one Prisma schema to another. Uses Prisma's engine in WebAssembly, because its binary
 * is downloaded from a host that not every network reaches.
 * @param from the schema to start from; undefined means an empty database
 * @param to the target schema
 * @param url a PostgreSQL; the engine only asks it for its version
 * @returns the script, empty if the two schemas are equivalent
 */
export async function diffSchemas(from: string | undefined, to: string, url: string): Promise<string> {
  const file = (content: string) => ({ files: [{ path: 'schema.prisma', content }] });
  const schemaEngine = await openSchemaEngine(to, url);
  try {
    const { stdout } = await schemaEngine.diff({
      from: from === undefined ? { tag: 'empty' } : { tag: 'schemaDatamodel', ...file(from) },
      to: { tag: 'schemaDatamodel', ...file(to) },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    });
    return removeSchemaCreation(stdout ?? '');
  } finally {
    schemaEngine.free();
  }
}

/** Opens the engine for a schema on a database; `free()` closes it. */
export async function openSchemaEngine(schema: string, url: string): Promise<engine.SchemaEngine> {
  await loadEngine();
  return engine.SchemaEngine.new(
    { datamodels: [['schema.prisma', schema]] },
    () => undefined,
    bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url })),
  );
}

let enginePromise: Promise<void> | undefined;

function loadEngine(): Promise<void> {
  enginePromise ??= instantiate();
  return enginePromise;
}

async function instantiate(): Promise<void> {
  const entry = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm');
  const wasm = await readFile(join(dirname(entry), 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': { ...engine } });
  engine.__wbg_set_wasm(instance.exports);
  const start = instance.exports['__wbindgen_start'];
  if (typeof start !== 'function') throw new TypeError('the schema engine has no __wbindgen_start');
  start();
}

/** The schema `public` always exists, and a role without the right to create schemas must be able to migrate. */
function removeSchemaCreation(script: string): string {
  const migration = script.replace(/-- CreateSchema\nCREATE SCHEMA IF NOT EXISTS "public";\n+/, '');
  return migration.includes('-- This is an empty migration.') ? '' : migration;
}
