import { z } from 'zod';
import type { RegistryRecord, WatchedDomain } from '../expiry/ports.ts';
import type { TrustedRecord } from '../expiry/trust.ts';
import { optional, optionalText } from './columns.ts';
import { Prisma } from './database.ts';

/*
 * Rows of the watch list. SQL answers with the same fields as Prisma.
 */

export const expirySource = z.enum(['rdap', 'order', 'person']);

const optionalMoment = optional(z.date());

/** Set by people: the portfolio reads and writes these itself. */
type Details = 'ownerId' | 'tags' | 'channelId' | 'note';

/** A row as both Prisma and {@link DOMAIN_COLUMNS} have it; the compiler misses no column. */
export const domainRow = z.object({
  name: z.string(),
  version: z.number(),
  addedBy: z.string(),
  addedAt: z.date(),
  expiresAt: optionalMoment,
  expirySource: optionalText,
  registeredBy: optionalText,
  renewedUntil: optionalMoment,
  renewedAt: optionalMoment,
  record: z.json(),
  recordBefore: z.json(),
  trustedRecord: z.json(),
  deletedAt: optionalMoment,
  checkedAt: optionalMoment,
  nextCheckAt: z.date(),
  checkProblem: optionalText,
  snoozedUntil: optionalMoment,
  snoozedBy: optionalText,
  snoozeReason: optionalText,
  lapseReason: optionalText,
  lapseRequestedBy: optionalText,
  lapseConfirmedBy: optionalText,
  lapseConfirmedAt: optionalMoment,
}) satisfies z.ZodType<unknown, Omit<Prisma.DomainModel, 'remindedThreshold' | 'teamId' | Details>>;

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
export function domainFromRow(row: z.output<typeof domainRow>): WatchedDomain {
  const { expiresAt, expirySource: source, renewedUntil, renewedAt, record, recordBefore, ...dated } = row;
  const { trustedRecord: trusted, snoozedUntil, snoozedBy = '', snoozeReason, ...set } = dated;
  const { lapseReason, lapseRequestedBy = '', lapseConfirmedBy, lapseConfirmedAt, ...kept } = set;
  const confirmed =
    lapseConfirmedBy === undefined || lapseConfirmedAt === undefined
      ? undefined
      : { by: lapseConfirmedBy, at: lapseConfirmedAt };
  return {
    ...kept,
    expiry: expiresAt && { at: expiresAt, source: expirySource.parse(source) },
    renewed: renewedUntil && renewedAt && { until: renewedUntil, at: renewedAt },
    record: registryRecord.parse(record),
    recordBefore: registryRecord.parse(recordBefore),
    trusted: trustedRecord.parse(trusted),
    snooze: snoozedUntil && { until: snoozedUntil, by: snoozedBy, reason: snoozeReason },
    lapse:
      lapseReason === undefined
        ? undefined
        : { reason: lapseReason, requestedBy: lapseRequestedBy, confirmed },
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
