// Owns the embedded PostgreSQL of a folder until SIGINT, and prints its URL.
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/index.ts';

const [dataDir = ''] = process.argv.slice(2);
const server = await startEmbeddedPostgres({ dataDir });
const client = new pg.Client(server.url);
await client.connect();
process.once('SIGINT', async () => {
  const { rows } = await client.query<{ answer: number }>('SELECT 42 AS answer');
  process.stdout.write(`drained ${rows[0]?.answer}\n`);
  await client.end();
  await server.stop();
});

process.stdout.write(`serving ${server.url}\n`);
