import { z } from 'zod';
import { isDemoContext } from '../accounts/account.ts';
import type { SpendStore } from '../money/ports.ts';
import { CHARGED_TASKS, PRICED_TASKS } from '../money/prices.ts';
import type { Purchase } from '../money/spend.ts';
import { periodOf } from '../orders/order.ts';
import { type Database, withStoreError } from './database.ts';

const task = z.enum(PRICED_TASKS);
const zoneCount = z.object({ zone: z.string(), count: z.number() });
const zoneRows = z.array(zoneCount);
const renewalRows = z.array(zoneCount.extend({ month: z.string() }));

/** What was bought through orders, and what the watch list has ahead, on PostgreSQL. */
export function createSpendStore({ prisma }: Pick<Database, 'prisma'>, teamId: string): SpendStore {
  const tasks = [...PRICED_TASKS];
  return {
    purchases: (from, to) =>
      withStoreError('reading what was spent', async () => {
        const span = { gte: from, lt: to };
        const items = await prisma.orderItem.findMany({
          where: {
            state: 'SUCCEEDED',
            order: { task: { in: tasks } },
            // An item that a person settled without an answer counts on the day on which its order ended.
            OR: [{ answeredAt: span }, { answeredAt: null, order: { closedAt: span } }],
          },
          select: {
            name: true,
            input: true,
            answeredAt: true,
            order: {
              select: {
                task: true,
                requesterId: true,
                earlierRequesters: true,
                isPrivate: true,
                input: true,
                context: true,
                closedAt: true,
              },
            },
          },
          orderBy: [{ orderId: 'asc' }, { n: 'asc' }],
        });
        return items.flatMap(({ name, input, answeredAt, order }): Purchase[] => {
          const at = answeredAt ?? order.closedAt;
          if (at === null || isDemoContext(order.context ?? undefined)) return [];
          const period = periodOf(input ?? order.input);
          const { requesterId, earlierRequesters, isPrivate } = order;
          const privateTo = isPrivate ? [requesterId, ...earlierRequesters] : undefined;
          return [{ name, task: task.parse(order.task), period, requesterId, at, privateTo }];
        });
      }),

    unknownOutcomes: (from, to) =>
      withStoreError('counting unknown outcomes', async () => {
        const items = await prisma.orderItem.findMany({
          where: {
            state: 'UNKNOWN',
            sentAt: { gte: from, lt: to },
            order: { task: { in: [...CHARGED_TASKS] } },
          },
          select: { order: { select: { context: true } } },
        });
        return items.filter(({ order }) => !isDemoContext(order.context ?? undefined)).length;
      }),

    renewals: (from, until, timeZone) =>
      withStoreError('counting renewals by month and zone', async () =>
        renewalRows.parse(
          await prisma.$queryRaw`
            SELECT to_char(expires_at AT TIME ZONE ${timeZone}, 'YYYY-MM') AS month,
              substring(name FROM position('.' IN name) + 1) AS zone, count(*)::int AS count
            FROM domains
            WHERE expires_at >= ${from} AND expires_at < ${until}
              AND lapse_confirmed_at IS NULL AND deleted_at IS NULL
            GROUP BY 1, 2 ORDER BY 1, 2`,
        ),
      ),

    unused: () =>
      withStoreError('counting names that are not used', async () =>
        zoneRows.parse(
          await prisma.$queryRaw`
            SELECT substring(d.name FROM position('.' IN d.name) + 1) AS zone, count(*)::int AS count
            FROM name_observations o JOIN domains d ON d.name = o.name
            WHERE o.team_id = ${teamId} AND o.in_use = false
              AND d.lapse_confirmed_at IS NULL AND d.deleted_at IS NULL
            GROUP BY 1 ORDER BY 1`,
        ),
      ),
  };
}
