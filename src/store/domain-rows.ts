import { z } from 'zod';
import { utcDay } from '../expiry/days.ts';
import type { RegistryRecord, WatchedDomain } from '../expiry/ports.ts';
import { named, Prisma, type Statement } from './database.ts';

/*
 * Names of the watch list: SQL and the rows that it answers with. Prisma answers with rows of the same fields.
 */

/** `reminded_threshold` of a name whose present expiry nothing was said about. */
export const NO_REMINDER = 2_147_483_647;

/** Midnight UTC of the day of the expiry of `d`, as reminders keep it. */
export const EXPIRY_DAY = Prisma.sql`(date_trunc('day', d.expires_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')`;

export const expirySource = z.enum(['rdap', 'order', 'person']);

const text = z.string().nullable();
const moment = z.date().nullable();

/** A row as both Prisma and {@link DOMAIN_COLUMNS} have it; the compiler misses no column. */
const domainRow = z.object({
  name: z.string(),
  version: z.number(),
  addedBy: z.string(),
  addedAt: z.date(),
  expiresAt: moment,
  expirySource: text,
  registeredBy: text,
  renewedUntil: moment,
  renewedAt: moment,
  record: z.json(),
  recordBefore: z.json(),
  deletedAt: moment,
  checkedAt: moment,
  nextCheckAt: z.date(),
  checkProblem: text,
  snoozedUntil: moment,
  snoozedBy: text,
  snoozeReason: text,
  lapseReason: text,
  lapseRequestedBy: text,
  lapseConfirmedBy: text,
  lapseConfirmedAt: moment,
}) satisfies z.ZodType<Omit<Prisma.DomainModel, 'remindedThreshold'>>;

type Records = 'record' | 'recordBefore';
/** JSON as Prisma and as zod have it is not of one type; it is read by {@link registryRecord}. */
type DomainRow = Omit<z.output<typeof domainRow>, Records> & Readonly<Record<Records, unknown>>;

/** The column of a field, named as everywhere: `expires_at` of `expiresAt`. */
const columnOf = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const DOMAIN_COLUMNS = Prisma.raw(
  Object.keys(domainRow.shape)
    .map((field) => `${columnOf(field)} AS "${field}"`)
    .join(', '),
);

/** A name of the watch list out of its row. */
export function domainFromRow(row: DomainRow): WatchedDomain {
  const { expiresAt, renewedUntil, renewedAt, snoozedUntil, lapseReason } = row;
  return {
    name: row.name,
    version: row.version,
    expiry: expiresAt === null ? undefined : { at: expiresAt, source: expirySource.parse(row.expirySource) },
    addedBy: row.addedBy,
    addedAt: row.addedAt,
    registeredBy: row.registeredBy ?? undefined,
    renewed: renewedUntil === null || renewedAt === null ? undefined : { until: renewedUntil, at: renewedAt },
    record: registryRecord.parse(row.record),
    recordBefore: registryRecord.parse(row.recordBefore),
    deletedAt: row.deletedAt ?? undefined,
    checkedAt: row.checkedAt ?? undefined,
    nextCheckAt: row.nextCheckAt,
    checkProblem: row.checkProblem ?? undefined,
    snooze:
      snoozedUntil === null
        ? undefined
        : { until: snoozedUntil, by: row.snoozedBy ?? '', reason: row.snoozeReason ?? undefined },
    lapse:
      lapseReason === null
        ? undefined
        : {
            reason: lapseReason,
            requestedBy: row.lapseRequestedBy ?? '',
            confirmed:
              row.lapseConfirmedBy === null || row.lapseConfirmedAt === null
                ? undefined
                : { by: row.lapseConfirmedBy, at: row.lapseConfirmedAt },
          },
  };
}

/** A registry's record as its column has it. */
const registryRecord = z
  .object({
    expiresAt: z.coerce.date(),
    registrar: z.string().optional(),
    secure: z.boolean(),
    seenAt: z.coerce.date(),
  })
  .nullable()
  .transform((record): RegistryRecord | undefined =>
    record === null ? undefined : { ...record, registrar: record.registrar },
  );

function recordAsJson(record: RegistryRecord | undefined) {
  return record === undefined
    ? null
    : {
        expiresAt: record.expiresAt.toISOString(),
        ...(record.registrar === undefined ? {} : { registrar: record.registrar }),
        secure: record.secure,
        seenAt: record.seenAt.toISOString(),
      };
}

/** What a change may change of a row. */
function changeable(domain: WatchedDomain) {
  return {
    expiresAt: domain.expiry?.at ?? null,
    expirySource: domain.expiry?.source ?? null,
    registeredBy: domain.registeredBy ?? null,
    renewedUntil: domain.renewed?.until ?? null,
    renewedAt: domain.renewed?.at ?? null,
    record: recordAsJson(domain.record),
    recordBefore: recordAsJson(domain.recordBefore),
    deletedAt: domain.deletedAt ?? null,
    checkedAt: domain.checkedAt ?? null,
    nextCheckAt: domain.nextCheckAt,
    checkProblem: domain.checkProblem ?? null,
    snoozedUntil: domain.snooze?.until ?? null,
    snoozedBy: domain.snooze?.by ?? null,
    snoozeReason: domain.snooze?.reason ?? null,
    lapseReason: domain.lapse?.reason ?? null,
    lapseRequestedBy: domain.lapse?.requestedBy ?? null,
    lapseConfirmedBy: domain.lapse?.confirmed?.by ?? null,
    lapseConfirmedAt: domain.lapse?.confirmed?.at ?? null,
  } satisfies Partial<DomainRow>;
}

/** Rows of {@link selectDomain}. */
export const domainRows = z.array(domainRow.transform(domainFromRow));

export function selectDomain(name: string): Statement {
  return named('domain by name', Prisma.sql`SELECT ${DOMAIN_COLUMNS} FROM domains WHERE name = ${name}`);
}

/** Takes names whose look-up is due and that nobody else is taking. Answers with {@link domainRows}, the longest due first. */
export function claimDue(now: Date, until: Date, limit: number): Statement {
  return Prisma.sql`
    WITH due AS (
      SELECT name AS due_name, next_check_at AS due_at FROM domains WHERE next_check_at <= ${now}::timestamptz
      ORDER BY next_check_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE domains SET next_check_at = ${until}::timestamptz FROM due WHERE name = due_name
      RETURNING due_at, ${DOMAIN_COLUMNS}
    )
    SELECT * FROM claimed ORDER BY due_at`;
}

/** Rows of {@link claimSuccess}: one with the name as it is on the list, undefined where it is not. */
export const claimedSuccessRows = z.array(
  z.union([domainRow.transform(domainFromRow), z.object({ name: z.null() }).transform(() => undefined)]),
);

/**
 * Notes that a success was taken into the list; no row when it was before. Its name is locked, so that what is computed
 * from the row is not computed from an older one.
 */
export function claimSuccess(orderId: string, n: number, now: Date): Statement {
  return named(
    'take a success into the watch list',
    Prisma.sql`
      WITH item AS (
        UPDATE order_items SET followed_at = ${now}
        WHERE order_id = ${orderId} AND n = ${n} AND followed_at IS NULL RETURNING name
      ), known AS (
        SELECT ${DOMAIN_COLUMNS} FROM domains WHERE name = (SELECT name FROM item) FOR UPDATE
      )
      SELECT known.* FROM item LEFT JOIN known ON known.name = item.name`,
  );
}

/**
 * Puts a name on the list; fails by the primary key where it is on it. It may have been on the list before: what was
 * said about its expiry then counts.
 */
export function insertDomain(domain: WatchedDomain): Statement {
  const { name, version, addedBy, addedAt, expiry } = domain;
  const row: DomainRow = { name, version, addedBy, addedAt, ...changeable(domain) };
  const day = expiry === undefined ? null : new Date(utcDay(expiry.at));
  return named(
    'insert a domain',
    Prisma.sql`
      INSERT INTO domains (${Prisma.raw(Object.keys(row).map(columnOf).join(', '))}, reminded_threshold)
      VALUES (${Prisma.join(Object.values(row))}, COALESCE(
        (SELECT min(threshold) FROM reminders WHERE name = ${name} AND expires_at = ${day}), ${NO_REMINDER}))`,
  );
}

/** Rows of {@link swapDomain}: one, or none when somebody else changed the name since `before` was read. */
export const swappedRows = z.array(z.object({ name: z.string() }));

export function swapDomain(before: WatchedDomain, after: WatchedDomain): Statement {
  const settings = Object.entries(changeable(after)).map(
    ([field, value]) => Prisma.sql`${Prisma.raw(columnOf(field))} = ${value}`,
  );
  return named(
    'swap a domain',
    Prisma.sql`
      UPDATE domains SET ${Prisma.join(settings)}, version = version + 1
      WHERE name = ${before.name} AND version = ${before.version} RETURNING name`,
  );
}

/**
 * Notes beside a name what was said about its new expiry: what is due is found by that alone. Goes after the change in
 * the same transaction: from then on the row is locked, and what was said of its former date is there to be read.
 *
 * @param from the former date of the same end: what was said about it counts as said.
 */
export function recordReminder(name: string, expiresAt: Date, from: Date | undefined): Statement {
  const day = new Date(utcDay(expiresAt));
  const formerDay = from === undefined ? null : new Date(utcDay(from));
  return named(
    'note what was said of a domain',
    Prisma.sql`
      WITH kept AS (
        INSERT INTO reminders (name, expires_at, threshold, digest_id, claimed_at, posted_at)
        SELECT name, ${day}::timestamptz, threshold, digest_id, claimed_at, posted_at
        FROM reminders WHERE name = ${name} AND expires_at = ${formerDay}::timestamptz
        ON CONFLICT DO NOTHING
        RETURNING threshold)
      UPDATE domains d SET reminded_threshold = said.threshold
      FROM (
        SELECT COALESCE(min(threshold), ${NO_REMINDER}) AS threshold FROM (
          SELECT threshold FROM kept
          UNION ALL SELECT threshold FROM reminders WHERE name = ${name} AND expires_at = ${day}::timestamptz) each
      ) said
      WHERE d.name = ${name} AND d.reminded_threshold <> said.threshold`,
  );
}
