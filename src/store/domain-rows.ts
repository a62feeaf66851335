import { z } from 'zod';
import type { RegistryRecord, WatchedDomain } from '../expiry/ports.ts';
import type { TrustedRecord } from '../expiry/trust.ts';
import { optional, optionalText } from './columns.ts';
import { Prisma } from './database.ts';

/*
 * Rows of the watch list. SQL answers with the same fields as Prisma.
 */

export const expirySource = z.enum(['rdap', 'order', 'person']);

const text = z.string().nullable();
const moment = z.date().nullable();

/** Set by people: the portfolio reads and writes these itself. */
type Details = 'ownerId' | 'tags' | 'channelId' | 'note';

/** A row as both Prisma and {@link DOMAIN_COLUMNS} have it; the compiler misses no column. */
export const domainRow = z.object({
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
  trustedRecord: z.json(),
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
}) satisfies z.ZodType<Omit<Prisma.DomainModel, 'remindedThreshold' | 'teamId' | Details>>;

type Records = 'record' | 'recordBefore' | 'trustedRecord';
/** JSON as Prisma and as zod have it is not of one type; it is read by {@link registryRecord}. */
type DomainRow = Omit<z.output<typeof domainRow>, Records> & Readonly<Record<Records, unknown>>;

/** The column of a field, named as everywhere: `expires_at` of `expiresAt`. */
export const columnOf = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The columns of a row, each under the name of its field. @param table with a dot: `d.` */
export function columnsOf({ shape }: z.ZodObject, table = ''): Prisma.Sql {
  const fields = Object.keys(shape);
  return Prisma.raw(fields.map((field) => `${table}${columnOf(field)} AS "${field}"`).join(', '));
}

/** All columns but `reminded_threshold`, each under the name of its field. */
export const DOMAIN_COLUMNS = columnsOf(domainRow);

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
    trusted: trustedRecord.parse(row.trustedRecord),
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
const registryRecord = optional(
  z.object({
    expiresAt: z.coerce.date(),
    registrar: optionalText,
    secure: z.boolean(),
    seenAt: z.coerce.date(),
  }),
);

const trustedRecord = optional(
  z.object({
    registrar: optionalText,
    at: z.coerce.date(),
    transferKnownAt: optional(z.coerce.date()),
  }),
);

/** JSON has no `undefined`: what is left out is kept as null. */
function asJson(record: RegistryRecord | TrustedRecord | undefined): string | null {
  return record === undefined ? null : JSON.stringify(record, (_key, value: unknown) => value ?? null);
}

/** What a change may change of a row, by field. */
export function changeableColumns(domain: WatchedDomain) {
  return {
    expiresAt: domain.expiry?.at ?? null,
    expirySource: domain.expiry?.source ?? null,
    registeredBy: domain.registeredBy ?? null,
    renewedUntil: domain.renewed?.until ?? null,
    renewedAt: domain.renewed?.at ?? null,
    record: asJson(domain.record),
    recordBefore: asJson(domain.recordBefore),
    trustedRecord: asJson(domain.trusted),
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
  } satisfies Partial<Record<keyof Prisma.DomainModel, unknown>>;
}
