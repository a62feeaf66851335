// Only pg-boss, with jobs that change one row each.
import pg from 'pg';
import PgBoss from 'pg-boss';
import { z } from 'zod';

const QUEUE = 'bare';
/** The bot's own concurrency. */
const BATCH = 48;
/** The number of concurrent clicks. */
const SENDERS = 50;

const connectionString = process.env['DATABASE_URL'] ?? '';
const boss = new PgBoss({ connectionString, max: 6 });
boss.on('error', (error) => process.stderr.write(`${error.message}\n`));
const db = new pg.Pool({ connectionString, max: 10 });
await db.query('CREATE TABLE IF NOT EXISTS bare (id int PRIMARY KEY, done_at timestamptz)');
await boss.start();
await boss.createQueue(QUEUE, { name: QUEUE, policy: 'standard', retryLimit: 0 });
const worker = await boss.work<{ id: number }>(
  QUEUE,
  { batchSize: BATCH, pollingIntervalSeconds: 2 },
  async (jobs) => {
    if (jobs.length === BATCH) boss.notifyWorker(worker);
    await Promise.all(
      jobs.map(({ data }) => db.query('UPDATE bare SET done_at = now() WHERE id = $1', [data.id])),
    );
  },
);

/** @returns jobs a second, from the first one sent until the last row is changed */
async function run(amount: number): Promise<number> {
  await db.query('TRUNCATE bare');
  await db.query('INSERT INTO bare (id) SELECT generate_series(1, $1::int)', [amount]);
  const startedAt = performance.now();
  let next = 0;
  const send = async () => {
    while (next < amount) {
      next += 1;
      await boss.send(QUEUE, { id: next }, { retryLimit: 0 });
      boss.notifyWorker(worker);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
  for (;;) {
    const { rows } = await db.query<{ open: number }>(
      'SELECT count(*)::int AS open FROM bare WHERE done_at IS NULL',
    );
    if (rows[0]?.open === 0) return (amount * 1_000) / (performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const messageSchema = z.object({ run: z.number() });
process.on('message', (message) => {
  run(messageSchema.parse(message).run).then((rate) => process.send?.({ rate }));
});
process.on('disconnect', () => process.exit());
process.send?.({ port: 0 });
