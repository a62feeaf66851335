import { z } from 'zod';
import type { DecisionStatistics, MoneyReportStore } from '../money/ports.ts';
import { type Database, Prisma, wrapStore } from './database.ts';

const decisionRowsSchema = z.array(
  z.object({ by: z.string(), kind: z.enum(['approved', 'denied']), count: z.number(), seconds: z.number() }),
);

export function createMoneyReportStore({ run, prisma }: Database): MoneyReportStore {
  return wrapStore('moneyReports', {
    listLapsedNames: async (from, to) => {
      const rows = await prisma.domain.findMany({
        where: { lapseConfirmedAt: { gte: from, lt: to } },
        orderBy: { name: 'asc' },
        select: { name: true },
      });
      return rows.map(({ name }) => name);
    },

    listDecisionStatistics: async (from, to): Promise<readonly DecisionStatistics[]> => {
      const rows = await run(Prisma.sql`
        SELECT e.actor AS by, e.kind, count(*)::int AS count,
          percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM e.at - o.created_at)::int)::int AS seconds
        FROM events e JOIN orders o ON o.id = e.subject_id
        WHERE e.subject_kind = 'order' AND e.kind IN ('approved', 'denied') AND e.at >= ${from} AND e.at < ${to}
        GROUP BY 1, 2 ORDER BY 1, 2`);
      return decisionRowsSchema.parse(rows);
    },
  });
}
