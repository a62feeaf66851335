import { z } from 'zod';
import type { SendingRows } from '../orders/order-signing.ts';
import type { Policy } from '../policy/policy.ts';
import { charterAssertion, fingerprint, revokeAssertion, vouchAssertion } from '../signing/assertion.ts';
import { type KeyLog, keyAdded } from '../signing/key-ring.ts';
import { Prisma, type RunStatement } from './database.ts';
import { policyRow } from './policy-rows.ts';

/*
 * What signatures are compared with besides the order itself, read by one statement: at one moment, and in the transaction of whoever
 * asks.
 */

const columns = { key: z.string(), actor: z.string(), at: z.coerce.date() };
const keyEvent = z.object({ ...columns, kind: z.string(), data: z.record(z.string(), z.unknown()) });
const rows = z.tuple([
  z.object({
    events: z.array(keyEvent),
    policy: policyRow.nullable(),
    saved: z.record(z.string(), z.unknown()),
  }),
]);

const added = z.object(keyAdded);
const vouched = z.object({ signature: vouchAssertion });
const charter = z.object({ signature: charterAssertion });
const revoked = z.object({ signature: revokeAssertion.optional(), left: z.literal(true).optional() });

/** The policy of an installation in which nothing was published. */
const NO_POLICY: Policy = { version: 0, rules: [] };

/** Keys and charters in the log, the policy that was published last, and the settings that were saved. */
export async function readSigningRows(run: RunStatement): Promise<Omit<SendingRows, 'order'>> {
  const [{ events, policy, saved }] = rows.parse(
    await run(Prisma.sql`
      SELECT
        (SELECT coalesce(json_agg(json_build_object(
            'kind', e.kind, 'key', e.subject_id, 'actor', e.actor, 'at', e.at, 'data', e.data) ORDER BY e.seq), '[]')
          FROM events e
          WHERE e.team_id = installation_team()
            AND (e.subject_kind = 'key' OR (e.subject_kind = 'policy' AND e.kind = 'charter_signed'))) AS events,
        (SELECT json_build_object('version', p.version, 'rules', p.rules) FROM policy_versions p
          WHERE p.team_id = installation_team() ORDER BY p.version DESC LIMIT 1) AS policy,
        (SELECT coalesce(json_object_agg(s.key, s.value), '{}') FROM settings s) AS saved`),
  );
  return { keys: keyLogOf(events), policy: policy ?? NO_POLICY, saved };
}

/** The log of keys. An event that cannot be read vouches for nothing; a revocation counts whatever it says besides. */
function keyLogOf(events: readonly z.output<typeof keyEvent>[]): KeyLog {
  const of = (kind: string) => events.filter((event) => event.kind === kind);
  return {
    added: of('key_added').flatMap(({ key, actor, at, data }) => {
      const read = added.safeParse(data);
      const name = fingerprint.safeParse(key);
      return read.success && name.success
        ? [{ ...read.data, fingerprint: name.data, owner: actor, addedAt: at }]
        : [];
    }),
    vouched: of('key_vouched').flatMap(({ key, data }) => {
      const read = vouched.safeParse(data);
      return read.success ? [{ key, signature: read.data.signature }] : [];
    }),
    revoked: of('key_revoked').map(({ key, actor, at, data }) => ({
      ...{ key, by: actor, at },
      ...revoked.safeParse(data).data,
    })),
    charters: of('charter_signed').flatMap(({ data }) => {
      const read = charter.safeParse(data);
      return read.success ? [read.data.signature] : [];
    }),
  };
}
