import { z } from 'zod';

/**
 * Codes for what public records show about a request. The codes are stored with orders, so don't remove or rename
 * released ones.
 */

const timestamp = z.iso.datetime();
const texts = z.array(z.string()).readonly();
/** The record was fetched over plain HTTP, and could have been forged in transit. */
const overHttp = z.boolean().exactOptional();
const shownNameServers = {
  nameServers: texts,
  /** Whether these are the requested nameservers. */
  areRequested: z.boolean(),
};

const hintSchemas = [
  z.object({ code: z.literal('not_registered'), overHttp }),
  z.object({
    code: z.literal('registration_seen'),
    registeredAt: timestamp.exactOptional(),
    ...shownNameServers,
    overHttp,
  }),
  z.object({ code: z.literal('nameservers_seen'), ...shownNameServers, overHttp }),
  z.object({ code: z.literal('statuses_seen'), statuses: texts, overHttp }),
  z.object({
    code: z.literal('registrar_seen'),
    registrar: z.string().exactOptional(),
    statuses: texts,
    /** A transfer after the request was sent. */
    transferredAt: timestamp.exactOptional(),
    overHttp,
  }),
  /** An expiry date. The date before the request isn't known. */
  z.object({ code: z.literal('expiry_seen'), expiresAt: timestamp, overHttp }),
  z.object({ code: z.literal('expiry_unchanged'), expiresAt: timestamp, overHttp }),
  z.object({
    code: z.literal('expiry_changed'),
    expiresAt: timestamp,
    before: timestamp,
    /** Another possible cause of the new date. */
    otherCause: z.enum(['expiry_passed', 'transfer']).exactOptional(),
    overHttp,
  }),
] as const;
const recordHintSchema = z.discriminatedUnion('code', hintSchemas);

const PROOF_CODES = ['registered', 'nameservers_set', 'transferred', 'deleted', 'restored'] as const;

const proofSchemas = [
  z.object({ code: z.enum(PROOF_CODES) }),
  z.object({ code: z.literal('renewed'), expiresAt: timestamp, before: timestamp }),
] as const;
const recordProofSchema = z.discriminatedUnion('code', proofSchemas);

export const storedEvidenceSchema = z.discriminatedUnion('code', [...hintSchemas, ...proofSchemas]);

/** A record that proves nothing, but helps the person who settles the order. */
export type EvidenceHint = z.output<typeof recordHintSchema>;
export type EvidenceProofCode = (typeof PROOF_CODES)[number];
/** A record that only the requested change can have caused. */
export type EvidenceProof = z.output<typeof recordProofSchema>;
export type StoredEvidence = z.output<typeof storedEvidenceSchema>;
