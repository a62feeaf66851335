import { z } from 'zod';
import type { Process } from './processes.ts';
import { buildClick, buildCommand } from './slack-load.ts';
import { type Surroundings, waitUntil } from './surroundings.ts';

const CLICK_CONCURRENCY = 50;

type Bot = Pick<Process, 'port'>;

const progressSchema = z.tuple([z.object({ seconds: z.coerce.number(), settled: z.number() })]);
let name = 0;

/** Requests renewals until the cards of this many pending orders are posted. */
export async function requestOrders(s: Surroundings, bots: readonly Bot[], amount: number): Promise<void> {
  // On a busy machine, the database may not respond in time, and the bot asks people to try again.
  for (let attempt = 1; ; attempt += 1) {
    const missing = amount - (await s.listWaitingOrders()).length;
    if (missing <= 0) break;
    if (attempt > 3) throw new Error(`requesting ${amount} orders: ${missing} have no card`);
    const commands = Array.from({ length: missing }, () =>
      buildCommand(`renew order-${name++}.rest 2`, s.person(name), s.responseUrl),
    );
    await distribute(bots, commands, (bot, part) => s.slack.sendConcurrently(bot.port, part, 8));
    await waitUntil('the cards are posted', async () => (await s.listWaitingOrders()).length >= amount).catch(
      () => undefined,
    );
  }
  await s.waitUntilIdle();
}

/**
 * Approves this number of waiting orders, as fast as clicks are acknowledged, spread over the bots.
 * @param approvers who click in turn
 * @returns orders a second, from the first committed approval until the last order is settled
 */
export async function approveAll(
  s: Surroundings,
  bots: readonly Bot[],
  amount: number,
  approvers: readonly string[] = [s.approver],
): Promise<number> {
  const orders = (await s.listWaitingOrders()).slice(0, amount);
  const clicks = orders.map((order, n) =>
    buildClick('order_approve', order, approvers[n % approvers.length] ?? s.approver, s.responseUrl),
  );
  await distribute(bots, clicks, (bot, part) =>
    s.slack.sendConcurrently(bot.port, part, CLICK_CONCURRENCY / bots.length),
  );
  const ids = orders.map(({ id }) => id);
  let seconds = 0;
  await waitUntil(
    'all orders are settled',
    async () => {
      const { rows } = await s.db.query(
        `SELECT extract(epoch FROM max(o.closed_at) - min(a.at)) AS seconds,
           (count(*) FILTER (WHERE o.state = 'SUCCEEDED'))::int AS settled
         FROM orders o LEFT JOIN approvals a ON a.order_id = o.id WHERE o.id = ANY($1)`,
        [ids],
      );
      const [progress] = progressSchema.parse(rows);
      seconds = progress.seconds;
      return progress.settled === amount;
    },
    200,
  );
  return amount / seconds;
}

/**
 * Requests orders, approves them all, and waits until nothing is left to do.
 * @returns orders a second
 */
export async function carryOut(s: Surroundings, bots: readonly Bot[], amount: number): Promise<number> {
  await requestOrders(s, bots, amount);
  const rate = await approveAll(s, bots, amount);
  await s.waitUntilIdle();
  return rate;
}

/** Gives each bot its share of the total. */
async function distribute<T>(
  bots: readonly Bot[],
  all: readonly T[],
  send: (bot: Bot, part: readonly T[]) => Promise<void>,
): Promise<void> {
  await Promise.all(
    bots.map((bot, index) =>
      send(
        bot,
        all.filter((_, n) => n % bots.length === index),
      ),
    ),
  );
}
