import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { slicesOf } from '../collections.ts';
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
  Progress,
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

    planImport: (rows, by, at, progress) =>
      database.transaction(async (tx) => keepPlan(tx, teamId, rows, by, at, progress)),

    applyImport: (hash, by, at, decides, progress) =>
      database.transaction(async (tx) => {
        const rows = await takeRows(tx, teamId, hash);
        if (rows === undefined) return 'gone';
        const plan = await planOf(tx, rows, () => undefined);
        if (plan.hash !== hash) return { stale: await keepPlan(tx, teamId, rows, by, at, progress) };
        return writeUndecided(tx, teamId, plan.changed, { actor: by, at }, decides, progress);
      }),

    page: async (query) => foundRows.parse(await run(namesPage(query))),

    zones: async (query) => zoneRows.parse(await run(zonesOfNames(query))),

    owners: async () => ownerRows.parse(await run(OWNERS)).map(({ owner }) => owner),
  });
}

const SLACK_IDS = /[UW][A-Z0-9]{2,}/g;
const zip = promisify(gzip);
const unzip = promisify(gunzip);

type ChangedFact = FactsChange['names'][number];

const details = z
  .object({ owner: z.string(), tags: z.array(z.string()), channel: z.string(), note: z.string() })
  .partial()
  .transform(({ owner, tags = [], channel, note }): NameDetails => ({ owner, tags, channel, note }));
const changedFacts = z.array(
  z
    .object({ name: z.string(), before: details, after: details.nullable() })
    .transform(({ after, ...change }) => ({ ...change, after: after ?? undefined })),
);
/** Zipped lines of JSON, one for each name: over a document of 20,000 names, or so long a text, Prisma holds everybody up. */
const factsChange: z.ZodType<FactsChange> = z.object({
  names: z.base64().transform(async (zipped) => {
    const text = (await unzip(Buffer.from(zipped, 'base64'))).toString();
    const names: ChangedFact[] = [];
    for await (const slice of slicesOf(text.split('\n')))
      names.push(...changedFacts.parse(slice.map((line): unknown => JSON.parse(line))));
    return names;
  }),
});

/** Changes of names that wait for a second person, in PostgreSQL. @throws {StoreError} when the database fails */
export function createPendingFacts(database: Database, teamId: string): PendingChanges<FactsChange> {
  return createPendingChanges(database, teamId, {
    kind: 'facts',
    schema: factsChange,
    async stored({ names }) {
      const lines: string[] = [];
      for await (const slice of slicesOf(names))
        lines.push(...slice.map(({ after = null, ...change }) => JSON.stringify({ ...change, after })));
      const people = new Set<string>();
      for await (const slice of slicesOf(lines))
        for (const line of slice) for (const id of line.match(SLACK_IDS) ?? []) people.add(id);
      // Whoever forgets a person finds their id beside what is zipped.
      return { names: (await zip(lines.join('\n'))).toString('base64'), people: [...people] };
    },
    async apply(prisma, { change: { names }, askedBy }, confirmedBy, at) {
      const tx: RunStatement = ({ text, values }) => prisma.$queryRawUnsafe(text, ...values);
      const changer = { actor: askedBy, confirmedBy, at };
      await lockNames(
        tx,
        names.map(({ name }) => name),
      );
      for await (const slice of slicesOf(names)) {
        const found = await detailsOf(
          tx,
          slice.map(({ name }) => name),
        );
        const stands = ({ name, before }: ChangedFact) => {
          const now = found.get(name);
          return now !== undefined && isSameDetails(now, before);
        };
        if (!slice.every(stands)) return false;
      }
      for await (const slice of slicesOf(names)) {
        const changed = slice.flatMap(({ after, ...change }) =>
          after === undefined ? [] : { ...change, after },
        );
        await writeDetails(tx, teamId, changed, changer);
        for (const { name } of slice.filter(({ after }) => after === undefined)) {
          await tx(removeDomain(name));
          await tx(insertDecision(name, { kind: 'name_unwatched', ...changer }));
        }
      }
      return true;
    },
  });
}

/** Plans that nobody applied are forgotten after this. */
const PLAN_MS = 24 * 3_600_000;
const keptRows = z.array(z.object({ row: importRow }));
/** Rows of a plan that are read at a time. */
const ROWS_READ = 1_000;

/** Takes the rows of a plan, so that they are applied once. @returns undefined when they are not kept any more */
async function takeRows(
  tx: RunStatement,
  teamId: string,
  hash: string,
): Promise<readonly ImportRow[] | undefined> {
  const of = Prisma.sql`FROM names_imports WHERE team_id = ${teamId} AND hash = ${hash}`;
  const [found] = z
    .array(z.object({ count: z.number() }))
    .parse(await tx(Prisma.sql`SELECT jsonb_array_length(rows) AS count ${of} FOR UPDATE`));
  if (found === undefined) return undefined;
  const rows: ImportRow[] = [];
  for (let start = 0; start < found.count; start += ROWS_READ) {
    const some = await tx(Prisma.sql`
      SELECT value AS row FROM (SELECT rows ${of}) kept, jsonb_array_elements(kept.rows) WITH ORDINALITY AS each (value, n)
      WHERE n > ${start}::int AND n <= ${start + ROWS_READ}::int ORDER BY n`);
    rows.push(...keptRows.parse(some).map(({ row }) => row));
  }
  await tx(Prisma.sql`DELETE ${of}`);
  return rows;
}

/** What rows would change of the names as they are; the names are locked. */
async function planOf(tx: RunStatement, rows: readonly ImportRow[], progress: Progress): Promise<ImportPlan> {
  const changes = new Map(rows.map(({ name, change }) => [name, change]));
  const names = await lockNames(tx, [...changes.keys()]);
  const hash = createHash('sha256');
  const changed: ChangedName[] = [];
  let done = 0;
  for await (const slice of slicesOf(names)) {
    const some = changedNames(await detailsOf(tx, slice), changes);
    for (const { name, before, after } of some)
      hash.update(JSON.stringify([name, loggable(before), loggable(after)]));
    changed.push(...some);
    done += slice.length;
    progress(done, names.length);
  }
  const found = new Set(names);
  return {
    hash: hash.digest('hex'),
    changed,
    same: names.length - changed.length,
    unwatched: [...changes.keys()].filter((name) => !found.has(name)),
  };
}

async function keepPlan(
  tx: RunStatement,
  teamId: string,
  rows: readonly ImportRow[],
  by: string,
  at: Date,
  progress: Progress,
): Promise<ImportPlan> {
  const plan = await planOf(tx, rows, progress);
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

const nameRows = z.array(z.object({ name: z.string() }));

/**
 * Locks those names that are watched, so that nobody else changes them meanwhile. Always in the order of names, so that no two wait
 * for each other.
 * @returns them in this order
 */
async function lockNames(tx: RunStatement, names: readonly string[]): Promise<readonly string[]> {
  const found = await tx(
    Prisma.sql`SELECT name FROM domains WHERE name = ANY (${[...names]}::text[]) ORDER BY name FOR UPDATE`,
  );
  return nameRows.parse(found).map(({ name }) => name);
}

async function detailsOf(
  tx: RunStatement,
  names: readonly string[],
): Promise<ReadonlyMap<string, NameDetails>> {
  const found = await tx(
    Prisma.sql`SELECT ${DETAILS} FROM domains WHERE name = ANY (${[...names]}::text[]) ORDER BY name`,
  );
  return new Map(detailsRows.parse(found));
}

async function lockDetails(
  tx: RunStatement,
  names: readonly string[],
): Promise<ReadonlyMap<string, NameDetails>> {
  return detailsOf(tx, await lockNames(tx, names));
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
  progress: Progress = () => undefined,
): Promise<ChangedNames> {
  const deciding: ChangedName[] = [];
  const changed: string[] = [];
  let done = 0;
  for await (const slice of slicesOf(changes)) {
    const waiting = new Set(slice.filter(({ before, after }) => decides(before, after)));
    const undecided = slice.filter((change) => !waiting.has(change));
    await writeDetails(tx, teamId, undecided, changer);
    deciding.push(...waiting);
    changed.push(...undecided.map(({ name }) => name));
    done += slice.length;
    progress(done, changes.length);
  }
  return { changed, deciding };
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
