// Only Bolt and `pg`: commits one row for each delivery before it acknowledges.
import { App, HTTPReceiver, LogLevel } from '@slack/bolt';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] });
await pool.query(
  'CREATE TABLE IF NOT EXISTS deliveries (id bigserial PRIMARY KEY, kind text NOT NULL, person text NOT NULL)',
);
const commit = (kind: string, person: string) =>
  pool.query('INSERT INTO deliveries (kind, person) VALUES ($1, $2)', [kind, person]);

const receiver = new HTTPReceiver({
  signingSecret: process.env['SLACK_SIGNING_SECRET'] ?? '',
  endpoints: ['/slack/events'],
  port: 0,
  logLevel: LogLevel.ERROR,
});
const app = new App({
  receiver,
  authorize: async () => ({ botToken: 'xoxb-bare', botUserId: 'U0BARE' }),
  logLevel: LogLevel.ERROR,
});
app.command('/domain', async ({ ack, body }) => {
  await commit(body.text, body.user_id);
  await ack();
});
app.action(/.*/, async ({ ack, body }) => {
  await commit(body.type, body.user.id);
  await ack();
});

const server = await app.start(0);
process.on('disconnect', () => process.exit());
const address = server.address();
if (typeof address === 'object' && address !== null) process.send?.({ port: address.port });
