import { z } from 'zod';
import { isDemoContext } from '../accounts/account.ts';
import { iterateSlices } from '../lib/collections.ts';
import type { SpendStore } from '../money/ports.ts';
import { CHARGED_TASKS, PRICED_TASKS } from '../money/prices.ts';
import type { Purchase } from '../money/spend.ts';
import { getPeriodYears } from '../orders/order.ts';
import { defineRow, optionalText } from './columns.ts';
import { type Database, Prisma, type Statement, wrapStore } from './database.ts';

const zoneCountSchema = z.object({ zone: z.string(), count: z.number() });
const zoneRowsSchema = z.array(zoneCountSchema);
const renewalRowsSchema = z.array(zoneCountSchema.extend({ month: z.string() }));

const purchaseRow = defineRow(
  z.object({
    name: z.string(),
    task: z.enum(PRICED_TASKS),
    input: z.unknown(),
    orderInput: z.unknown(),
    at: z.date(),
    requesterId: z.string(),
    earlierRequesters: z.array(z.string()),
    isPrivate: z.boolean(),
    context: z.number().nullable(),
    mandate: optionalText,
  }),
  'o.',
  {
    name: Prisma.sql`i.name`,
    input: Prisma.sql`i.input`,
    orderInput: Prisma.sql`o.input`,
    at: Prisma.sql`COALESCE(i.answered_at, o.closed_at)`,
    mandate: Prisma.sql`
      CASE WHEN NOT EXISTS (SELECT FROM orders m WHERE m.id = o.mandate_id AND m.is_private) THEN o.mandate_id END`,
  },
);

const rawRowsSchema = z.array(z.unknown());

function toPurchase({
  input,
  orderInput,
  earlierRequesters,
  isPrivate,
  ...purchase
}: z.output<typeof purchaseRow.schema>): Purchase {
  const { name, task, requesterId, at, mandate } = purchase;
  const privateTo = isPrivate ? [requesterId, ...earlierRequesters] : undefined;
  return { name, task, period: getPeriodYears(input ?? orderInput), requesterId, at, mandate, privateTo };
}

/**
 * Selects priced tasks carried out from `from` (inclusive) until `until` (exclusive). An item that a person
 * settled without a response counts on the day its order ended.
 */
function selectPurchases(from: Date, until: Date): Statement {
  return Prisma.sql`
    SELECT ${purchaseRow.columns}
    FROM order_items i JOIN orders o ON o.id = i.order_id
    WHERE i.state = 'SUCCEEDED' AND o.task = ANY(${[...PRICED_TASKS]})
      AND COALESCE(i.answered_at, o.closed_at) >= ${from} AND COALESCE(i.answered_at, o.closed_at) < ${until}
    ORDER BY i.order_id, i.n`;
}

export function createSpendStore({ run, prisma }: Database): SpendStore {
  return wrapStore('spend', {
    listPurchases: async (from, until) => {
      const purchases: Purchase[] = [];
      for await (const slice of iterateSlices(rawRowsSchema.parse(await run(selectPurchases(from, until)))))
        purchases.push(
          ...purchaseRow
            .read(slice)
            .filter(({ context }) => !isDemoContext(context ?? undefined))
            .map(toPurchase),
        );
      return purchases;
    },

    countUnknownOutcomes: async (from, until) => {
      const items = await prisma.orderItem.findMany({
        where: {
          state: 'UNKNOWN',
          sentAt: { gte: from, lt: until },
          order: { task: { in: [...CHARGED_TASKS] } },
        },
        select: { order: { select: { context: true } } },
      });
      return items.filter(({ order }) => !isDemoContext(order.context ?? undefined)).length;
    },

    countRenewals: async (from, until, timeZone) =>
      renewalRowsSchema.parse(
        await run(Prisma.sql`
          SELECT to_char(expires_at AT TIME ZONE ${timeZone}, 'YYYY-MM') AS month,
            substring(name FROM position('.' IN name) + 1) AS zone, count(*)::int AS count
          FROM domains
          WHERE expires_at >= ${from} AND expires_at < ${until}
            AND lapse_confirmed_at IS NULL AND deleted_at IS NULL
          GROUP BY 1, 2 ORDER BY 1, 2`),
      ),

    countUnusedNames: async () =>
      zoneRowsSchema.parse(
        await run(Prisma.sql`
          SELECT substring(d.name FROM position('.' IN d.name) + 1) AS zone, count(*)::int AS count
          FROM domains d WHERE d.in_use = false
            AND d.lapse_confirmed_at IS NULL AND d.deleted_at IS NULL
          GROUP BY 1 ORDER BY 1`),
      ),
  });
}
