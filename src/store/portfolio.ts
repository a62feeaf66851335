import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { TeamEventOf } from '../events.ts';
import { type ImportRow, importRow } from '../names/details-import.ts';
import { changedDetails, type DetailsChange, isSameDetails, type NameDetails } from '../names/portfolio.ts';
import type {
  ChangedName,
  ChangedNames,
  Decides,
  FactsChange,
  ImportPlan,
  PortfolioStore,
} from '../names/ports.ts';
import type { PendingChanges } from '../policy/pending-changes.ts';
import { optionalText } from './columns.ts';
import { type Database, Prisma, type RunStatement, storeOf } from './database.ts';
import { insertDecision, removeDomain } from './domain-statements.ts';
import { insertEvents } from './events.ts';
import { createPendingChanges } from './pending-changes.ts';
import { foundRows, namesPage, OWNERS, ownerRows, zoneRows, zonesOfNames } from './portfolio-statements.ts';

const detailsRows = z.array(
  z
    .object({
      name: z.string(),
      owner: optionalText,
      tags: z.array(z.string()).nullable(),
      channel: optionalText,
      note: optionalText,
    })
    .transform(({ name, owner, tags, channel, note }): readonly [string, NameDetails] => [
      name,
      { owner, tags: tags ?? [], channel, note },
    ]),
);

const DETAILS = Prisma.raw('name, owner_id AS owner, tags, channel_id AS channel, note');

/** What people have set for watched names, in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createPortfolioStore(database: Database, teamId: string): PortfolioStore {
  const { run } = database;

  const findMany = async (names: readonly string[]) => {
    const found = await run(Prisma.sql`SELECT ${DETAILS} FROM domains WHERE name = ANY(${[...names]})`);
    return new Map(detailsRows.parse(found));
  };

  return storeOf('portfolio', {
    findMany,
    find: async (name) => (await findMany([name])).get(name),

    async tagsOf(names) {
      const found = await findMany(names);
      return new Map(names.map((name) => [name, found.get(name)?.tags ?? []]));
    },

    change: (changes, by, at, decides) =>
      database.transaction(async (tx) => {
        const found = await lockDetails(tx, [...changes.keys()]);
        return writeUndecided(tx, teamId, changedNames(found, changes), { actor: by, at }, decides);
      }),

    planImport: (rows, by, at) => database.transaction(async (tx) => keepPlan(tx, teamId, rows, by, at)),

    applyImport: (hash, by, at, decides) =>
      database.transaction(async (tx) => {
        const [kept] = keptRows.parse(
          await tx(
            Prisma.sql`DELETE FROM names_imports WHERE team_id = ${teamId} AND hash = ${hash} RETURNING rows`,
          ),
        );
        if (kept === undefined) return 'gone';
        const plan = await planOf(tx, kept.rows);
        if (plan.hash !== hash) return { stale: await keepPlan(tx, teamId, kept.rows, by, at) };
        return writeUndecided(tx, teamId, plan.changed, { actor: by, at }, decides);
      }),

    page: async (query) => foundRows.parse(await run(namesPage(query))),

    zones: async (query) => zoneRows.parse(await run(zonesOfNames(query))),

    owners: async () => ownerRows.parse(await run(OWNERS)).map(({ owner }) => owner),
  });
}

const details = z
  .object({ owner: z.string(), tags: z.array(z.string()), channel: z.string(), note: z.string() })
  .partial()
  .transform(({ owner, tags = [], channel, note }): NameDetails => ({ owner, tags, channel, note }));
const factsChange: z.ZodType<FactsChange> = z.object({
  names: z.array(
    z
      .object({ name: z.string(), before: details, after: details.nullable() })
      .transform(({ after, ...change }) => ({ ...change, after: after ?? undefined })),
  ),
});

/** Changes of names that wait for a second person, in PostgreSQL. @throws {StoreError} when the database fails */
export function createPendingFacts(database: Database, teamId: string): PendingChanges<FactsChange> {
  return createPendingChanges(database, teamId, {
    kind: 'facts',
    schema: factsChange,
    stored: ({ names }) => ({
      names: names.map(({ name, before, after }) => ({
        name,
        before: { ...before },
        after: after === undefined ? null : { ...after },
      })),
    }),
    async apply(prisma, { change: { names }, askedBy }, confirmedBy, at) {
      const tx: RunStatement = ({ text, values }) => prisma.$queryRawUnsafe(text, ...values);
      const changer = { actor: askedBy, confirmedBy, at };
      const found = await lockDetails(
        tx,
        names.map(({ name }) => name),
      );
      const stands = ({ name, before }: FactsChange['names'][number]) => {
        const now = found.get(name);
        return now !== undefined && isSameDetails(now, before);
      };
      if (!names.every(stands)) return false;
      const changed = names.flatMap(({ after, ...change }) =>
        after === undefined ? [] : { ...change, after },
      );
      await writeDetails(tx, teamId, changed, changer);
      for (const { name } of names.filter(({ after }) => after === undefined)) {
        await tx(removeDomain(name));
        await tx(insertDecision(name, { kind: 'name_unwatched', ...changer }));
      }
      return true;
    },
  });
}

/** Plans that nobody applied are forgotten after this. */
const PLAN_MS = 24 * 3_600_000;
const keptRows = z.array(z.object({ rows: z.array(importRow) }));

/** What rows would change of the names as they are; the names are locked. */
async function planOf(tx: RunStatement, rows: readonly ImportRow[]): Promise<ImportPlan> {
  const changes = new Map(rows.map(({ name, change }) => [name, change]));
  const found = await lockDetails(tx, [...changes.keys()]);
  const changed = changedNames(found, changes);
  const content = changed.map(({ name, before, after }) => [name, loggable(before), loggable(after)]);
  return {
    hash: createHash('sha256').update(JSON.stringify(content)).digest('hex'),
    changed,
    same: found.size - changed.length,
    unwatched: [...changes.keys()].filter((name) => !found.has(name)),
  };
}

async function keepPlan(
  tx: RunStatement,
  teamId: string,
  rows: readonly ImportRow[],
  by: string,
  at: Date,
): Promise<ImportPlan> {
  const plan = await planOf(tx, rows);
  await tx(
    Prisma.sql`DELETE FROM names_imports WHERE team_id = ${teamId} AND created_at < ${new Date(at.getTime() - PLAN_MS)}`,
  );
  if (plan.changed.length > 0) {
    await tx(Prisma.sql`
      INSERT INTO names_imports (team_id, hash, rows, by, created_at)
      VALUES (${teamId}, ${plan.hash}, ${JSON.stringify(rows)}::jsonb, ${by}, ${at}::timestamptz)
      ON CONFLICT (team_id, hash) DO UPDATE SET rows = excluded.rows, by = excluded.by, created_at = excluded.created_at`);
  }
  return plan;
}

/** Names that a set of changes changes; the order is that of the names. */
function changedNames(
  found: ReadonlyMap<string, NameDetails>,
  changes: ReadonlyMap<string, DetailsChange>,
): readonly ChangedName[] {
  return [...found].flatMap(([name, before]) => {
    const after = changedDetails(before, changes.get(name) ?? {});
    return isSameDetails(before, after) ? [] : [{ name, before, after }];
  });
}

/** Reads names so that nobody else changes them meanwhile. Always in the order of names, so that no two wait for each other. */
async function lockDetails(
  tx: RunStatement,
  names: readonly string[],
): Promise<ReadonlyMap<string, NameDetails>> {
  const found = await tx(
    Prisma.sql`SELECT ${DETAILS} FROM domains WHERE name = ANY (${[...names]}::text[]) ORDER BY name FOR UPDATE`,
  );
  return new Map(detailsRows.parse(found));
}

/** Who changes names, and who confirmed it where it decides about orders. */
type Changer = Pick<TeamEventOf<'name_changed'>, 'actor' | 'confirmedBy' | 'at'>;

/** Writes those names whose change does not decide. */
async function writeUndecided(
  tx: RunStatement,
  teamId: string,
  changes: readonly ChangedName[],
  changer: Changer,
  decides: Decides,
): Promise<ChangedNames> {
  const deciding = changes.filter(({ before, after }) => decides(before, after));
  const changed = changes.filter((change) => !deciding.includes(change));
  await writeDetails(tx, teamId, changed, changer);
  return { changed: changed.map(({ name }) => name), deciding };
}

/** Writes changed names, each with its line in the audit log. */
async function writeDetails(
  tx: RunStatement,
  teamId: string,
  changed: readonly ChangedName[],
  changer: Changer,
): Promise<void> {
  if (changed.length === 0) return;
  // A tag has no blank in it: an array of arrays would have to be of one length.
  await tx(Prisma.sql`
    UPDATE domains d SET owner_id = NULLIF(given.owner, ''), channel_id = NULLIF(given.channel, ''),
      note = NULLIF(given.note, ''), tags = string_to_array(given.tags, ' ')
    FROM unnest(
      ${changed.map(({ name }) => name)}::text[], ${changed.map(({ after }) => after.owner ?? '')}::text[],
      ${changed.map(({ after }) => after.channel ?? '')}::text[], ${changed.map(({ after }) => after.note ?? '')}::text[],
      ${changed.map(({ after }) => after.tags.join(' '))}::text[]) AS given (name, owner, channel, note, tags)
    WHERE d.name = given.name`);
  const events = changed.map(({ name, before, after }) => ({
    kind: 'name_changed' as const,
    subject: { kind: 'name' as const, id: name },
    before: loggable(before),
    after: loggable(after),
    ...changer,
  }));
  await tx(insertEvents(events, { teamId }));
}

function loggable({ owner, tags, channel, note }: NameDetails): Readonly<Record<string, string>> {
  return {
    ...(owner === undefined ? {} : { owner }),
    ...(tags.length === 0 ? {} : { tags: tags.join(' ') }),
    ...(channel === undefined ? {} : { channel }),
    ...(note === undefined ? {} : { note }),
  };
}
