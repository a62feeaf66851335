import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { loggedPrice } from '../events.ts';
import type { ListedPrice, PriceStore } from '../money/ports.ts';
import { isSamePrice, PRICED_TASKS, type Price, type PriceEdit, priceKey } from '../money/prices.ts';
import { exclusiveChanges, lockChanges } from './changes.ts';
import { optional } from './columns.ts';
import { type Database, named, Prisma, type Transaction, withStoreError } from './database.ts';
import { writeEvents } from './events.ts';
import type { PendingKind } from './pending-changes.ts';

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

const COLUMNS = Prisma.sql`id, zone, task, period, amount_minor::text AS minor, currency,
  to_char(valid_from, 'YYYY-MM-DD') AS "validFrom", source`;

function storable({ zone, task, period, amount, validFrom, source }: Price) {
  const { currency, minor } = amount;
  return { zone, task, period, amount: { currency, minor }, validFrom, source };
}

const selectList = (teamId: string) => Prisma.sql`
  SELECT ${COLUMNS} FROM prices WHERE team_id = ${teamId} ORDER BY zone, task, period, valid_from DESC`;

/** Of edits of a list one after the other, each finds what the one before has left. */
const lockOf = (teamId: string) => `prices ${teamId}`;

interface WhoEdits {
  readonly by: string;
  readonly confirmedBy?: string;
  readonly at: Date;
}

/** @returns false, and changes nothing, when the list is not as it was when the edits were made */
async function writeEdits(
  tx: Transaction,
  teamId: string,
  edits: readonly PriceEdit[],
  { by, confirmedBy, at }: WhoEdits,
): Promise<boolean> {
  const listed = new Map(
    listedPrices.parse(await tx.$queryRaw(selectList(teamId))).map((each) => [priceKey(each), each]),
  );
  const fits = ({ before, after }: PriceEdit) => {
    const now = listed.get(priceKey(before ?? after));
    if (before === undefined) return now === undefined;
    const isFree = priceKey(before) === priceKey(after) || !listed.has(priceKey(after));
    return now !== undefined && isSamePrice(now, before) && isFree;
  };
  if (!edits.every(fits)) return false;
  const edited = { updatedBy: by, updatedAt: at };
  await tx.price.createMany({
    data: edits
      .filter(({ before }) => before === undefined)
      .map(({ after }) => ({ id: randomUUID(), teamId, ...columnsOf(after), ...edited })),
  });
  for (const { before, after } of edits) {
    const id = before && listed.get(priceKey(before))?.id;
    if (id !== undefined) await tx.price.update({ where: { id }, data: { ...columnsOf(after), ...edited } });
  }
  await writeEvents(
    tx,
    edits.map(({ before, after }) => ({
      kind: 'price_changed',
      subject: { kind: 'price', id: after.zone },
      actor: by,
      at,
      before: before && storable(before),
      after: storable(after),
      confirmedBy,
    })),
    teamId,
  );
  return true;
}

function columnsOf({ zone, task, period, amount, validFrom, source }: Price) {
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

/** Edits of the price list that wait for another admin. @param teamId whose list */
export function pendingPrices(teamId: string): PendingKind<readonly PriceEdit[]> {
  return {
    kind: 'prices',
    schema: z.array(z.object({ before: optional(loggedPrice), after: loggedPrice })),
    stored: (edits) =>
      edits.map(({ before, after }) => ({
        before: before === undefined ? null : storable(before),
        after: storable(after),
      })),
    async apply(tx, { change, askedBy }, confirmedBy, at) {
      await lockChanges(tx, lockOf(teamId));
      return writeEdits(tx, teamId, change, { by: askedBy, confirmedBy, at });
    },
  };
}

/** The team's price list, on PostgreSQL. @param teamId whose list */
export function createPriceStore(
  { prisma, run }: Pick<Database, 'prisma' | 'run'>,
  teamId: string,
): PriceStore {
  const readList = async () => listedPrices.parse(await run(named('price list', selectList(teamId))));
  const readOf = async (zones: readonly string[]) => {
    const statement = Prisma.sql`
      SELECT ${COLUMNS} FROM prices WHERE team_id = ${teamId} AND zone = ANY(${[...new Set(zones)]})`;
    return listedPrices.parse(await run(named('prices of zones', statement)));
  };
  const exclusively = exclusiveChanges(prisma, lockOf(teamId));

  return {
    list: () => withStoreError('reading the price list', readList),

    listOf: (zones) => withStoreError('reading the prices of zones', () => readOf(zones)),

    save: (edits, by, at) => exclusively('saving prices', (tx) => writeEdits(tx, teamId, edits, { by, at })),
  };
}
