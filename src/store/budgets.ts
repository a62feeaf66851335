import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { TeamEventOf } from '../ledger/events.ts';
import { groupBy, removeDuplicates } from '../lib/collections.ts';
import { BUDGET_SPANS, type Budget } from '../money/budget.ts';
import type { BudgetStore } from '../money/ports.ts';
import { mapTagsByName, toAffectedName } from '../policy/subject.ts';
import { createBatcher } from './batch.ts';
import { createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, isUniqueViolation, type Transaction, wrapStore } from './database.ts';
import { readBudgetStatuses } from './reservations.ts';

const storedBudgetSchema = z
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

type BudgetChange = Omit<TeamEventOf<'budget_changed'>, 'kind' | 'subject'> & { readonly id: string };

export function createBudgetStore({ prisma, run }: Database, teamId: string): BudgetStore {
  const logChange = (tx: Transaction, { id, ...change }: BudgetChange) =>
    writeEvents(tx, [{ kind: 'budget_changed', subject: { kind: 'budget', id }, ...change }], teamId);

  /** Changes run one at a time, so that the log has the value before each change. */
  const runExclusively = createExclusiveRunner(prisma, `budgets ${teamId}`);

  const findBudget = async (tx: Transaction, id: string): Promise<Budget | undefined> => {
    const row = await tx.budget.findUnique({ where: { id, teamId } });
    return row === null ? undefined : storedBudgetSchema.parse(row);
  };

  const readStatuses = createBatcher(
    async (requests: readonly { readonly day: string; readonly hosts: readonly string[] }[]) => {
      const entries = [...groupBy(requests, ({ day }) => day)].map(async ([day, dayRequests]) => {
        const hosts = removeDuplicates(dayRequests.flatMap((request) => request.hosts));
        return [day, await readBudgetStatuses(run, teamId, { day, hosts })] as const;
      });
      const statusesByDay = new Map(await Promise.all(entries));
      return requests.flatMap(({ day }) => statusesByDay.get(day) ?? []);
    },
  );
  const loadStatusesForNames: BudgetStore['loadStatusesForNames'] = async (names, day, excludedOrderId) => {
    const affectedNames = names.map((name) => toAffectedName(name, 'host'));
    const hosts = affectedNames.flatMap((affectedName) => affectedName.hosts);
    const { statuses, tags } =
      excludedOrderId === undefined
        ? await readStatuses({ day, hosts })
        : await readBudgetStatuses(run, teamId, { day, hosts, excludedOrderId });
    return { statuses, tags: mapTagsByName(affectedNames, tags) };
  };

  return wrapStore('budgets', {
    list: async () => {
      const rows = await prisma.budget.findMany({
        where: { teamId },
        orderBy: [{ tag: 'asc' }, { span: 'asc' }],
      });
      return rows.map((row) => storedBudgetSchema.parse(row));
    },

    listStatuses: async (day) => (await loadStatusesForNames([], day)).statuses,
    loadStatusesForNames,

    add: async ({ tag, span, amount }, by, at) => {
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
          await logChange(tx, { id: budget.id, after: budget, actor: by, at });
        });
        return 'saved';
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        return 'taken';
      }
    },

    setAmount: (id, minor, by, at) =>
      runExclusively(async (tx) => {
        const before = await findBudget(tx, id);
        if (before === undefined) return 'gone';
        if (before.amount.minor === minor) return 'same';
        const after = { ...before, amount: { ...before.amount, minor } };
        await tx.budget.update({
          where: { id },
          data: { amountMinor: BigInt(minor), updatedBy: by, updatedAt: at },
        });
        await logChange(tx, { id, before, after, actor: by, at });
        return 'saved';
      }),

    remove: (id, by, at) =>
      runExclusively(async (tx) => {
        const before = await findBudget(tx, id);
        if (before === undefined) return 'gone';
        await tx.budget.delete({ where: { id } });
        await logChange(tx, { id, before, actor: by, at });
        return 'removed';
      }),
  });
}
