import { z } from 'zod';
import { isDemoContext } from '../accounts/account.ts';
import type { Decision, MoneyReportStore } from '../money/ports.ts';
import { PRICED_TASKS } from '../money/prices.ts';
import { periodOf } from '../orders/order.ts';
import { type Database, Prisma, storeOf } from './database.ts';

/** More than a day ever has; what is beyond is not compared. */
const MAX_ANSWERS = 5_000;
const answers = z.array(
  z.object({
    orderId: z.string(),
    name: z.string(),
    task: z.enum(PRICED_TASKS),
    input: z.unknown(),
    /** Null where the order has one for all its items. */
    itemInput: z.unknown(),
    context: z.number().nullable(),
    at: z.date(),
    answer: z.unknown(),
  }),
);
const names = z.array(z.object({ name: z.string() }));
const decisions = z.array(
  z.object({ by: z.string(), kind: z.enum(['approved', 'denied']), count: z.number(), seconds: z.number() }),
);

/** What reports on money tell, on PostgreSQL. */
export function createMoneyReportStore({ run }: Database): MoneyReportStore {
  return storeOf('moneyReports', {
    answers: async (from, to) => {
      const rows = await run(Prisma.sql`
        SELECT a.order_id AS "orderId", i.name, o.task, o.input, i.input AS "itemInput", o.context, a.at, a.answer
        FROM order_answers a
        JOIN order_items i ON i.order_id = a.order_id AND i.n = a.n JOIN orders o ON o.id = a.order_id
        WHERE a.at >= ${from} AND a.at < ${to} AND i.state = 'SUCCEEDED' AND o.task = ANY(${[...PRICED_TASKS]})
        ORDER BY a.at, a.order_id, a.n LIMIT ${MAX_ANSWERS}`);
      return answers
        .parse(rows)
        .filter(({ context }) => !isDemoContext(context ?? undefined))
        .map(({ input, itemInput, context: _context, ...row }) => ({
          ...row,
          period: periodOf(itemInput ?? input),
        }));
    },

    lapsed: async (from, to) => {
      const rows = await run(Prisma.sql`
        SELECT name FROM domains
        WHERE lapse_confirmed_at >= ${from} AND lapse_confirmed_at < ${to} ORDER BY name`);
      return names.parse(rows).map(({ name }) => name);
    },

    decisions: async (from, to): Promise<readonly Decision[]> => {
      const rows = await run(Prisma.sql`
        SELECT e.actor AS by, e.kind, count(*)::int AS count,
          percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM e.at - o.created_at)::int)::int AS seconds
        FROM events e JOIN orders o ON o.id = e.subject_id
        WHERE e.subject_kind = 'order' AND e.kind IN ('approved', 'denied') AND e.at >= ${from} AND e.at < ${to}
        GROUP BY 1, 2 ORDER BY 1, 2`);
      return decisions.parse(rows);
    },
  });
}
