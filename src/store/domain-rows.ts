import { z } from 'zod';
import type { WatchedDomain } from '../expiry/ports.ts';
import type { NameDates } from '../names/dates.ts';
import { storedQuestionSchema } from '../names/portfolio.ts';
import type { Lapse } from '../names/ports.ts';
import { FINDING_CODES } from '../names/posture.ts';
import {
  storedHistorySchema,
  storedKnownChangesSchema,
  storedPostureSchema,
  storedTrustSchema,
  storedUnreliableDateReasonSchema,
  storedWhoisSchema,
} from '../names/stored.ts';
import { defineRow, jsonColumn, optional, optionalText } from './columns.ts';
import type { Prisma } from './database.ts';

/* Rows of the watch list. Raw SQL and Prisma queries return the same fields. */

export const expirySourceSchema = z.enum(['rdap', 'whois', 'order', 'person']);

const optionalTimestamp = optional(z.date());
export const deletionPhaseSchema = optional(z.enum(['redemption', 'pending_delete']));

const datesShape = {
  expiresAt: optionalTimestamp,
  expirySource: optionalText,
  expiryGivenBy: optionalText,
  previousExpiresAt: optionalTimestamp,
  expiryChangedAt: optionalTimestamp,
  renewedUntil: optionalTimestamp,
  renewedAt: optionalTimestamp,
  trusted: jsonColumn(storedTrustSchema),
  deletedAt: optionalTimestamp,
  deletionPhase: deletionPhaseSchema,
  doubt: jsonColumn(storedUnreliableDateReasonSchema),
  lastLookupAt: optionalTimestamp,
  whois: jsonColumn(storedWhoisSchema),
};

const lapseShape = {
  lapseReason: optionalText,
  lapseRequestedBy: optionalText,
  lapseConfirmedBy: optionalText,
  lapseConfirmedAt: optionalTimestamp,
};

export const domainRow = defineRow(
  z.object({
    name: z.string(),
    version: z.number(),
    addedBy: z.string(),
    addedAt: z.date(),
    ...datesShape,
    registeredBy: optionalText,
    nextRegistryLookupAt: z.date(),
    snoozedUntil: optionalTimestamp,
    snoozedBy: optionalText,
    snoozeReason: optionalText,
    ...lapseShape,
    ownerId: optionalText,
    ownerLeftAt: optionalTimestamp,
    question: jsonColumn(storedQuestionSchema),
  }) satisfies z.ZodType<unknown, Partial<Prisma.DomainModel>>,
);

export const nameRecordRow = defineRow(
  z.object({
    name: z.string(),
    version: z.number(),
    ...datesShape,
    ...lapseShape,
    ownerId: optionalText,
    ownerLeftAt: optionalTimestamp,
    posture: jsonColumn(storedPostureSchema),
    findings: z.array(z.enum(FINDING_CODES)),
    history: storedHistorySchema,
    knownChanges: storedKnownChangesSchema,
    nextDnsLookupAt: z.date(),
    nextRegistryLookupAt: z.date(),
    registryReserved: z.boolean(),
    urgent: z.boolean(),
  }),
);

export function toDates(row: z.output<z.ZodObject<typeof datesShape>>): NameDates {
  const {
    expiresAt,
    expirySource: source,
    expiryGivenBy: enteredBy,
    previousExpiresAt,
    expiryChangedAt,
    renewedUntil,
    renewedAt,
    trusted,
    deletedAt,
    deletionPhase,
    doubt,
    lastLookupAt,
    whois,
  } = row;
  return {
    expiry: expiresAt && {
      at: expiresAt,
      source: expirySourceSchema.parse(source),
      ...(enteredBy !== undefined && { enteredBy }),
    },
    expiryChange: previousExpiresAt && expiryChangedAt && { from: previousExpiresAt, at: expiryChangedAt },
    unpublishedRenewal: renewedUntil && renewedAt && { until: renewedUntil, at: renewedAt },
    trusted,
    deletedAt,
    deletionPhase,
    doubt,
    lastLookupAt,
    whois,
  };
}

export const CLEARED_LAPSE = {
  lapseReason: null,
  lapseRequestedBy: null,
  lapseConfirmedBy: null,
  lapseConfirmedAt: null,
};

export const CLEARED_SNOOZE = { snoozedBy: null, snoozeReason: null, snoozedUntil: null };

export function toLapse(row: z.output<z.ZodObject<typeof lapseShape>>): Lapse | undefined {
  const {
    lapseReason: reason,
    lapseRequestedBy: requestedBy = '',
    lapseConfirmedBy: by,
    lapseConfirmedAt: at,
  } = row;
  const confirmed = by === undefined || at === undefined ? undefined : { by, at };
  return reason === undefined ? undefined : { reason, requestedBy, confirmed };
}

export function toDomain(row: z.output<typeof domainRow.schema>): WatchedDomain {
  const { name, version, addedBy, addedAt, registeredBy, nextRegistryLookupAt } = row;
  const { snoozedUntil: until, snoozedBy: by = '', snoozeReason: reason } = row;
  return {
    ...{ name, version, addedBy, addedAt, registeredBy, nextRegistryLookupAt },
    ...toDates(row),
    snooze: until && { until, by, reason },
    lapse: toLapse(row),
    owner: row.ownerId,
    ownerLeftAt: row.ownerLeftAt,
    question: row.question,
  };
}

export function readDomains(rows: unknown): WatchedDomain[] {
  return domainRow.read(rows).map(toDomain);
}

export function toDateColumns({ expiry, expiryChange, unpublishedRenewal, ...dates }: NameDates) {
  const { trusted, deletedAt, deletionPhase, doubt, lastLookupAt, whois } = dates;
  return {
    expiresAt: expiry?.at,
    expirySource: expiry?.source,
    expiryGivenBy: expiry?.enteredBy,
    previousExpiresAt: expiryChange?.from,
    expiryChangedAt: expiryChange?.at,
    renewedUntil: unpublishedRenewal?.until,
    renewedAt: unpublishedRenewal?.at,
    ...{ trusted, deletedAt, deletionPhase, doubt, lastLookupAt, whois },
  } satisfies Record<keyof typeof datesShape, unknown>;
}

/** Returns the columns that an update writes. */
export function toDomainColumns({ snooze, lapse, ...domain }: WatchedDomain) {
  return {
    ...toDateColumns(domain),
    registeredBy: domain.registeredBy,
    nextRegistryLookupAt: domain.nextRegistryLookupAt,
    snoozedUntil: snooze?.until,
    snoozedBy: snooze?.by,
    snoozeReason: snooze?.reason,
    lapseReason: lapse?.reason,
    lapseRequestedBy: lapse?.requestedBy,
    lapseConfirmedBy: lapse?.confirmed?.by,
    lapseConfirmedAt: lapse?.confirmed?.at,
  } satisfies Partial<Record<keyof Prisma.DomainModel, unknown>>;
}
