import { z } from 'zod';
import { eventLine, leafOf } from '../ledger/seal.ts';
import { hexOf } from '../ledger/tree.ts';
import type { LoggedCharter, SigningLog } from '../orders/charter.ts';
import type { SigningRows } from '../orders/order-signing.ts';
import { ORDER_TASK_NAMES } from '../orders/tasks.ts';
import type { Policy } from '../policy/policy.ts';
import {
  charterAssertion,
  fingerprint,
  hashOf,
  revokeAssertion,
  vouchAssertion,
} from '../signing/assertion.ts';
import { charterSigned, keyAdded } from '../signing/key-ring.ts';
import { Prisma, type RunStatement } from './database.ts';
import { policyRow } from './policy-rows.ts';

/*
 * What signatures are compared with besides the order itself, read by one statement: at one moment, and in the transaction of the
 * caller. A process remembers the log of keys and reads only what was added since.
 */

const logged = z.object({
  seq: z.number(),
  at: z.coerce.date(),
  kind: z.string(),
  key: z.string(),
  subject: z.string(),
  actor: z.string(),
  data: z.record(z.string(), z.json()),
  isForgotten: z.boolean(),
});
type LoggedEvent = z.output<typeof logged>;
const rows = z.tuple([
  z.object({
    events: z.array(logged),
    earlier: z.number(),
    policy: policyRow.nullable(),
    saved: z.record(z.string(), z.unknown()),
  }),
]);

const added = z.object(keyAdded);
const vouched = z.object({ signature: vouchAssertion });
const charter = z.object({ ...charterSigned, signature: charterAssertion });
const revoked = z.object({ signature: revokeAssertion.optional(), left: z.literal(true).optional() });
const charterContent = z.object({
  policy: policyRow,
  settings: z.object({
    approvers: z.array(z.string()),
    approvals_required: z.int(),
    approval_tasks: z.array(z.enum(ORDER_TASK_NAMES)),
    allow_self_approval: z.boolean(),
  }),
  published_by: z.string().nullable(),
});

/** The policy of an installation in which nothing was published. */
const NO_POLICY: Policy = { version: 0, rules: [] };

/** Events about keys and charters: those of the bot name the one before. An index has the same condition. */
const SIGNING_EVENTS = Prisma.sql`e.subject_kind IN ('key', 'policy') AND e.data ? 'previous'`;
const EVENT = Prisma.sql`json_build_object('seq', e.seq, 'at', e.at, 'kind', e.kind, 'key', e.subject_id,
  'subject', e.subject_kind, 'actor', e.actor, 'data', e.data, 'isForgotten', e.forgotten_at IS NOT NULL)`;

/** What the first event names as the one before. */
const NOTHING = hashOf('');

const linked = z.object({
  previous: z.json(),
  publicKey: z.json().optional(),
  signature: z.json().optional(),
});

/** What the next event names. It has nothing of a person, because people are forgotten. */
function linkOf({ kind, key, data }: Pick<LoggedEvent, 'kind' | 'key' | 'data'>): string {
  const { previous, publicKey, signature } = linked.parse(data);
  const proof = z.object({ signature: z.string() }).safeParse(signature).data?.signature;
  return hashOf({ kind, key, previous, proof: publicKey ?? proof ?? null });
}

/** What the next event about keys and charters names as the one before. */
export async function newestLink(run: RunStatement): Promise<string> {
  const [newest] = z.array(z.object({ event: logged })).parse(
    await run(Prisma.sql`
      SELECT ${EVENT} AS event FROM events e WHERE e.team_id = installation_team() AND ${SIGNING_EVENTS}
      ORDER BY e.seq DESC LIMIT 1`),
  );
  return newest === undefined ? NOTHING : linkOf(newest.event);
}

/** The log of keys and charters up to an event. */
interface KnownLog {
  readonly log: SigningLog;
  /** The newest event. */
  readonly seq: number;
  readonly count: number;
  readonly link: string;
}

const NO_LOG: KnownLog = {
  log: { keys: { added: [], vouched: [], revoked: [], isWhole: true }, charters: [] },
  ...{ seq: 0, count: 0, link: NOTHING },
};

/** What a process remembers, by its database. */
const known = new WeakMap<object, KnownLog>();

/**
 * Keys and charters in the log, the policy that was published last, and the settings that were saved.
 * @param database whose memory is used
 */
export async function readSigningRows(database: object, run: RunStatement): Promise<SigningRows> {
  const before = known.get(database) ?? NO_LOG;
  const [{ events, earlier, policy, saved }] = rows.parse(
    await run(Prisma.sql`
      SELECT
        (SELECT coalesce(json_agg(${EVENT} ORDER BY e.seq), '[]') FROM events e
          WHERE e.team_id = installation_team() AND e.seq > ${before.seq} AND ${SIGNING_EVENTS}) AS events,
        (SELECT count(*)::int FROM events e
          WHERE e.team_id = installation_team() AND e.seq <= ${before.seq} AND ${SIGNING_EVENTS}) AS earlier,
        (SELECT json_build_object('version', p.version, 'rules', p.rules) FROM policy_versions p
          WHERE p.team_id = installation_team() ORDER BY p.version DESC LIMIT 1) AS policy,
        (SELECT coalesce(json_object_agg(s.key, s.value), '{}') FROM settings s) AS saved`),
  );
  const now = events.length === 0 ? before : grown(before, events);
  const isWhole =
    earlier === before.count &&
    now.log.keys.isWhole &&
    (known.has(database) || (await endsAsSealed(run, events.at(-1))));
  // What does not fit is read again whole: it may be put back.
  if (isWhole && now.seq >= (known.get(database)?.seq ?? 0)) known.set(database, now);
  const log = isWhole ? now.log : { ...now.log, keys: { ...now.log.keys, isWhole } };
  return { log, policy: policy ?? NO_POLICY, saved };
}

/** Whether the newest event is as it was sealed, and no event behind it is gone. A process asks once: then it remembers. */
async function endsAsSealed(run: RunStatement, newest: LoggedEvent | undefined): Promise<boolean> {
  const [{ gone, cut, seq, leaf }] = z
    .tuple([
      z.object({
        gone: z.boolean(),
        cut: z.boolean(),
        seq: z.number().nullable(),
        leaf: z.string().nullable(),
      }),
    ])
    .parse(
      await run(Prisma.sql`
        SELECT EXISTS (
            SELECT FROM (SELECT event_seq FROM ledger_entries WHERE team_id = installation_team()
              UNION ALL SELECT event_seq FROM unsealed_events WHERE team_id = installation_team()) l
            WHERE l.event_seq > ${newest?.seq ?? 0} AND NOT EXISTS (SELECT FROM events e WHERE e.seq = l.event_seq)
          ) AS gone,
          (SELECT count(*) FROM ledger_entries WHERE team_id = installation_team())
            <> (SELECT coalesce(max("to"), 0) FROM seals WHERE team_id = installation_team()) AS cut,
          l.seq::int AS seq, encode(l.leaf, 'hex') AS leaf
        FROM (SELECT) one LEFT JOIN ledger_entries l ON l.event_seq = ${newest?.seq ?? 0}`),
    );
  if (gone || cut) return false;
  if (newest === undefined || newest.isForgotten || seq === null) return true;
  const { at, kind, subject, key, actor, data } = newest;
  return (
    hexOf(leafOf(eventLine(seq, { at, kind, subject: { kind: subject, id: key }, actor, data }))) === leaf
  );
}

/** A log with what was added to it. An event that can't be read vouches for nothing. */
function grown({ log, count, link: from }: KnownLog, events: readonly LoggedEvent[]): KnownLog {
  let link = from;
  let { isWhole } = log.keys;
  for (const event of events) {
    isWhole &&= event.data['previous'] === link;
    link = linkOf(event);
  }
  const entries = events.map((event, index) => ({ ...event, n: count + index }));
  const of = (kind: string) => entries.filter((event) => event.kind === kind);
  return {
    log: {
      keys: {
        isWhole,
        added: [
          ...log.keys.added,
          ...of('key_added').flatMap(({ key, actor, at, data }) => {
            const read = added.safeParse(data);
            const name = fingerprint.safeParse(key);
            return read.success && name.success
              ? [{ ...read.data, fingerprint: name.data, owner: actor, addedAt: at }]
              : [];
          }),
        ],
        vouched: [
          ...log.keys.vouched,
          ...of('key_vouched').flatMap(({ key, data }) => {
            const read = vouched.safeParse(data);
            return read.success ? [{ key, signature: read.data.signature }] : [];
          }),
        ],
        revoked: [
          ...log.keys.revoked,
          ...of('key_revoked').map(({ key, actor, at, n, data }) => ({
            ...{ key, by: actor, at, n },
            ...revoked.safeParse(data).data,
          })),
        ],
      },
      charters: [...log.charters, ...of('charter_signed').flatMap(({ n, data }) => loggedCharter(n, data))],
    },
    seq: events.at(-1)?.seq ?? 0,
    count: count + events.length,
    link,
  };
}

function loggedCharter(n: number, data: LoggedEvent['data']): readonly LoggedCharter[] {
  const read = charter.safeParse(data);
  if (!read.success) return [];
  const { charter: content, signature, witness } = read.data;
  const { data: rules } = charterContent.safeParse(content);
  return [
    {
      ...{ n, signature, witness, hash: hashOf(content) },
      publisher: rules?.published_by ?? undefined,
      rules: rules && {
        policy: rules.policy,
        settings: {
          approvers: rules.settings.approvers,
          approvalsRequired: rules.settings.approvals_required,
          approvalTasks: rules.settings.approval_tasks,
          allowSelfApproval: rules.settings.allow_self_approval,
        },
      },
    },
  ];
}

/** Who published the version of the policy that was confirmed last. */
export async function readLastPublisher(run: RunStatement, teamId: string): Promise<string | undefined> {
  const about = Prisma.sql`subject_kind = 'policy' AND subject_id = 'policy' AND team_id = ${teamId}`;
  const found = await run(Prisma.sql`
    SELECT actor FROM events WHERE ${about} AND kind = 'policy_published'
      AND seq < (SELECT max(seq) FROM events WHERE ${about} AND kind = 'policy_confirmed')
    ORDER BY seq DESC LIMIT 1`);
  return z.array(z.object({ actor: z.string() })).parse(found)[0]?.actor;
}
