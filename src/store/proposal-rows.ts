import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  type NewProposal,
  PROPOSAL_STATES,
  type Proposal,
  type ProposalKind,
} from '../approvals/proposals/proposal.ts';
import { approvalSignatureSchema } from '../approvals/signing/approval.ts';
import { hashJson } from '../lib/canonical-json.ts';
import { messagePlaceSchema } from '../outbox/notifications.ts';
import { buildPlanNotificationKey } from './changes.ts';
import { optional, optionalText } from './columns.ts';
import { Prisma, type Transaction } from './database.ts';
import { nextPolicySchema, toStorableRules } from './policy-rows.ts';
import { proposedNameChangesSchema, toStorableNameChanges } from './portfolio.ts';
import { proposedPricesSchema } from './prices.ts';
import { proposedSettingsSchema } from './settings.ts';

const kindAndPayloadSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('settings'), payload: proposedSettingsSchema }),
  z.object({ kind: z.literal('prices'), payload: proposedPricesSchema }),
  z.object({ kind: z.literal('policy'), payload: nextPolicySchema }),
  z.object({ kind: z.literal('facts'), payload: proposedNameChangesSchema }),
  z.object({ kind: z.literal('lapse'), payload: proposedNameChangesSchema }),
]);

async function toStorablePayload(
  proposal: Pick<NewProposal, 'kind' | 'payload'>,
): Promise<Prisma.InputJsonValue> {
  const { payload } = proposal;
  if ('names' in payload) return toStorableNameChanges(payload);
  const storable =
    'rules' in payload
      ? { ...payload, before: toStorableRules(payload.before), rules: toStorableRules(payload.rules) }
      : payload;
  // Drops undefined members.
  return z.json().parse(JSON.parse(JSON.stringify(storable))) ?? {};
}

const commonColumnsSchema = z
  .object({
    id: z.string(),
    subject: optionalText,
    proposedBy: z.string(),
    proposedAt: z.date(),
    expiresAt: optional(z.date()),
    origin: optional(messagePlaceSchema),
    confirmations: z.array(z.object({ userId: z.string(), signed: approvalSignatureSchema.optional() })),
    state: z.enum(PROPOSAL_STATES),
    endedBy: optionalText,
    version: z.number(),
  })
  .transform(({ proposedBy: proposer, ...row }) => ({ ...row, proposer }));

type ProposalRow = Prisma.ProposalGetPayload<Record<string, never>>;

/** @param now to determine whether an open proposal has expired */
export async function readProposal(row: ProposalRow, now: Date): Promise<Proposal> {
  const { state, ...columns } = commonColumnsSchema.parse(row);
  const isExpired = state === 'proposed' && columns.expiresAt !== undefined && columns.expiresAt <= now;
  const { kind, payload } = row;
  const hash = hashJson({ kind, proposer: columns.proposer, payload });
  return {
    ...columns,
    hash,
    state: isExpired ? 'expired' : state,
    ...(await kindAndPayloadSchema.parseAsync(row)),
  };
}

export function buildOpenProposalFilter(teamId: string, kinds: readonly ProposalKind[], now: Date) {
  const expiryFilter = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  return { teamId, kind: { in: [...kinds] }, state: 'proposed', ...expiryFilter };
}

/**
 * Adds a proposal and notifies the people who can confirm it.
 * @returns the open proposal if the change was already proposed
 */
export async function addProposal(tx: Transaction, teamId: string, proposal: NewProposal): Promise<Proposal> {
  const { id = randomUUID(), kind, subject, proposer, proposedAt, expiresAt, origin } = proposal;
  const payload = await toStorablePayload(proposal);
  const openFilter = buildOpenProposalFilter(teamId, [kind], proposedAt);
  const where = { ...openFilter, proposedBy: proposer, payload: { equals: payload } };
  const existingRow = await tx.proposal.findFirst({ where });
  if (existingRow !== null) return readProposal(existingRow, proposedAt);
  if (subject !== undefined) await withdrawOpenProposals(tx, teamId, { kind, subject }, proposer, proposedAt);
  const row = await tx.proposal.create({
    data: {
      ...{ id, teamId, kind, payload, proposedAt, origin: origin ?? Prisma.DbNull },
      ...{ subject: subject ?? null, proposedBy: proposer, expiresAt: expiresAt ?? null },
    },
  });
  const planKey = buildPlanNotificationKey(teamId, 'proposal', id);
  await tx.notification.create({ data: { ...planKey, version: 1, dueAt: proposedAt } });
  return readProposal(row, proposedAt);
}

export async function withdrawOpenProposals(
  tx: Transaction,
  teamId: string,
  selection: { readonly kind: ProposalKind; readonly subject?: string; readonly id?: string },
  endedBy: string,
  endedAt: Date,
): Promise<void> {
  const where = { ...buildOpenProposalFilter(teamId, [selection.kind], endedAt), ...selection };
  for (const { id, version } of await tx.proposal.findMany({ where, select: { id: true, version: true } }))
    await changeOpenProposal(tx, teamId, { id, version }, { state: 'withdrawn', endedBy, endedAt }, endedAt);
}

/**
 * Changes an open proposal, and requests an update of its messages.
 * @returns false if the proposal has changed or ended
 */
export async function changeOpenProposal(
  tx: Transaction,
  teamId: string,
  { id, version }: Pick<Proposal, 'id' | 'version'>,
  data: Prisma.ProposalUpdateManyMutationInput,
  changedAt: Date,
): Promise<boolean> {
  const { count } = await tx.proposal.updateMany({
    where: { id, teamId, version, state: 'proposed' },
    data: { ...data, version: { increment: 1 } },
  });
  if (count === 0) return false;
  await tx.notification.updateMany({
    where: buildPlanNotificationKey(teamId, 'proposal', id),
    data: { version: { increment: 1 }, dueAt: changedAt },
  });
  return true;
}
