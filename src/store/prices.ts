import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ListedPrice, PriceChange, PriceStore } from '../money/ports.ts';
import { PRICED_TASKS, type Price, priceKey } from '../money/prices.ts';
import { batch, shareRead } from './batch.ts';
import { changeLines, exclusiveChanges } from './changes.ts';
import { type Database, isOneOf, named, Prisma, type Transaction, withStoreError } from './database.ts';

const listedPrice = z
  .object({
    id: z.string(),
    zone: z.string(),
    task: z.enum(PRICED_TASKS),
    period: z.number(),
    minor: z.string().transform(Number),
    currency: z.string(),
    validFrom: z.string(),
    source: z.string(),
  })
  .transform(({ minor, currency, ...rest }): ListedPrice => ({ ...rest, amount: { currency, minor } }));
const listedPrices = z.array(listedPrice);

/** A price in the audit log. */
const loggedPrice = z.object({
  zone: z.string(),
  task: z.enum(PRICED_TASKS),
  period: z.number(),
  amount: z.object({ currency: z.string(), minor: z.int() }),
  validFrom: z.string(),
  source: z.string(),
});

function loggable({ zone, task, period, amount, validFrom, source }: Price) {
  const { currency, minor } = amount;
  return { zone, task, period, amount: { currency, minor }, validFrom, source };
}

const isSame = (a: Price, b: Price) => JSON.stringify(loggable(a)) === JSON.stringify(loggable(b));

/** The team's price list, on PostgreSQL. @param teamId whose list */
export function createPriceStore(
  { prisma, run }: Pick<Database, 'prisma' | 'run'>,
  teamId: string,
): PriceStore {
  const columns = Prisma.sql`id, zone, task, period, amount_minor::text AS minor, currency,
    to_char(valid_from, 'YYYY-MM-DD') AS "validFrom", source`;
  const selectList = Prisma.sql`
    SELECT ${columns} FROM prices WHERE team_id = ${teamId} ORDER BY zone, task, period, valid_from DESC`;
  const readList = shareRead(async () => listedPrices.parse(await run(named('price list', selectList))));
  const readOf = batch(async (wanted: readonly (readonly string[])[]) => {
    const statement = Prisma.sql`
      SELECT ${columns} FROM prices WHERE team_id = ${teamId} AND ${isOneOf(Prisma.sql`zone`, [...new Set(wanted.flat())])}`;
    const found = listedPrices.parse(await run(named('prices of zones', statement)));
    return wanted.map((zones) => found.filter(({ zone }) => zones.includes(zone)));
  });
  const readWithin = async (tx: Transaction) => listedPrices.parse(await tx.$queryRaw(selectList));

  /** Runs changes of a list one after the other, so that the log has the right former price. */
  const exclusively = exclusiveChanges(prisma, `prices ${teamId}`);

  const columnsOf = ({ zone, task, period, amount, validFrom, source }: Price) => ({
    zone,
    task,
    period,
    amountMinor: BigInt(amount.minor),
    currency: amount.currency,
    validFrom: new Date(`${validFrom}T00:00:00Z`),
    source,
  });

  const log = (tx: Transaction, changes: readonly PriceChange[]) =>
    tx.priceChange.createMany({
      data: changes.map(({ before, after, by, at }) => ({
        teamId,
        before: before === undefined ? Prisma.DbNull : loggable(before),
        after: loggable(after),
        by,
        at,
      })),
    });

  return {
    list: () => withStoreError('reading the price list', readList),

    listOf: (zones) => withStoreError('reading the prices of zones', () => readOf(zones)),

    save: (prices, by, at) =>
      exclusively('saving prices', async (tx) => {
        const listed = new Map((await readWithin(tx)).map((price) => [priceKey(price), price]));
        const changes = prices.flatMap((after): PriceChange[] => {
          const before = listed.get(priceKey(after));
          return before !== undefined && isSame(before, after) ? [] : [{ before, after, by, at }];
        });
        const edited = { updatedBy: by, updatedAt: at };
        const added = changes.filter(({ before }) => before === undefined);
        await tx.price.createMany({
          data: added.map(({ after }) => ({ id: randomUUID(), teamId, ...columnsOf(after), ...edited })),
        });
        for (const { before, after } of changes) {
          const id = before && listed.get(priceKey(before))?.id;
          if (id !== undefined)
            await tx.price.update({ where: { id }, data: { ...columnsOf(after), ...edited } });
        }
        await log(tx, changes);
        return { added: added.length, changed: changes.length - added.length };
      }),

    replace: (id, after, by, at) =>
      exclusively('changing a price', async (tx) => {
        const listed = await readWithin(tx);
        const before = listed.find((price) => price.id === id);
        if (before === undefined) return 'gone';
        if (isSame(before, after)) return 'same';
        if (listed.some((price) => price.id !== id && priceKey(price) === priceKey(after))) return 'taken';
        await tx.price.update({
          where: { id },
          data: { ...columnsOf(after), updatedBy: by, updatedAt: at },
        });
        await log(tx, [{ before, after, by, at }]);
        return 'saved';
      }),

    async *changes(from, to) {
      const lines = changeLines('reading changed prices', from, to, (where, page) =>
        prisma.priceChange.findMany({ where: { teamId, ...where }, ...page }),
      );
      for await (const { before, after, by, at } of lines) {
        yield {
          before: before === null ? undefined : loggedPrice.parse(before),
          after: loggedPrice.parse(after),
          by,
          at,
        };
      }
    },
  };
}
