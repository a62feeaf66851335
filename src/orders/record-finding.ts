import { z } from 'zod';

/*
 * What public records show of a request, as codes with their data. They are kept with orders, so a code stays once it is
 * released.
 */

const moment = z.iso.datetime();
const texts = z.array(z.string()).readonly();
/** The record came over plain http, so it could have been forged on its way. */
const overHttp = z.boolean().exactOptional();
const shownNameServers = {
  nameServers: texts,
  /** They are those that the order asks for. */
  areAskedFor: z.boolean(),
};

const HINTS = [
  z.object({ code: z.literal('not_registered'), overHttp }),
  z.object({
    code: z.literal('registration_seen'),
    registeredAt: moment.exactOptional(),
    ...shownNameServers,
    overHttp,
  }),
  z.object({ code: z.literal('nameservers_seen'), ...shownNameServers, overHttp }),
  z.object({ code: z.literal('statuses_seen'), statuses: texts, overHttp }),
  z.object({
    code: z.literal('registrar_seen'),
    registrar: z.string().exactOptional(),
    statuses: texts,
    /** Of a transfer since the request was sent. */
    transferredAt: moment.exactOptional(),
    overHttp,
  }),
  /** What the record showed before is not known. */
  z.object({ code: z.literal('expiry_seen'), expiresAt: moment, overHttp }),
  z.object({ code: z.literal('expiry_unmoved'), expiresAt: moment, overHttp }),
  z.object({
    code: z.literal('expiry_moved'),
    expiresAt: moment,
    before: moment,
    /** What else may have moved it by the years asked for. */
    otherCause: z.enum(['expiry_passed', 'transfer']).exactOptional(),
    overHttp,
  }),
] as const;
const recordHint = z.discriminatedUnion('code', HINTS);

const PROOF_CODES = ['registered', 'nameservers_set', 'transferred', 'deleted', 'restored'] as const;

const PROOFS = [
  z.object({ code: z.enum(PROOF_CODES) }),
  z.object({ code: z.literal('renewed'), expiresAt: moment, before: moment }),
] as const;
const recordProof = z.discriminatedUnion('code', PROOFS);

/** What public records show of a request. */
export const recordFinding = z.discriminatedUnion('code', [...HINTS, ...PROOFS]);

/** Something that proves nothing, but helps the person who settles the order. */
export type RecordHint = z.output<typeof recordHint>;
export type RecordProofCode = (typeof PROOF_CODES)[number];
/** Nothing else can have caused it than that the request was carried out. */
export type RecordProof = z.output<typeof recordProof>;
export type RecordFinding = z.output<typeof recordFinding>;
