import { z } from 'zod';
import type { ImportedName } from '../expiry/import.ts';
import type { WatchedDomain } from '../expiry/ports.ts';
import type { WatchDecision } from '../ledger/events.ts';
import { isSameExpiry, type NameDates } from '../names/dates.ts';
import type { NameObservation } from '../names/ports.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { assignColumns, buildRecordset, toColumnName, toStorableJson } from './columns.ts';
import { Prisma, type Statement } from './database.ts';
import { domainRow, toDomain, toDomainColumns } from './domain-rows.ts';

/*
 * SQL for the watch list: statements that Prisma can't express, such as claims, locks and bulk changes, and
 * statements that run after every renewal.
 */

/** `reminded_threshold` of a name that got no reminders for its current expiry. */
export const NO_REMINDER = 2_147_483_647;

/** The expiry of `d`, or its deletion if the expiry is unknown. */
export const EXPIRES_AT = Prisma.sql`COALESCE(d.expires_at, d.deleted_at)`;

/** Midnight UTC on the day of {@link EXPIRES_AT}. This is the `expires_at` of reminders. */
export const EXPIRY_DAY = Prisma.sql`(date_trunc('day', ${EXPIRES_AT} AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')`;

export function selectDomains(names: readonly string[]): Statement {
  return Prisma.sql`SELECT ${domainRow.columns} FROM domains WHERE name = ANY(${[...names]})`;
}

/**
 * Adds a name to the list. Violates the primary key if the name is already there. If the name was on the list before,
 * earlier reminders about its expiry still count.
 */
export function insertDomain(domain: WatchedDomain): Statement {
  const { name, version, addedBy, addedAt, nextRegistryLookupAt } = domain;
  const initialFields = { name, version, addedBy, addedAt, nextDnsLookupAt: nextRegistryLookupAt };
  const fields = { ...initialFields, ...toDomainColumns(domain) };
  const columns = Prisma.raw(Object.keys(fields).map(toColumnName).join(', '));
  return Prisma.sql`
    INSERT INTO domains (${columns}, reminded_threshold)
    SELECT ${columns}, COALESCE(
      (SELECT min(threshold) FROM reminders r WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}), ${NO_REMINDER})
    FROM ${buildRecordset('domains', [fields])} d`;
}

/** Compare-and-swap. Returns the name, or no row if it was changed concurrently. */
export function updateDomain(before: WatchedDomain, after: WatchedDomain): Statement {
  return Prisma.sql`
    UPDATE domains SET ${assignColumns(toDomainColumns(after))}, version = version + 1
    WHERE name = ${before.name} AND version = ${before.version} RETURNING name`;
}

/** Limits observations of the registry and DNS per name and day (UTC). */
export const MAX_OBSERVATIONS_PER_DAY = 50;

/**
 * Adds observations of a name. Those beyond {@link MAX_OBSERVATIONS_PER_DAY} are dropped, so that a zone that changes
 * constantly doesn't fill the database.
 */
export function insertObservations(name: string, observations: readonly NameObservation[]): Statement {
  const rows = observations.map(({ origin, at, ...data }) => ({ origin, at, data }));
  return Prisma.sql`
    INSERT INTO observations (name, at, origin, data)
    SELECT ${name}, o.at, o.origin, o.data
    FROM jsonb_to_recordset(${toStorableJson(rows)}::jsonb) AS o (at timestamptz, origin text, data jsonb)
    WHERE (o.origin NOT IN ('registry', 'dns') OR ${MAX_OBSERVATIONS_PER_DAY} > (
      SELECT count(*) FROM (
        SELECT k.at FROM observations k WHERE k.name = ${name} AND k.origin IN ('registry', 'dns')
        ORDER BY k.seq DESC LIMIT ${MAX_OBSERVATIONS_PER_DAY}) k
      WHERE date_trunc('day', k.at, 'UTC') = date_trunc('day', o.at, 'UTC')))`;
}

/**
 * Removes a name and its reminders after the expiry, which have negative thresholds. Returns the name, or no
 * row if it isn't on the list.
 */
export function removeDomain(name: string): Statement {
  return Prisma.sql`
    WITH removed AS (DELETE FROM domains WHERE name = ${name} RETURNING name),
      deleted_reminders AS (DELETE FROM reminders r USING removed WHERE r.name = removed.name AND r.threshold < 0)
    SELECT name FROM removed`;
}

/** Rows of {@link updateDomain} and {@link removeDomain}. */
export const changedNameRowsSchema = z.array(z.object({ name: z.string() }));

/** Rows of {@link claimWatchListUpdate}: the domain, or undefined if the name isn't on the watch list. */
export const watchListUpdateRowsSchema = z.array(
  z.union([domainRow.schema.transform(toDomain), z.object({ name: z.null() }).transform(() => undefined)]),
);

/**
 * Records that the watch list was updated after an item succeeded. Returns no row if this was already
 * recorded. Locks the name's row, so that later steps read the latest version.
 */
export function claimWatchListUpdate(orderId: string, itemNumber: number, now: Date): Statement {
  return Prisma.sql`
    WITH item AS (
      UPDATE order_items SET followed_at = ${now}::timestamptz
      WHERE order_id = ${orderId} AND n = ${itemNumber} AND followed_at IS NULL RETURNING name
    ), known AS (
      SELECT ${domainRow.columns} FROM domains WHERE name = (SELECT name FROM item) FOR UPDATE
    )
    SELECT known.* FROM item LEFT JOIN known ON known.name = item.name`;
}

/**
 * Sets `reminded_threshold` for a name's new expiry, because due reminders are found by this column alone.
 * Must run in the transaction that changed the expiry and locked the row.
 * @param oldDate the old date, if its reminders also count for the new one
 */
function updateRemindedThreshold(name: string, expiresAt: Date, oldDate: Date | undefined): Statement {
  const day = new Date(getUtcDay(expiresAt));
  const oldDay = oldDate === undefined ? null : new Date(getUtcDay(oldDate));
  return Prisma.sql`
    WITH kept AS (
      INSERT INTO reminders (name, expires_at, threshold, digest_id, destination, purpose, claimed_at)
      SELECT name, ${day}::timestamptz, threshold, digest_id, destination, purpose, claimed_at
      FROM reminders WHERE name = ${name} AND expires_at = ${oldDay}::timestamptz
      ON CONFLICT DO NOTHING
      RETURNING threshold)
    UPDATE domains d SET reminded_threshold = tightest.threshold
    FROM (
      SELECT COALESCE(min(threshold), ${NO_REMINDER}) AS threshold FROM (
        SELECT threshold FROM kept
        UNION ALL SELECT threshold FROM reminders WHERE name = ${name} AND expires_at = ${day}::timestamptz) all_thresholds
    ) tightest
    WHERE d.name = ${name} AND d.reminded_threshold <> tightest.threshold`;
}

/**
 * Deletes the reminders about a name's expiry and deletion, whose thresholds are negative. Otherwise, they
 * would suppress the reminders before the next expiry.
 */
function deleteExpiryReminders(name: string): Statement {
  return Prisma.sql`
    WITH deleted AS (DELETE FROM reminders WHERE name = ${name} AND threshold < 0)
    UPDATE domains d SET reminded_threshold = COALESCE(
      (SELECT min(r.threshold) FROM reminders r
       WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY} AND r.threshold >= 0),
      ${NO_REMINDER})
    WHERE d.name = ${name}`;
}

/** Must run after a change of dates, in the same transaction, so that reminders use the new dates. */
export function buildReminderUpdates(
  name: string,
  before: NameDates,
  after: NameDates,
): readonly Statement[] {
  const isRegisteredAgain = before.deletedAt !== undefined && after.deletedAt === undefined;
  const oldDate = before.expiry?.at;
  const newDate = after.expiry?.at;
  const hasNewDay =
    newDate !== undefined && (oldDate === undefined || getUtcDay(oldDate) !== getUtcDay(newDate));
  const keepsReminders = hasNewDay && oldDate !== undefined && isSameExpiry(oldDate, newDate);
  return [
    ...(isRegisteredAgain ? [deleteExpiryReminders(name)] : []),
    ...(hasNewDay ? [updateRemindedThreshold(name, newDate, keepsReminders ? oldDate : undefined)] : []),
  ];
}

export type NameChangeAuthor = Omit<WatchDecision, 'kind'>;

/**
 * Adds names, or sets their dates. An imported date never replaces one from the registry or an order, and
 * replaces one from WHOIS only if it is earlier. If it replaces a later date from another person, no author
 * is stored: the author of a date could otherwise set a later one without a second person. `xmax` is 0 for a new row.
 */
export function importNames(
  names: readonly ImportedName[],
  { actor: by, confirmedBy, at: now }: NameChangeAuthor,
): Prisma.Sql {
  const allNames = names.map(({ name }) => name);
  const dates = names.map(({ expiresAt }) => expiresAt?.toISOString() ?? '');
  return Prisma.sql`
    WITH imported AS (
    INSERT INTO domains (name, expires_at, expiry_source, expiry_given_by, added_by, added_at, next_dns_lookup_at,
      next_registry_lookup_at, reminded_threshold)
    SELECT name, expires_at, CASE WHEN expires_at IS NOT NULL THEN 'person' END,
           CASE WHEN expires_at IS NOT NULL THEN ${by} END,
           ${by}, ${now}::timestamptz, ${now}::timestamptz, ${now}::timestamptz,
           COALESCE((SELECT min(threshold) FROM reminders r WHERE r.name = d.name AND r.expires_at = ${EXPIRY_DAY}),
                    ${NO_REMINDER})
    FROM (SELECT name, NULLIF(date, '')::timestamptz AS expires_at, NULL::timestamptz AS deleted_at
          FROM unnest(${allNames}::text[], ${dates}::text[]) AS given (name, date)) d
    ON CONFLICT (name) DO UPDATE
      SET expires_at = EXCLUDED.expires_at, expiry_source = 'person', version = domains.version + 1,
          expiry_given_by = CASE WHEN EXCLUDED.expires_at < domains.expires_at AND domains.expiry_given_by IS DISTINCT FROM ${by}::text
            THEN NULL ELSE ${by}::text END,
          reminded_threshold = EXCLUDED.reminded_threshold
      WHERE EXCLUDED.expires_at IS NOT NULL
        AND (domains.expiry_source IS NULL OR domains.expiry_source = 'person'
          OR domains.expiry_source = 'whois' AND EXCLUDED.expires_at < domains.expires_at)
        AND domains.expires_at IS DISTINCT FROM EXCLUDED.expires_at
    RETURNING name, expires_at, (xmax = 0) AS added
    ), decided AS (
      INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
      SELECT 'name', name, CASE WHEN added THEN 'name_watched' ELSE 'name_dated' END, ${by}, ${now}::timestamptz,
        jsonb_strip_nulls(jsonb_build_object('until', expires_at, 'confirmedBy', ${confirmedBy ?? null}::text)) FROM imported
    ), observed AS (
      INSERT INTO observations (name, at, origin, data)
      SELECT name, ${now}::timestamptz, 'person', jsonb_build_object('expiresAt', expires_at)
      FROM imported WHERE expires_at IS NOT NULL)
    SELECT 1 FROM imported LIMIT 1`;
}

/** Rows of {@link countNamesByMonth}. */
export const monthRowsSchema = z.array(z.object({ month: z.string(), count: z.number() }));

/** Counts the names that expire in each month of the time zone, except names that will lapse. */
export function countNamesByMonth(from: Date, until: Date, timeZone: string): Prisma.Sql {
  return Prisma.sql`
    SELECT to_char(expires_at AT TIME ZONE ${timeZone}, 'YYYY-MM') AS month, count(*)::int AS count
    FROM domains
    WHERE expires_at >= ${from}::timestamptz AND expires_at < ${until}::timestamptz AND lapse_confirmed_at IS NULL
    GROUP BY 1`;
}

export function selectEarliestExpiry(names: readonly string[]): Statement {
  return Prisma.sql`SELECT min(expires_at) AS first FROM domains WHERE name = ANY(${[...names]})`;
}
/** Rows of {@link selectEarliestExpiry}. */
export const earliestExpiryRowsSchema = z.array(z.object({ first: z.date().nullable() }));
