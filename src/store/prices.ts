import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { loggedPriceSchema } from '../money/money-events.ts';
import type { ListedPrice, PriceStore } from '../money/ports.ts';
import { formatPriceKey, isSamePrice, PRICED_TASKS, type Price, type PriceEdit } from '../money/prices.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { createBatcher, createSharedRead } from './batch.ts';
import { acquireAdvisoryLock, type ChangeAuthor, createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

const listedPriceSchema = z
  .object({
    id: z.string(),
    zone: z.string(),
    task: z.enum(PRICED_TASKS),
    period: z.number(),
    amountMinor: z.bigint().transform(Number),
    currency: z.string(),
    validFrom: z.date().transform(getUtcDay),
    source: z.string(),
  })
  .transform(
    ({ amountMinor: minor, currency, ...rest }): ListedPrice => ({ ...rest, amount: { currency, minor } }),
  );
const listedPricesSchema = z.array(listedPriceSchema);

/** Returns prices sorted by zone, task and period, newest first. */
async function readPrices(
  { price }: Transaction,
  teamId: string,
  zones?: readonly string[],
): Promise<readonly ListedPrice[]> {
  const rows = await price.findMany({
    where: { teamId, ...(zones === undefined ? {} : { zone: { in: [...new Set(zones)] } }) },
    orderBy: [{ zone: 'asc' }, { task: 'asc' }, { period: 'asc' }, { validFrom: 'desc' }],
  });
  return listedPricesSchema.parse(rows);
}

async function readPricesByKey(tx: Transaction, teamId: string): Promise<ReadonlyMap<string, ListedPrice>> {
  return new Map((await readPrices(tx, teamId)).map((price) => [formatPriceKey(price), price]));
}

function toLoggedPrice({ zone, task, period, amount, validFrom, source }: Price) {
  const { currency, minor } = amount;
  return { zone, task, period, amount: { currency, minor }, validFrom, source };
}

/** Saves run one at a time, so that edits are compared with the latest prices. */
const formatLockName = (teamId: string) => `prices ${teamId}`;

/** @returns false, without writing anything, if the prices have changed since the edits were made */
async function writePriceEdits(
  tx: Transaction,
  teamId: string,
  edits: readonly PriceEdit[],
  { by, confirmedBy, at }: ChangeAuthor,
): Promise<boolean> {
  const prices = await readPricesByKey(tx, teamId);
  const isApplicable = ({ before, after }: PriceEdit) => {
    const current = prices.get(formatPriceKey(before ?? after));
    if (before === undefined) return current === undefined;
    const isKeyFree = formatPriceKey(before) === formatPriceKey(after) || !prices.has(formatPriceKey(after));
    return current !== undefined && isSamePrice(current, before) && isKeyFree;
  };
  if (!edits.every(isApplicable)) return false;
  const authorColumns = { updatedBy: by, updatedAt: at };
  await tx.price.createMany({
    data: edits
      .filter(({ before }) => before === undefined)
      .map(({ after }) => ({ id: randomUUID(), teamId, ...toColumns(after), ...authorColumns })),
  });
  for (const { before, after } of edits) {
    const id = before && prices.get(formatPriceKey(before))?.id;
    if (id !== undefined)
      await tx.price.update({ where: { id }, data: { ...toColumns(after), ...authorColumns } });
  }
  await writeEvents(
    tx,
    edits.map(({ before, after }) => ({
      kind: 'price_changed',
      subject: { kind: 'price', id: after.zone },
      actor: by,
      at,
      before: before && toLoggedPrice(before),
      after: toLoggedPrice(after),
      confirmedBy,
    })),
    teamId,
  );
  return true;
}

function toColumns({ zone, task, period, amount, validFrom, source }: Price) {
  return {
    zone,
    task,
    period,
    amountMinor: BigInt(amount.minor),
    currency: amount.currency,
    validFrom: new Date(`${validFrom}T00:00:00Z`),
    source,
  };
}

export const proposedPricesSchema = z.array(
  z
    .object({ before: loggedPriceSchema.optional(), after: loggedPriceSchema })
    .transform(({ before, after }): PriceEdit => ({ before, after })),
);

/** Applies a proposal if the prices haven't changed since the proposal was made. */
export async function applyPrices(
  tx: Transaction,
  teamId: string,
  edits: readonly PriceEdit[],
  author: ChangeAuthor,
): Promise<'applied' | 'changed'> {
  await acquireAdvisoryLock(tx, formatLockName(teamId));
  return (await writePriceEdits(tx, teamId, edits, author)) ? 'applied' : 'changed';
}

/** @returns the edits that still have an effect, based on the current prices; undefined if none do */
export async function rebasePrices(
  tx: Transaction,
  teamId: string,
  edits: readonly PriceEdit[],
): Promise<readonly PriceEdit[] | undefined> {
  const prices = await readPricesByKey(tx, teamId);
  const remainingEdits = edits.flatMap(({ before, after }): PriceEdit[] => {
    const current = prices.get(formatPriceKey(after)) ?? (before && prices.get(formatPriceKey(before)));
    return current !== undefined && isSamePrice(current, after) ? [] : [{ before: current, after }];
  });
  return remainingEdits.length === 0 ? undefined : remainingEdits;
}

export function createPriceStore({ prisma }: Database, teamId: string): PriceStore {
  const runExclusively = createExclusiveRunner(prisma, formatLockName(teamId));

  return wrapStore('prices', {
    list: createSharedRead(() => readPrices(prisma, teamId)),

    listForZones: createBatcher(async (zoneLists: readonly (readonly string[])[]) => {
      const prices = await readPrices(prisma, teamId, zoneLists.flat());
      return zoneLists.map((zones) => prices.filter(({ zone }) => zones.includes(zone)));
    }),

    save: (edits, by, at) => runExclusively((tx) => writePriceEdits(tx, teamId, edits, { by, at })),
  });
}
