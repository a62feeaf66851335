import { z } from 'zod';
import type { LoggedCharter } from '../approvals/charter.ts';
import {
  charterAssertionSchema,
  fingerprintSchema,
  hashJson,
  revokeAssertionSchema,
  vouchAssertionSchema,
} from '../approvals/signing/assertion.ts';
import { charterSignedShape, keyAddedShape } from '../approvals/signing/key-ring.ts';
import { ORDER_TASK_NAMES } from '../orders/order.ts';
import type { SigningRows } from '../orders/ports.ts';
import { defineRow } from './columns.ts';
import { Prisma, type RunStatement } from './database.ts';
import type { SigningLogState, VerifiedSigningLog } from './known-key-log.ts';
import { policyRowSchema } from './policy-rows.ts';

/*
 * The rows, apart from the order, that signatures are checked against. One statement in the caller's
 * transaction reads them from one snapshot. A process remembers the log of keys and charters, and reads only
 * newer events unless a remembered event was changed.
 */

const addedKeySchema = z.object({ ...keyAddedShape, fingerprint: fingerprintSchema });
const vouchSchema = z.object({ key: z.string(), signature: vouchAssertionSchema });
const revocationSchema = z.object({
  signature: revokeAssertionSchema.optional(),
  left: z.literal(true).optional(),
});
const charterSchema = z.object({ ...charterSignedShape, signature: charterAssertionSchema });
const charterContentSchema = z.object({
  policy: policyRowSchema,
  settings: z
    .object({
      approvers: z.array(z.string()),
      silent_approvers: z.array(z.string()),
      approvals_required: z.int(),
      approval_tasks: z.array(z.enum(ORDER_TASK_NAMES)),
      allow_self_approval: z.boolean(),
    })
    .transform((settings) => ({
      approvers: settings.approvers,
      silentApprovers: settings.silent_approvers,
      approvalsRequired: settings.approvals_required,
      approvalTasks: settings.approval_tasks,
      allowSelfApproval: settings.allow_self_approval,
    })),
  published_by: z.string().nullable(),
});

/** Matches the chained events about keys and charters. A partial index has the same condition. */
export const IS_SIGNING_EVENT = Prisma.sql`e.subject_kind IN ('key', 'policy') AND e.data ? 'previous'`;
/** Changes if a row is rewritten, because nobody can choose the id of the transaction that writes it. */
const ROW_STAMP = Prisma.sql`hashint8extended(e.xmin::text::bigint, e.seq)`;

/** Columns of events (alias `e`). */
const loggedEventRow = defineRow(
  z.object({
    seq: z.number(),
    at: z.coerce.date(),
    kind: z.string(),
    key: z.string(),
    actor: z.string(),
    data: z.record(z.string(), z.json()),
    stamp: z.string().transform(BigInt),
  }),
  'e.',
  { key: Prisma.sql`e.subject_id`, stamp: Prisma.sql`${ROW_STAMP}::text` },
);
type LoggedEvent = z.output<typeof loggedEventRow.schema>;

const signingRowsSchema = z.tuple([
  z.object({
    events: z.array(loggedEventRow.schema),
    rememberedPart: z.object({ count: z.number(), stampSum: z.string().transform(BigInt) }),
    policy: policyRowSchema.nullable(),
    saved: z.record(z.string(), z.unknown()),
    standIns: z.array(z.object({ away: z.string(), userId: z.string(), until: z.coerce.date() })),
  }),
]);

/** The hash of the first event's predecessor. */
const EMPTY_LOG_HASH = hashJson('');

const hashedFieldsSchema = z.object({
  previous: z.json(),
  publicKey: z.json().optional(),
  signature: z.json().optional(),
});

/** Excludes personal data, which is deleted when a person is forgotten. */
function hashEvent({ kind, key, data }: LoggedEvent): string {
  const { previous, publicKey, signature } = hashedFieldsSchema.parse(data);
  const proof = z.object({ signature: z.string() }).safeParse(signature).data?.signature;
  return hashJson({ kind, key, previous, proof: publicKey ?? proof ?? null });
}

/** Returns the hash that the next key or charter event stores as `previous`. */
export async function readLastEventHash(run: RunStatement): Promise<string> {
  const [newest] = z.array(z.object({ event: loggedEventRow.schema })).parse(
    await run(Prisma.sql`
      SELECT ${loggedEventRow.json} AS event FROM events e WHERE e.team_id = installation_team() AND ${IS_SIGNING_EVENT}
      ORDER BY e.seq DESC LIMIT 1`),
  );
  return newest === undefined ? EMPTY_LOG_HASH : hashEvent(newest.event);
}

const EMPTY_LOG: SigningLogState = {
  keys: { addedKeys: [], vouches: [], revocations: [], isComplete: true },
  ...{ charters: [], seq: 0, count: 0, stampSum: 0n, lastEventHash: EMPTY_LOG_HASH },
};

/**
 * Reads the keys and charters in the log, the latest published policy, saved settings and stand-ins.
 * @param keyLog the log that this process remembers; updated if newer events are verified
 * @param matchesSeals checks whether the events match their seals; called if none are remembered yet or a
 * remembered one was changed. Default: they don't match, so no key counts
 */
export async function readSigningRows(
  keyLog: VerifiedSigningLog,
  run: RunStatement,
  matchesSeals = async () => false,
): Promise<SigningRows> {
  const rememberedLog = keyLog.log ?? EMPTY_LOG;
  let [result] = signingRowsSchema.parse(await run(selectSigningRows(rememberedLog)));
  const { count, stampSum } = result.rememberedPart;
  const isUnchanged = count === rememberedLog.count && stampSum === rememberedLog.stampSum;
  // Restoring a backup changes the stamps too.
  if (!isUnchanged) [result] = signingRowsSchema.parse(await run(selectSigningRows(EMPTY_LOG)));
  const { events, policy, saved: savedSettings } = result;
  const standIns = new Map(result.standIns.map(({ away, ...standIn }) => [away, standIn]));
  const currentLog = extendLog(isUnchanged ? rememberedLog : EMPTY_LOG, events);
  const isComplete =
    currentLog.keys.isComplete &&
    ((isUnchanged && keyLog.log !== undefined) ||
      (startsWithRememberedEvents(events, rememberedLog) && (await matchesSeals())));
  if (isComplete && currentLog.seq >= (keyLog.log?.seq ?? 0)) keyLog.log = currentLog;
  const log = isComplete ? currentLog : { ...currentLog, keys: { ...currentLog.keys, isComplete } };
  return { log, policy: policy ?? { version: 0, rules: [] }, savedSettings, standIns };
}

const selectSigningRows = ({ seq }: SigningLogState) => Prisma.sql`
  SELECT
    (SELECT coalesce(json_agg(${loggedEventRow.json} ORDER BY e.seq), '[]') FROM events e
      WHERE e.team_id = installation_team() AND e.seq > ${seq} AND ${IS_SIGNING_EVENT}) AS events,
    (SELECT json_build_object('count', count(*), 'stampSum', coalesce(sum(${ROW_STAMP}), 0)::text) FROM events e
      WHERE e.team_id = installation_team() AND e.seq <= ${seq} AND ${IS_SIGNING_EVENT}) AS "rememberedPart",
    (SELECT json_build_object('version', p.version, 'rules', p.rules) FROM policy_versions p
      WHERE p.team_id = installation_team() ORDER BY p.version DESC LIMIT 1) AS policy,
    (SELECT coalesce(json_object_agg(s.key, s.value), '{}') FROM settings s) AS saved,
    (SELECT coalesce(json_agg(json_build_object('away', d.user_id, 'userId', d.stand_in_id, 'until', d.until)), '[]')
      FROM stand_ins d WHERE d.team_id = installation_team()) AS "standIns"`;

function startsWithRememberedEvents(events: readonly LoggedEvent[], rememberedLog: SigningLogState): boolean {
  return (
    extendLog(EMPTY_LOG, events.slice(0, rememberedLog.count)).lastEventHash === rememberedLog.lastEventHash
  );
}

/** Adds newer events to a log. A break in the chain of hashes makes the log incomplete. */
function extendLog(log: SigningLogState, events: readonly LoggedEvent[]): SigningLogState {
  if (events.length === 0) return log;
  const keys = {
    addedKeys: [...log.keys.addedKeys],
    vouches: [...log.keys.vouches],
    revocations: [...log.keys.revocations],
    isComplete: log.keys.isComplete,
  };
  const charters = [...log.charters];
  let { seq, count, stampSum, lastEventHash } = log;
  for (const event of events) {
    const { kind, key, actor, at, data } = event;
    keys.isComplete &&= data['previous'] === lastEventHash;
    if (kind === 'key_added') {
      const parsed = addedKeySchema.safeParse({ ...data, fingerprint: key });
      if (parsed.success) keys.addedKeys.push({ ...parsed.data, owner: actor, addedAt: at });
    } else if (kind === 'key_vouched') {
      const parsed = vouchSchema.safeParse({ ...data, key });
      if (parsed.success) keys.vouches.push(parsed.data);
    } else if (kind === 'key_revoked') {
      keys.revocations.push({
        key,
        by: actor,
        at,
        eventIndex: count,
        ...revocationSchema.safeParse(data).data,
      });
    } else if (kind === 'charter_signed') {
      const charter = parseCharter(count, data);
      if (charter !== undefined) charters.push(charter);
    }
    lastEventHash = hashEvent(event);
    seq = event.seq;
    stampSum += event.stamp;
    count += 1;
  }
  return { keys, charters, seq, count, stampSum, lastEventHash };
}

function parseCharter(eventIndex: number, data: LoggedEvent['data']): LoggedCharter | undefined {
  const parsed = charterSchema.safeParse(data);
  if (!parsed.success) return undefined;
  const { charter: content, signature, botSignature } = parsed.data;
  const { data: parsedContent } = charterContentSchema.safeParse(content);
  const publisher = parsedContent?.published_by ?? undefined;
  return { eventIndex, signature, botSignature, rules: parsedContent, hash: hashJson(content), publisher };
}

/** Returns the person who published the latest confirmed version of the policy. */
export async function readLastPublisher(run: RunStatement, teamId: string): Promise<string | undefined> {
  const isPolicyEvent = Prisma.sql`subject_kind = 'policy' AND subject_id = 'policy' AND team_id = ${teamId}`;
  const rows = await run(Prisma.sql`
    SELECT actor FROM events WHERE ${isPolicyEvent} AND kind = 'policy_published'
      AND seq < (SELECT max(seq) FROM events WHERE ${isPolicyEvent} AND kind = 'policy_confirmed')
    ORDER BY seq DESC LIMIT 1`);
  return z.array(z.object({ actor: z.string() })).parse(rows)[0]?.actor;
}
