import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { TeamEventOf } from '../ledger/events.ts';
import { loggedChanges } from '../policy/change-log.ts';
import { draftBase } from '../policy/drafts.ts';
import type { Policy, PolicyRule } from '../policy/policy.ts';
import type { PolicyDraft, PolicyStore, PublishedPolicy } from '../policy/ports.ts';
import { shareRead } from './batch.ts';
import { endQuestion, exclusiveChanges, openQuestion, writeEvents } from './changes.ts';
import { type Database, storeOf, type Transaction } from './database.ts';
import { policyRow, storedRules } from './policy-rows.ts';
import { isNextCharter, writeCharter } from './signing.ts';

/** JSON has no `undefined`: what a rule leaves out is kept as null. */
function storable(rules: readonly PolicyRule[]) {
  return rules.map(({ over, ttlMs = null, remindAfterMs = null, escalateAfterMs = null, ...rule }) => ({
    ...rule,
    over: over === undefined ? null : { ...over },
    ttlMs,
    remindAfterMs,
    escalateAfterMs,
  }));
}

const publishedRow = policyRow.extend({
  publishedBy: z.string(),
  confirmedBy: z.string(),
  confirmedAt: z.date(),
});
const draftRow = z
  .object({
    revision: z.string(),
    rules: storedRules,
    changedBy: z.string(),
    changedAt: z.date(),
    publishedBy: z.string().nullable(),
    publishedAt: z.date().nullable(),
  })
  .transform(
    ({ publishedBy: by, publishedAt: at, ...draft }): PolicyDraft => ({
      ...draft,
      published: by === null || at === null ? undefined : { by, at },
    }),
  );
/** What an installation has before anything was published. */
const NO_POLICY: Policy = { version: 0, rules: [] };

/**
 * The versions of the policy and its draft, on PostgreSQL.
 * @param teamId whose policy
 * @param canSign keys are in use: rules may ask for signatures
 */
export function createPolicyStore({ prisma }: Database, teamId: string, canSign: boolean): PolicyStore {
  const asksInVain = (rules: readonly PolicyRule[]) => !canSign && rules.some(({ signed }) => signed);

  type Reader = Pick<Transaction, 'policyVersion' | 'policyDraft'>;

  const readPublished = async (tx: Reader): Promise<PublishedPolicy | undefined> => {
    const row = await tx.policyVersion.findFirst({ where: { teamId }, orderBy: { version: 'desc' } });
    return row === null ? undefined : publishedRow.parse(row);
  };
  const readCurrent = async (tx: Reader): Promise<Policy> => (await readPublished(tx)) ?? NO_POLICY;
  const readDraft = async (tx: Reader): Promise<PolicyDraft | undefined> => {
    const row = await tx.policyDraft.findUnique({ where: { teamId } });
    return row === null ? undefined : draftRow.parse(row);
  };

  const readInForce = shareRead(async () => {
    const { version, rules } = await readCurrent(prisma);
    return { version, rules };
  });

  /** One change at a time, so that what was compared still holds when it is written. */
  const exclusively = exclusiveChanges(prisma, `policy ${teamId}`);

  const log = (tx: Transaction, event: Omit<TeamEventOf<'policy_confirmed'>, 'subject'>) =>
    writeEvents(tx, [{ ...event, subject: { kind: 'policy', id: 'policy' } }], teamId);

  return storeOf('policies', {
    current: () => readInForce(),
    published: () => readPublished(prisma),
    draft: () => readDraft(prisma),

    ofRevision: async (revision) => {
      const row = await prisma.policyVersion.findFirst({ where: { teamId, revision } });
      if (row === null) return undefined;
      const policy = publishedRow.parse(row);
      const before = await prisma.policyVersion.findFirst({ where: { teamId, version: row.version - 1 } });
      return { policy, before: before === null ? NO_POLICY : policyRow.parse(before) };
    },

    saveDraft: (rules, expected, by, at) =>
      exclusively(async (tx) => {
        const base = draftBase(await readCurrent(tx), await readDraft(tx));
        if (base.revision !== expected) return undefined;
        const changes = loggedChanges(base.rules, rules);
        const saved = {
          revision: randomUUID(),
          rules: storable(rules),
          changedBy: by,
          changedAt: at,
          publishedBy: null,
          publishedAt: null,
        };
        await tx.policyDraft.upsert({
          where: { teamId },
          create: { teamId, ...saved },
          update: saved,
        });
        await log(tx, { kind: 'policy_draft_changed', changes, actor: by, at });
        await endQuestion(tx, teamId, expected, at);
        return { revision: saved.revision, rules, changedBy: by, changedAt: at, published: undefined };
      }),

    discardDraft: (revision, by, at) =>
      exclusively(async (tx) => {
        const draft = await readDraft(tx);
        if (draft?.revision !== revision) return false;
        const { rules } = await readCurrent(tx);
        await tx.policyDraft.delete({ where: { teamId } });
        await endQuestion(tx, teamId, revision, at);
        const changes = loggedChanges(rules, draft.rules);
        await log(tx, { kind: 'policy_draft_discarded', changes, actor: by, at });
        return true;
      }),

    publish: (revision, by, at) =>
      exclusively(async (tx) => {
        const draft = await readDraft(tx);
        if (draft?.revision !== revision) return { kind: 'stale' };
        if (draft.published !== undefined) return { kind: 'published_already', by: draft.published.by };
        if (asksInVain(draft.rules)) return { kind: 'cannot_sign' };
        const changes = loggedChanges((await readCurrent(tx)).rules, draft.rules);
        if (changes.length === 0) return { kind: 'no_difference' };
        await tx.policyDraft.update({ where: { teamId }, data: { publishedBy: by, publishedAt: at } });
        await log(tx, { kind: 'policy_published', changes, actor: by, at });
        await openQuestion(tx, teamId, revision, at);
        return { kind: 'published', draft: { ...draft, published: { by, at } } };
      }),

    confirm: (revision, by, at, signed) =>
      exclusively(async (tx) => {
        const draft = await readDraft(tx);
        if (draft?.revision !== revision) return { kind: 'stale' };
        const { published, rules } = draft;
        if (published === undefined) return { kind: 'not_published' };
        if (published.by === by) return { kind: 'own' };
        if (asksInVain(rules)) return { kind: 'cannot_sign' };
        if (signed !== undefined && !(await isNextCharter(tx, teamId, signed))) return { kind: 'stale' };
        const before = await readCurrent(tx);
        const version = before.version + 1;
        await tx.policyVersion.create({
          data: {
            teamId,
            version,
            rules: storable(rules),
            revision,
            publishedBy: published.by,
            publishedAt: published.at,
            confirmedBy: by,
            confirmedAt: at,
          },
        });
        await tx.policyDraft.delete({ where: { teamId } });
        const changes = loggedChanges(before.rules, rules);
        await log(tx, { kind: 'policy_confirmed', version, changes, actor: by, at });
        await endQuestion(tx, teamId, revision, at);
        if (signed !== undefined) await writeCharter(tx, teamId, signed, at);
        const policy = { version, rules, publishedBy: published.by, confirmedBy: by, confirmedAt: at };
        return { kind: 'confirmed', policy, before };
      }),
  });
}
