import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { BUDGET_SPANS, type Budget } from '../money/budget.ts';
import type { BudgetChange, BudgetStore } from '../money/ports.ts';
import { changeLines } from './changes.ts';
import { optional, optionalText } from './columns.ts';
import { type Database, isUniqueViolation, Prisma, type Transaction, withStoreError } from './database.ts';
import { readStandings } from './reservations.ts';

const keptBudget = z
  .object({
    id: z.string(),
    tag: z.string(),
    span: z.enum(BUDGET_SPANS),
    amountMinor: z.bigint().transform(Number),
    currency: z.string(),
  })
  .transform(
    ({ id, tag, span, amountMinor: minor, currency }): Budget => ({
      id,
      tag: tag === '' ? undefined : tag,
      span,
      amount: { currency, minor },
    }),
  );

/** A budget in the audit log. */
const loggedBudget = optional(
  z.object({
    id: z.string(),
    tag: optionalText,
    span: z.enum(BUDGET_SPANS),
    amount: z.object({ currency: z.string(), minor: z.int() }),
  }),
);

function loggable(budget: Budget | undefined) {
  if (budget === undefined) return Prisma.DbNull;
  const { id, tag = null, span, amount } = budget;
  return { id, tag, span, amount: { ...amount } };
}

/** The team's budgets, on PostgreSQL. @param teamId whose */
export function createBudgetStore(
  { prisma, run }: Pick<Database, 'prisma' | 'run'>,
  teamId: string,
): BudgetStore {
  const log = (tx: Transaction, { before, after, by, at }: BudgetChange) =>
    tx.budgetChange.create({
      data: { teamId, before: loggable(before), after: loggable(after), by, at },
    });

  /** Reads a budget whose row nobody else changes until the transaction ends. */
  const locked = async (tx: Transaction, id: string): Promise<Budget | undefined> => {
    await tx.$executeRaw`SELECT id FROM budgets WHERE id = ${id} AND team_id = ${teamId} FOR UPDATE`;
    const row = await tx.budget.findUnique({ where: { id, teamId } });
    return row === null ? undefined : keptBudget.parse(row);
  };

  return {
    list: () =>
      withStoreError('reading the budgets', async () => {
        const rows = await prisma.budget.findMany({
          where: { teamId },
          orderBy: [{ tag: 'asc' }, { span: 'asc' }],
        });
        return rows.map((row) => keptBudget.parse(row));
      }),

    standings: (day, without) =>
      withStoreError('reading how the budgets stand', () => readStandings(run, teamId, day, without)),

    add: ({ tag, span, amount }, by, at) =>
      withStoreError('adding a budget', async () => {
        const budget: Budget = { id: randomUUID(), tag, span, amount };
        try {
          await prisma.$transaction(async (tx) => {
            await tx.budget.create({
              data: {
                id: budget.id,
                teamId,
                tag: tag ?? '',
                span,
                amountMinor: BigInt(amount.minor),
                currency: amount.currency,
                updatedBy: by,
                updatedAt: at,
              },
            });
            await log(tx, { before: undefined, after: budget, by, at });
          });
          return 'saved';
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          return 'taken';
        }
      }),

    setAmount: (id, minor, by, at) =>
      withStoreError('changing a budget', () =>
        prisma.$transaction(async (tx) => {
          const before = await locked(tx, id);
          if (before === undefined) return 'gone';
          if (before.amount.minor === minor) return 'same';
          const after = { ...before, amount: { ...before.amount, minor } };
          await tx.budget.update({
            where: { id },
            data: { amountMinor: BigInt(minor), updatedBy: by, updatedAt: at },
          });
          await log(tx, { before, after, by, at });
          return 'saved';
        }),
      ),

    remove: (id, by, at) =>
      withStoreError('removing a budget', () =>
        prisma.$transaction(async (tx) => {
          const before = await locked(tx, id);
          if (before === undefined) return 'gone';
          await tx.budget.delete({ where: { id } });
          await log(tx, { before, after: undefined, by, at });
          return 'removed';
        }),
      ),

    async *changes(from, to) {
      const lines = changeLines('reading changed budgets', from, to, (where, page) =>
        prisma.budgetChange.findMany({ where: { teamId, ...where }, ...page }),
      );
      for await (const { before, after, by, at } of lines) {
        yield {
          before: loggedBudget.parse(before),
          after: loggedBudget.parse(after),
          by,
          at,
        };
      }
    },
  };
}
