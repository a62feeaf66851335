import pg from 'pg';
import { Pool } from 'undici';
import { z } from 'zod';
import { type Bench, type Line, measureAlternately, type Row } from '../measure.ts';
import { buildClick, buildSubmission } from '../slack-load.ts';
import { Surroundings, waitUntil } from '../surroundings.ts';

/*
 * One order for 2,000 names, from its approval until its last row is settled: four concurrent requests in waves of 20,
 * each with a committed `sentAt` and a committed outcome. The reference is the same number of posts by undici, also
 * four at a time, with one committed row each. The service responds after 50 ms, like a fast registry.
 */

const MIN_RATIO = 0.5;
const MAX_PLAN_MS = 10_000;
const SERVICE_DELAY_MS = 50;
const CONCURRENCY = 4;
const CHANNEL = 'C0BENCH0';

const ordersSchema = z.array(z.object({ id: z.string(), state: z.string() }));
const rowSchema = z.tuple([z.object({ seconds: z.coerce.number().nullable(), open: z.coerce.number() })]);

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const rows = effort.quick ? 40 : 2_000;
  const s = await Surroundings.open();
  const pool = new pg.Pool({ connectionString: await s.postgres.createDatabase(), max: CONCURRENCY });
  const service = new Pool(s.peersUrl, { connections: CONCURRENCY });
  try {
    const bot = await s.start('bot.ts');
    await pool.query('CREATE TABLE sent (n int PRIMARY KEY, round int, answer jsonb NOT NULL)');
    let orderCount = 0;
    const plans: number[] = [];
    const ours = async (): Promise<number> => {
      orderCount += 1;
      progress(`order ${orderCount}`);
      const file = `${s.peersUrl}/files/${orderCount}/${rows}.csv`;
      const { orderId, planMs } = await requestBulkOrder(s, bot.port, file);
      plans.push(planMs);
      const card = (await s.listWaitingOrders()).find(({ id }) => id === orderId);
      if (card === undefined) throw new Error('the order has no card');
      await s.slack.deliver(bot.port, buildClick('order_approve', card, s.approver, s.responseUrl));
      const rate = await waitUntilSettled(s, orderId, rows);
      await s.waitUntilIdle();
      return rate;
    };
    const theirs = async (): Promise<number> => {
      await pool.query('TRUNCATE sent');
      const startedAt = performance.now();
      let next = 0;
      const sendNext = async () => {
        while (next < rows) {
          const n = next++;
          const { body } = await service.request({
            method: 'POST',
            path: `/v1/domain/bare-${n}.rest/_renew?ctid=bare.${n}`,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ period: 1 }),
          });
          await pool.query('INSERT INTO sent (n, answer) VALUES ($1, $2)', [n, await body.json()]);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, sendNext));
      return (rows * 1_000) / (performance.now() - startedAt);
    };
    await s.peers.ask({ afterMs: SERVICE_DELAY_MS }, z.object({ hanging: z.literal(false) }));
    yield {
      row: 'bulk',
      what: `names of one order for ${rows}, approved until settled, the service answers after ${SERVICE_DELAY_MS} ms`,
      reference: 'undici posts, one committed row each',
      unit: '/s',
      ...(await measureAlternately(effort.rounds, ours, theirs)),
      target: { of: 'ratio', kind: 'at least', value: MIN_RATIO },
    };
    yield {
      row: 'bulk',
      what: '… from the form until the plan is there',
      reference: '',
      unit: 'ms',
      ours: plans,
      theirs: [],
      target: { of: 'ours', kind: 'at most', value: MAX_PLAN_MS },
    };
  } finally {
    await service.close();
    await pool.end();
    await s.close();
  }
}

/**
 * Requests a bulk order by the form, confirms its plan, and waits until its card is posted.
 * @returns the order's id, and how long its plan took
 */
async function requestBulkOrder(s: Surroundings, port: number, file: string) {
  const values = {
    task: { type: 'static_select', selected_option: { value: 'renew' } },
    file: { type: 'file_input', files: [{ id: 'F0BENCH', url_private: file }] },
  };
  const startedAt = performance.now();
  await s.slack.deliver(port, buildSubmission('bulk', values, { channelId: CHANNEL }, s.person(0)));
  const findNewest = async () =>
    ordersSchema.parse(
      (await s.db.query('SELECT id, state FROM orders ORDER BY created_at DESC LIMIT 1')).rows,
    )[0];
  await waitUntil('the plan is stored', async () => (await findNewest())?.state === 'DRAFT');
  const planMs = performance.now() - startedAt;
  const id = (await findNewest())?.id ?? '';
  const draft = { id, channelId: CHANNEL, ts: '1700000000.000001' };
  await s.slack.deliver(port, buildClick('order_confirm', draft, s.person(0), s.responseUrl));
  await waitUntil('the card is posted', async () =>
    (await s.listWaitingOrders()).some((order) => order.id === id),
  );
  return { orderId: id, planMs };
}

/** @returns names per second since the order's approval */
async function waitUntilSettled(s: Surroundings, orderId: string, rows: number): Promise<number> {
  let seconds = 0;
  await waitUntil(
    'the order has ended',
    async () => {
      const { rows: found } = await s.db.query(
        `SELECT extract(epoch FROM o.closed_at - a.at) AS seconds,
           (SELECT count(*) FROM order_items i WHERE i.order_id = o.id AND i.state <> 'SUCCEEDED') AS open
         FROM orders o JOIN approvals a ON a.order_id = o.id WHERE o.id = $1`,
        [orderId],
      );
      const [{ seconds: taken, open }] = rowSchema.parse(found);
      seconds = taken ?? 0;
      return taken !== null && open === 0;
    },
    200,
    3,
  );
  return rows / seconds;
}

export const bulk: Row = { id: 'bulk', seconds: 400, measure };
