import { z } from 'zod';
import type { Decision, MoneyReportStore } from '../money/ports.ts';
import { type Database, Prisma, withStoreError } from './database.ts';

const claimed = z.array(z.object({ month: z.string() }));
const names = z.array(z.object({ name: z.string() }));
const decisions = z.array(
  z.object({ by: z.string(), kind: z.enum(['approved', 'denied']), count: z.number(), seconds: z.number() }),
);

/** What a monthly report tells, and whether it was posted, on PostgreSQL. @param teamId whose */
export function createMoneyReportStore({ run }: Pick<Database, 'run'>, teamId: string): MoneyReportStore {
  return {
    claim: (month, now, leaseMs) =>
      withStoreError('claiming the report of a month', async () => {
        const rows = await run(Prisma.sql`
          INSERT INTO money_reports (team_id, month, claimed_at) VALUES (${teamId}, ${month}, ${now})
          ON CONFLICT (team_id, month) DO UPDATE SET claimed_at = excluded.claimed_at
          WHERE money_reports.posted_at IS NULL
            AND money_reports.claimed_at <= ${new Date(now.getTime() - leaseMs)}::timestamptz
          RETURNING month`);
        return claimed.parse(rows).length === 1;
      }),

    posted: (month, now) =>
      withStoreError('noting that the report of a month was posted', async () => {
        await run(
          Prisma.sql`UPDATE money_reports SET posted_at = ${now} WHERE team_id = ${teamId} AND month = ${month}`,
        );
      }),

    letGo: (from, to) =>
      withStoreError('reading which names were let go', async () => {
        const rows = await run(Prisma.sql`
          SELECT name FROM domains
          WHERE lapse_confirmed_at >= ${from} AND lapse_confirmed_at < ${to} ORDER BY name`);
        return names.parse(rows).map(({ name }) => name);
      }),

    decisions: (from, to) =>
      withStoreError('reading who decided what', async (): Promise<readonly Decision[]> => {
        const rows = await run(Prisma.sql`
          SELECT e.actor AS by, e.kind, count(*)::int AS count,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM e.at - o.created_at)::int)::int AS seconds
          FROM order_events e JOIN orders o ON o.id = e.order_id
          WHERE e.kind IN ('approved', 'denied') AND e.at >= ${from} AND e.at < ${to}
          GROUP BY 1, 2 ORDER BY 1, 2`);
        return decisions.parse(rows);
      }),
  };
}
