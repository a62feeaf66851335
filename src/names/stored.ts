import { z } from 'zod';
import type { LastWhoisAnswer, UnreliableDateReason } from './dates.ts';
import { FACT_NAMES, UNKNOWN_REASONS } from './facts.ts';
import type { FactHistory, NameHistory, SeenValues } from './history.ts';
import { IMPACT_TASKS, type Impact, impactItemSchema } from './impact.ts';
import { FINDING_CODES, LOOKUP_PARTS, type Posture } from './posture.ts';
import { RECORD_PROBLEMS } from './registry-record.ts';
import type { TrustedRecord } from './trust.ts';
import { INCIDENT_KINDS, type KnownChange } from './unexplained-changes.ts';

/** Schemas of JSON columns. Dates are stored as text. */

const dateSchema = z.iso.datetime().transform((text) => new Date(text));
const factValueSchema = z.array(z.string());
const knownValueSchema = z.object({ value: factValueSchema, firstSeen: dateSchema, lastSeen: dateSchema });
const factNameSchema = z.enum(FACT_NAMES);
const factHistorySchema = z
  .object({
    current: knownValueSchema.optional(),
    candidate: knownValueSchema.extend({ sightings: z.int().positive() }).optional(),
    past: z.array(knownValueSchema),
    unseen: z
      .union([
        z.object({ reason: z.literal('unreadable'), text: z.string(), since: dateSchema }),
        z.object({ reason: z.enum(UNKNOWN_REASONS).exclude(['unreadable']), since: dateSchema }),
      ])
      .optional(),
  })
  .transform(({ current, candidate, past, unseen }): FactHistory => ({ current, candidate, past, unseen }));

export const storedHistorySchema: z.ZodType<NameHistory> = z.partialRecord(factNameSchema, factHistorySchema);

export const storedKnownChangesSchema: z.ZodType<KnownChange[]> = z.array(
  z
    .object({
      kind: z.enum(INCIDENT_KINDS),
      after: factValueSchema,
      facts: z.array(factNameSchema),
      firstSeen: dateSchema,
      orderId: z.string().optional(),
    })
    .transform(({ orderId, ...change }) => ({ ...change, orderId })),
);

export const storedValuesSchema: z.ZodType<SeenValues> = z.partialRecord(factNameSchema, factValueSchema);

export const storedTrustSchema: z.ZodType<TrustedRecord> = z
  .object({ registrar: z.string().optional(), at: dateSchema, transferExpectedAt: dateSchema.optional() })
  .transform(({ registrar, at, transferExpectedAt }) => ({ registrar, at, transferExpectedAt }));

export const storedWhoisSchema: z.ZodType<LastWhoisAnswer> = z
  .object({ at: dateSchema, registeredAt: dateSchema.optional(), registrar: z.string().optional() })
  .transform(({ at, registeredAt, registrar }) => ({ at, registeredAt, registrar }));

export const storedUnreliableDateReasonSchema: z.ZodType<UnreliableDateReason> = z.discriminatedUnion(
  'code',
  [
    z.object({ code: z.literal('not_registered') }),
    z.object({
      code: z.literal('undated'),
      problem: z.object({ code: z.enum(RECORD_PROBLEMS), detail: z.string().exactOptional() }),
    }),
    z.object({
      code: z.literal('distrusted'),
      distrust: z.discriminatedUnion('code', [
        z.object({ code: z.literal('registrar_changed'), before: z.string(), now: z.string() }),
        z.object({ code: z.literal('registrar_missing'), before: z.string() }),
        z.object({ code: z.literal('transferred'), at: dateSchema }),
      ]),
      newDate: dateSchema,
    }),
    z.object({ code: z.literal('renewal_not_shown'), shown: dateSchema }),
  ],
);

const findingSchema = z.object({
  code: z.enum(FINDING_CODES),
  since: z.number(),
  until: z.number().exactOptional(),
  seenAt: z.number().exactOptional(),
  about: factValueSchema.exactOptional(),
});

export const storedPostureSchema: z.ZodType<Posture> = z.object({
  findings: z.array(findingSchema),
  unseen: z.array(
    z.object({ part: z.enum(LOOKUP_PARTS), since: z.number(), about: factValueSchema.exactOptional() }),
  ),
});

const yesNoUnknownSchema = z.enum(['yes', 'no', 'unknown']);

export const storedImpactSchema: z.ZodType<Impact> = z
  .object({
    task: z.enum(IMPACT_TASKS),
    seenAt: dateSchema,
    items: z.array(impactItemSchema),
    isInUse: yesNoUnknownSchema,
    areNewNameserversReady: yesNoUnknownSchema.optional(),
  })
  .transform(({ areNewNameserversReady, ...impact }) => ({ ...impact, areNewNameserversReady }));
