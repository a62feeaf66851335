import { z } from 'zod';
import {
  BUDGET_SPANS,
  type BudgetStatus,
  computeShares,
  findBudgetOverruns,
  getPeriod,
  isExcessApproved,
  type Reservation,
} from '../money/budget.ts';
import { defineRow } from './columns.ts';
import { Prisma, type RunStatement } from './database.ts';

/*
 * Reservations in budgets. The last approval of an order reserves an amount for each name. Whether it was
 * spent is derived from the order and its item, so booking and releasing an amount need no writes.
 */

/** Columns of budgets (alias `b`), with the sums of their reservations (alias `t`). */
const budgetStatusRow = defineRow(
  z.object({
    id: z.string(),
    tag: z.string(),
    span: z.enum(BUDGET_SPANS),
    amountMinor: z.string().transform(Number),
    currency: z.string(),
    booked: z.string().transform(BigInt),
    reserved: z.string().transform(BigInt),
  }),
  'b.',
  {
    amountMinor: Prisma.sql`b.amount_minor::text`,
    booked: Prisma.sql`COALESCE(sum(t.booked), 0)::text`,
    reserved: Prisma.sql`COALESCE(sum(t.reserved), 0)::text`,
  },
);

const statusesAndTagsRowsSchema = z.tuple([
  z.object({
    statuses: z.array(budgetStatusRow.schema),
    tags: z.record(z.string(), z.array(z.string()).nullable()),
  }),
]);

/** An outcome that arrived after its item had ended. The money may have been spent. */
const LATE_OUTCOME = Prisma.sql`COALESCE(i.result->>'lateOutcome', '')`;
export const IS_BOOKED = Prisma.sql`(i.state = 'SUCCEEDED' OR ${LATE_OUTCOME} = 'SUCCEEDED')`;
/** Nothing has been or will be spent. The order is read only if the item's state isn't enough to decide. */
export const IS_RELEASED = Prisma.sql`(${LATE_OUTCOME} NOT IN ('SUCCEEDED', 'UNKNOWN') AND i.state <> 'SUCCEEDED' AND (i.state = 'FAILED'
  OR EXISTS (SELECT FROM orders o WHERE o.id = r.order_id AND o.state IN ('DENIED', 'EXPIRED', 'CANCELLED'))))`;

/**
 * Selects all budgets of a team with their status in the month and year of a day. Reservations are read once
 * for all budgets, as far back as any budget reaches. They are added up by currency, tags and month before
 * they are compared with budgets.
 */
function selectBudgetStatuses(teamId: string, { day, excludedOrderId }: BudgetStatusQuery): Prisma.Sql {
  const date = Prisma.sql`${day}::date`;
  return Prisma.sql`
    WITH taken AS MATERIALIZED (
      SELECT r.currency, r.tags, date_trunc('month', r.day) = date_trunc('month', ${date}) AS is_this_month,
        sum(r.amount_minor) FILTER (WHERE ${IS_BOOKED}) AS booked,
        sum(r.amount_minor) FILTER (WHERE NOT ${IS_BOOKED} AND NOT ${IS_RELEASED}) AS reserved
      FROM budget_reservations r JOIN order_items i ON i.order_id = r.order_id AND i.n = r.n
      WHERE r.team_id = ${teamId} AND r.day < date_trunc('year', ${date}) + interval '1 year'
        AND r.day >= (SELECT min(date_trunc(span, ${date})) FROM budgets WHERE team_id = ${teamId})
        AND NOT (r.order_id = ${excludedOrderId ?? ''} AND i.state IN ('WAITING', 'SENT'))
      GROUP BY 1, 2, 3
    )
    SELECT ${budgetStatusRow.columns}
    FROM budgets b LEFT JOIN taken t
      ON t.currency = b.currency AND (b.tag = '' OR b.tag = ANY(t.tags)) AND (b.span = 'year' OR t.is_this_month)
    WHERE b.team_id = ${teamId}
    GROUP BY b.id ORDER BY b.tag, b.span`;
}

interface BudgetStatusQuery {
  readonly day: string;
  /** Reservations for this order's unsent items are left out. */
  readonly excludedOrderId?: string | undefined;
  readonly hosts?: readonly string[];
}

/** Reads a team's budget statuses in the month and year of a day, and the tags of `hosts`. */
export async function readBudgetStatuses(
  run: RunStatement,
  teamId: string,
  query: BudgetStatusQuery,
): Promise<{
  readonly statuses: readonly BudgetStatus[];
  readonly tags: ReadonlyMap<string, readonly string[]>;
}> {
  const { hosts = [], day } = query;
  const [{ statuses, tags }] = statusesAndTagsRowsSchema.parse(
    await run(Prisma.sql`
      SELECT (SELECT coalesce(json_agg(s), '[]') FROM (${selectBudgetStatuses(teamId, query)}) s) AS statuses,
        (SELECT coalesce(json_object_agg(name, tags), '{}') FROM domains WHERE name = ANY(${[...hosts]})) AS tags`),
  );
  return {
    statuses: statuses.map(({ id, tag, span, amountMinor: minor, currency, booked, reserved }) => ({
      budget: { id, tag: tag === '' ? undefined : tag, span, amount: { currency, minor } },
      booked,
      reserved,
      period: getPeriod(span, day),
    })),
    tags: new Map(hosts.map((host) => [host, tags[host] ?? []])),
  };
}

/**
 * Locks the budgets until the transaction ends. Concurrent approvals wait, and then see its reservations.
 * @param excludedOrderId the order, if it is resumed: its unsent items are reserved again
 * @returns whether the budgets cover the order, or any excess was approved
 */
export async function lockAndCheckBudgets(
  run: RunStatement,
  reservation: Reservation,
  excludedOrderId?: string,
): Promise<boolean> {
  const { teamId, day } = reservation;
  await run(Prisma.sql`SELECT id FROM budgets WHERE team_id = ${teamId} ORDER BY id FOR NO KEY UPDATE`);
  // A separate statement, so that its snapshot is taken after the locks are held.
  const { statuses } = await readBudgetStatuses(run, teamId, { day, excludedOrderId });
  const shares = computeShares(statuses, reservation);
  return isExcessApproved(findBudgetOverruns(shares), reservation.agreedExcess);
}
