import { z } from 'zod';
import { dropMissing, type Maybe } from '../lib/collections.ts';
import { DAY_MS } from '../lib/duration.ts';
import { isNone, matchesDepartedOwners, type NameSort } from '../names/filter.ts';
import type { NameQuery } from '../names/ports.ts';
import { FINDING_CODES } from '../names/posture.ts';
import { storedPostureSchema } from '../names/stored.ts';
import { defineRow, optional, optionalText } from './columns.ts';
import { Prisma } from './database.ts';

/*
 * Portfolio queries that Prisma can't express: combined filters, and keyset pagination, so that the last of a
 * thousand pages is as fast as the first.
 */

const optionalTimestamp = optional(z.date());

/** Columns of `domains` (alias `d`). */
export const detailsRow = defineRow(
  z.object({
    name: z.string(),
    owner: optionalText,
    tags: z
      .array(z.string())
      .nullable()
      .transform((value) => value ?? []),
    channel: optionalText,
    note: optionalText,
  }),
  'd.',
  { owner: Prisma.sql`d.owner_id`, channel: Prisma.sql`d.channel_id` },
);

/** Rows of {@link selectPage}. */
export const pageRow = defineRow(
  detailsRow.schema.extend({
    expiresAt: optionalTimestamp,
    expirySource: optionalText,
    registrar: optionalText,
    deletedAt: optionalTimestamp,
    ownerLeftAt: optionalTimestamp,
  }),
  'd.',
  { owner: Prisma.sql`d.owner_id`, channel: Prisma.sql`d.channel_id` },
);

/** Rows of {@link selectZoneCounts}. */
export const zoneRowsSchema = z.array(
  z.object({ zone: z.string(), count: z.number(), deletedCount: z.number() }),
);

type FilterQuery = Pick<NameQuery, 'filter' | 'owners' | 'needsOwner' | 'names' | 'now'>;

function joinOr(conditions: readonly Maybe<Prisma.Sql>[]): Prisma.Sql[] {
  const presentConditions = dropMissing(conditions);
  return presentConditions.length === 0 ? [] : [Prisma.sql`(${Prisma.join(presentConditions, ' OR ')})`];
}

function escapeLike(value: string): string {
  return value.replace(/[\\%_]/g, (character) => `\\${character}`);
}

function buildConditions(query: FilterQuery): Prisma.Sql[] {
  const { filter, names, now } = query;
  const daysFromNow = (days: number) => new Date(now.getTime() + days * DAY_MS);
  const tags = filter.tags.filter((tag) => !isNone(tag));
  const owners = query.owners.filter((owner) => !isNone(owner) && !matchesDepartedOwners(owner));
  return dropMissing([
    ...joinOr([
      tags.length > 0 && Prisma.sql`d.tags && ${tags}::text[]`,
      filter.tags.some(isNone) && Prisma.sql`cardinality(d.tags) = 0`,
    ]),
    ...joinOr([
      owners.length > 0 && Prisma.sql`d.owner_id = ANY (${owners}::text[])`,
      // A name that will lapse needs no owner.
      query.owners.some(isNone) && Prisma.sql`d.owner_id IS NULL AND d.lapse_confirmed_at IS NULL`,
      query.owners.some(matchesDepartedOwners) &&
        Prisma.sql`d.owner_left_at IS NOT NULL AND d.lapse_confirmed_at IS NULL`,
    ]),
    query.needsOwner &&
      Prisma.sql`(d.owner_id IS NULL OR d.owner_left_at IS NOT NULL) AND d.lapse_confirmed_at IS NULL`,
    ...joinOr(filter.zones.map((zone) => Prisma.sql`d.name LIKE ${`%.${escapeLike(zone)}`}`)),
    ...joinOr(filter.registrars.map((part) => Prisma.sql`d.registrar ILIKE ${`%${escapeLike(part)}%`}`)),
    ...joinOr(
      filter.texts.map(
        (part) =>
          Prisma.sql`(d.name LIKE ${`%${escapeLike(part)}%`} OR d.note ILIKE ${`%${escapeLike(part)}%`})`,
      ),
    ),
    filter.expiresWithinDays !== undefined &&
      Prisma.sql`d.expires_at < ${daysFromNow(filter.expiresWithinDays)}::timestamptz`,
    filter.expiresAfterDays !== undefined &&
      Prisma.sql`d.expires_at > ${daysFromNow(filter.expiresAfterDays)}::timestamptz`,
    // Reduces the number of names that must be assessed.
    filter.findingWords.includes('undated') && Prisma.sql`d.expires_at IS NULL`,
    filter.isUnused && Prisma.sql`d.in_use = false`,
    names !== undefined && Prisma.sql`d.name = ANY (${[...names]}::text[])`,
  ]);
}

function joinWhere(conditions: readonly Prisma.Sql[]): Prisma.Sql {
  return conditions.length === 0 ? Prisma.empty : Prisma.sql`WHERE ${Prisma.join([...conditions], ' AND ')}`;
}

/**
 * Selects a page of a filter's results, in display order. The names are found first: if an index covers the
 * filter, only the page's rows are read from the table.
 */
export function selectPage(query: NameQuery): Prisma.Sql {
  const conditions = buildConditions(query);
  const isDescending = query.filter.sort.startsWith('-') !== query.isBackward;
  const foundClause = isSortedByName(query.filter.sort)
    ? selectByName(conditions, query, isDescending)
    : selectByExpiry(conditions, query, isDescending);
  return Prisma.sql`
    WITH ${foundClause}
    SELECT ${pageRow.columns} FROM found JOIN domains d USING (name)
    ORDER BY found.part, found.rank, d.name ${formatDirection(isDescending)} LIMIT ${query.limit}`;
}

const isSortedByName = (sort: NameSort) => sort === 'name' || sort === '-name';
const formatDirection = (isDescending: boolean) => Prisma.raw(isDescending ? 'DESC' : 'ASC');
const formatComparison = (isDescending: boolean) => Prisma.raw(isDescending ? '<' : '>');

/**
 * If no index covers the filter, the matching names are found first and sorted afterwards, which takes one
 * scan of the table. Otherwise, PostgreSQL might scan the sort index and fetch names one by one until enough
 * of them match.
 */
function selectMatchingNames({ filter }: NameQuery, conditions: readonly Prisma.Sql[]): Prisma.Sql {
  return filter.texts.length + filter.registrars.length > 0
    ? Prisma.sql`(SELECT d.name, d.expires_at FROM domains d ${joinWhere(conditions)} OFFSET 0) d`
    : Prisma.sql`domains d ${joinWhere(conditions)}`;
}

function selectByName(
  conditions: readonly Prisma.Sql[],
  query: NameQuery,
  isDescending: boolean,
): Prisma.Sql {
  const { cursor, limit } = query;
  const cursorConditions =
    cursor === undefined ? [] : [Prisma.sql`d.name ${formatComparison(isDescending)} ${cursor.name}`];
  return Prisma.sql`found AS (
    SELECT 1 AS part, 0::float8 AS rank, d.name FROM ${selectMatchingNames(query, [...conditions, ...cursorConditions])}
    ORDER BY d.name ${formatDirection(isDescending)} LIMIT ${limit})`;
}

/**
 * Selects names with a date first, then those without one, which is the order of the index. The first page
 * needs one index scan. Other pages may need two, but the second rarely runs.
 */
function selectByExpiry(
  conditions: readonly Prisma.Sql[],
  query: NameQuery,
  isDescending: boolean,
): Prisma.Sql {
  const { cursor, limit, isBackward } = query;
  const rank = Prisma.raw(`${isDescending ? '-' : ''}extract(epoch FROM d.expires_at)::float8`);
  const selectDated = (part: number, extraConditions: readonly Prisma.Sql[]) => Prisma.sql`
    SELECT ${part}::int AS part, ${rank} AS rank, d.name
    FROM ${selectMatchingNames(query, [...conditions, Prisma.sql`d.expires_at IS NOT NULL`, ...extraConditions])}
    ORDER BY d.expires_at ${formatDirection(isDescending)}, d.name ${formatDirection(isDescending)} LIMIT ${limit}`;
  const selectUndated = (part: number, extraConditions: readonly Prisma.Sql[]) => Prisma.sql`
    SELECT ${part}::int AS part, 0::float8 AS rank, d.name
    FROM ${selectMatchingNames(query, [...conditions, Prisma.sql`d.expires_at IS NULL`, ...extraConditions])}
    ORDER BY d.name ${formatDirection(isDescending)} LIMIT ${limit}`;
  // PostgreSQL evaluates this condition once, and skips the second scan if the first has filled the page.
  const hasRoom = Prisma.sql`(SELECT count(*) FROM first_part) < ${limit}::int`;
  const joinParts = (first: Prisma.Sql, second: Prisma.Sql) => Prisma.sql`
    first_part AS MATERIALIZED (${first}),
    found AS (SELECT * FROM first_part UNION ALL (${second}))`;

  if (cursor === undefined && !isBackward && !isDescending)
    return Prisma.sql`found AS (
      SELECT CASE WHEN d.expires_at IS NULL THEN 2 ELSE 1 END AS part, COALESCE(${rank}, 0) AS rank, d.name
      FROM ${selectMatchingNames(query, conditions)} ORDER BY d.expires_at, d.name LIMIT ${limit})`;
  if (cursor === undefined)
    return isBackward
      ? joinParts(selectUndated(1, []), selectDated(2, [hasRoom]))
      : joinParts(selectDated(1, []), selectUndated(2, [hasRoom]));
  if (cursor.expiresAt === undefined) {
    const remainingNames = selectUndated(1, [
      Prisma.sql`d.name ${formatComparison(isDescending)} ${cursor.name}`,
    ]);
    return isBackward
      ? joinParts(remainingNames, selectDated(2, [hasRoom]))
      : Prisma.sql`found AS (${remainingNames})`;
  }
  const remainingNames = selectDated(1, [
    Prisma.sql`(d.expires_at, d.name) ${formatComparison(isDescending)} (${cursor.expiresAt}::timestamptz, ${cursor.name})`,
  ]);
  return isBackward
    ? Prisma.sql`found AS (${remainingNames})`
    : joinParts(remainingNames, selectUndated(2, [hasRoom]));
}

/**
 * Counts the names that match a filter in each zone, and how many of them are deleted. The few deleted names
 * are counted separately using their index, so that all names can be counted by an index-only scan.
 */
export function selectZoneCounts(query: NameQuery): Prisma.Sql {
  const conditions = buildConditions(query);
  // Without `OFFSET 0`, PostgreSQL would use the filter's index, and read every name that matches the filter.
  const deletedDomains = Prisma.sql`(SELECT * FROM domains WHERE deleted_at IS NOT NULL OFFSET 0)`;
  return Prisma.sql`
    SELECT zone, found.count, COALESCE(deleted.count, 0) AS "deletedCount"
    FROM (${countByZone(Prisma.sql`domains`, conditions)}) found
    LEFT JOIN (${countByZone(deletedDomains, conditions)}) deleted USING (zone)
    ORDER BY zone`;
}

/**
 * Because of `OFFSET 0`, PostgreSQL expects few zones and counts rows as it reads them, instead of sorting
 * all names by zone first.
 */
function countByZone(table: Prisma.Sql, conditions: readonly Prisma.Sql[]): Prisma.Sql {
  return Prisma.sql`
    SELECT zone, count(*)::int AS count FROM (
      SELECT substring(d.name FROM position('.' IN d.name) + 1) AS zone
      FROM ${table} d ${joinWhere(conditions)} OFFSET 0
    ) names GROUP BY zone`;
}

/** Rows of {@link selectAssessedNames}. */
export const assessedNameRow = defineRow(
  z.object({
    name: z.string(),
    expiresAt: optionalTimestamp,
    deletedAt: optionalTimestamp,
    isLapsing: z.boolean(),
    hasOwner: z.boolean(),
    incidentSince: optionalTimestamp,
    posture: optional(storedPostureSchema),
  }),
  'd.',
  {
    isLapsing: Prisma.sql`d.lapse_confirmed_at IS NOT NULL`,
    hasOwner: Prisma.sql`d.owner_id IS NOT NULL AND d.owner_left_at IS NULL`,
    incidentSince: Prisma.sql`i.since`,
  },
);

export function selectAssessedNames(query: FilterQuery, teamId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT ${assessedNameRow.columns}
    FROM domains d LEFT JOIN (
      SELECT name, min(opened_at) AS since FROM incidents
      WHERE team_id = ${teamId} AND state IN ('open', 'raised') GROUP BY name
    ) i USING (name) ${joinWhere(buildConditions(query))}`;
}

/** Rows of {@link selectFindingChanges}. */
export const findingChangeRowsSchema = z.array(
  z.object({
    began: z.array(z.enum(FINDING_CODES)),
    ended: z.array(z.enum(FINDING_CODES)),
    names: z.number(),
  }),
);

/** A finding that was closed and opened again, or opened and closed again, counts as unchanged. */
export function selectFindingChanges(from: Date, to: Date): Prisma.Sql {
  return Prisma.sql`
    SELECT began, ended, count(*)::int AS names FROM (
      SELECT COALESCE(array_agg(code) FILTER (WHERE is_first_open AND is_last_open), '{}') AS began,
        COALESCE(array_agg(code) FILTER (WHERE NOT is_first_open AND NOT is_last_open), '{}') AS ended
      FROM (
        SELECT o.name, c.code, (array_agg(c.is_open ORDER BY o.seq))[1] AS is_first_open,
          (array_agg(c.is_open ORDER BY o.seq DESC))[1] AS is_last_open
        FROM observations o JOIN domains d USING (name) CROSS JOIN LATERAL (
          SELECT jsonb_array_elements_text(o.data -> 'opened') AS code, true AS is_open
          UNION ALL SELECT jsonb_array_elements_text(o.data -> 'closed'), false) c
        WHERE o.origin = 'finding' AND o.at >= ${from}::timestamptz AND o.at < ${to}::timestamptz
        GROUP BY o.name, c.code ORDER BY c.code
      ) ends GROUP BY name
    ) changed WHERE cardinality(began) + cardinality(ended) > 0 GROUP BY began, ended`;
}

export const SELECT_OWNERS = Prisma.sql`
  SELECT owner_id AS id, bool_or(owner_left_at IS NOT NULL) AS "hasLeft" FROM domains
  WHERE owner_id IS NOT NULL GROUP BY owner_id`;
export const ownerRowsSchema = z.array(z.object({ id: z.string(), hasLeft: z.boolean() }));

/** Marks and returns the names of a person who has left. Locks them alphabetically to avoid deadlocks. */
export function markOwnerDeparture(userId: string, at: Date): Prisma.Sql {
  return Prisma.sql`
    UPDATE domains d SET owner_left_at = ${at}::timestamptz
    FROM (SELECT name FROM domains WHERE owner_id = ${userId} AND owner_left_at IS NULL ORDER BY name FOR UPDATE) theirs
    WHERE d.name = theirs.name RETURNING d.name`;
}
