import { defineConfig } from 'prisma/config';

// `prisma generate` never runs the schema engine but insists on finding one, and its download host
// is out of reach on locked-down networks. Any existing executable satisfies the check.
if (process.argv.includes('generate')) {
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;
}

const url = process.env['DATABASE_URL'];

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  ...(url === undefined ? {} : { datasource: { url } }),
});
