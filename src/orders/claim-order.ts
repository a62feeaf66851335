import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type SealedSecret, UnknownKeyError, type Vault, VaultError } from '../accounts/vault.ts';
import { recheckScheduledOrder, UNCHANGED } from '../approvals/scheduled-order.ts';
import { compareAndSwap } from '../lib/compare-and-swap.ts';
import type { Log } from '../lib/log.ts';
import type { HoldReason } from '../mandates/codes.ts';
import { checkClearance } from '../mandates/sending.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Secret } from '../service/secret.ts';
import { commitDecision } from './change-order.ts';
import { loadChangedParts, StatementChangedError } from './check-statement.ts';
import type { SendingContext } from './context.ts';
import { decideClaim, decideSending, type SendingDecision, type SendingFacts } from './decide-sending.ts';
import { findWaitingItems, isWaitingForSendTime, type Order } from './order.ts';
import { checkMembers, findParties, type Party } from './parties.ts';
import type { MandateUse } from './ports.ts';
import {
  buildInputAssociatedData,
  buildItemInputAssociatedData,
  verifyAndUnsaltSecret,
} from './salted-secret.ts';
import { verifyStatement } from './statement.ts';
import type { Statement } from './statement-shape.ts';

/** A worker that is unresponsive for longer than this is considered dead. */
export const LEASE_MS = 20_000;

/** An order that this process has claimed, with everything needed for its requests. */
export interface ClaimedOrder {
  readonly order: Order;
  readonly workerId: string;
  /** People who must still be members of the workspace when an item is sent. */
  readonly people: readonly Party[];
  /** Undefined for an order without a mandate. */
  readonly mandateUse: MandateUse | undefined;
  readonly preparation: RequestPreparation;
}

/** Shared by all requests of an order. */
export interface ReadyRequests {
  readonly kind: 'ready';
  readonly client: ServiceClient;
  readonly statement: Statement;
  /** Keyed by the secret's hash in the statement. */
  readonly secrets: ReadonlyMap<string, Secret>;
}

type RequestPreparation =
  | ReadyRequests
  | { readonly kind: 'account_gone' }
  | { readonly kind: 'failed'; readonly error: unknown };

/**
 * Claims an approved order. If it can't be sent now, postpones, pauses, reopens or stops it.
 * @param snapshot the order, just read by the caller
 * @returns undefined if nothing is sent now
 */
export async function claimOrder(
  context: SendingContext,
  snapshot: Order,
): Promise<ClaimedOrder | undefined> {
  const claimed = await compareAndSwap(
    `claiming order ${snapshot.id}`,
    async (tries) => (tries === 0 ? snapshot : context.store.load(snapshot.id, 'system')),
    async (order) => (order === undefined ? NOT_CLAIMED : tryToClaim(context, order, order !== snapshot)),
  );
  return claimed === NOT_CLAIMED ? undefined : claimed;
}

const NOT_CLAIMED = 'not_claimed';

/**
 * @param isFresh whether the order was just read; otherwise a decision to wait may be outdated
 * @returns undefined if the caller must read the order and decide again
 */
async function tryToClaim(
  context: SendingContext,
  order: Order,
  isFresh: boolean,
): Promise<ClaimedOrder | typeof NOT_CLAIMED | undefined> {
  const statement = verifyStatement(order, context.serviceEndpoints);
  const claimDecision = decideClaim({
    order,
    now: context.now(),
    pauseEndsAt: order.bulk === undefined ? context.now() : await computePauseEnd(context),
    changedParts: statement === undefined ? await loadChangedParts(context, order) : undefined,
  });
  const facts =
    claimDecision === undefined && statement !== undefined
      ? await loadSendingFacts(context, order, statement)
      : undefined;
  const decision = claimDecision ?? (facts && decideSending(facts));
  if (decision === undefined) return NOT_CLAIMED;
  if (!('event' in decision)) {
    if (!isFresh) return undefined;
    await postpone(context, order, decision);
    return NOT_CLAIMED;
  }
  if (decision.kind === 'held') await recordMandateHold(context, order.id, decision.holdReason);
  // The store saves a lease only with a claim, and ignores `leaseMs` for other events.
  const change = { event: decision.event, extra: { leaseMs: context.leaseMs } };
  const saved = await commitDecision(context, order, change, isFresh);
  if (saved === undefined) return undefined;
  // The message about the reopening warns the approvers of the impact, so their next click is accepted.
  if (saved.ok && decision.event.type === 'reopened' && decision.event.reasons.includes('impact'))
    await context.recordImpactWarning(order.id);
  return saved.ok && decision.kind === 'claim' && facts !== undefined
    ? { ...facts, order: saved.order }
    : NOT_CLAIMED;
}

/**
 * Records that a mandate holds an order. If the mandate has ended, nothing is recorded, because another mandate may
 * renew the name.
 */
export async function recordMandateHold(
  { mandates, now }: SendingContext,
  orderId: string,
  holdReason: HoldReason,
): Promise<void> {
  if (holdReason !== 'mandate_ended') await mandates.holdOrder(orderId, holdReason, now());
}

async function postpone(
  { store, log }: SendingContext,
  order: Order,
  decision: Exclude<SendingDecision, { readonly event: unknown }>,
): Promise<void> {
  if (decision.kind === 'later') await store.reschedule(order, decision.until);
  if (decision.kind === 'key_unknown') await store.releaseToOthers(order.id);
  if (decision.kind !== 'membership_unknown') return;
  warnUnknownMembership(log, order.id, decision.userId);
  await store.postpone(order.id);
}

export function warnUnknownMembership(log: Log, orderId: string, userId: string): void {
  log.warn({ orderId, userId }, 'order not sent yet: Slack can’t confirm that this person is still a member');
}

/** Computes when an order that pauses now expires, unless a person resumes it. */
export async function computePauseEnd({ loadSettings, now }: SendingContext): Promise<Date> {
  return new Date(now().getTime() + (await loadSettings()).approvalTtlMs);
}

/** Loads everything that the decision and the requests need in addition to the order's row. */
async function loadSendingFacts(
  context: SendingContext,
  order: Order,
  statement: Statement,
): Promise<SendingFacts & Omit<ClaimedOrder, 'order'>> {
  // A database that has lost commits can return the same version twice, so only an id identifies a claim.
  const workerId = `${context.workerId}/${randomUUID()}`;
  const clearance = order.mandate === undefined ? undefined : await checkClearance(context, order);
  const [{ people }, preparation, recheck] = await Promise.all([
    findParties(context.findAccount, order),
    prepareRequests(context, order, statement),
    isWaitingForSendTime(order) ? recheckScheduledOrder(context, order) : UNCHANGED,
  ]);
  return {
    workerId,
    clearance,
    people,
    recheck,
    memberCheck: await checkMembers(context.directory, people),
    mandateUse: clearance?.kind === 'clear' ? clearance.mandateUse : undefined,
    preparation,
    isKeyUnknown: preparation.kind === 'failed' && preparation.error instanceof UnknownKeyError,
  };
}

/** Loads the client and decrypts the secrets. Returns errors, because they become the items' outcomes. */
async function prepareRequests(
  context: SendingContext,
  order: Order,
  statement: Statement,
): Promise<RequestPreparation> {
  try {
    const client = await context.loadClient(order.account.id);
    if (client === undefined) return { kind: 'account_gone' };
    const { method, login, context: contextNumber } = order.account;
    if (!isDeepStrictEqual(client.account, { method, login, context: contextNumber }))
      throw new StatementChangedError(['account']);
    return { kind: 'ready', client, statement, secrets: await decryptSecrets(context, order) };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** @throws if a secret differs from the statement */
async function decryptSecrets(
  { store, vault }: SendingContext,
  order: Order,
): Promise<ReadonlyMap<string, Secret>> {
  const secrets = new Map<string, Secret>();
  if (order.secretHash !== undefined) {
    const sealedInput = await store.loadSealedInput(order.id);
    secrets.set(
      order.secretHash,
      decryptSecret(vault, order.secretHash, sealedInput, buildInputAssociatedData(order)),
    );
  }
  const items = findWaitingItems(order).flatMap((item) =>
    item.secretHash === undefined ? [] : { item, hash: item.secretHash },
  );
  if (items.length === 0) return secrets;
  const sealedInputs = await store.loadSealedItemInputs(order.id);
  for (const { item, hash } of items)
    secrets.set(
      hash,
      decryptSecret(vault, hash, sealedInputs.get(item.n), buildItemInputAssociatedData(order, item)),
    );
  return secrets;
}

/**
 * @throws {UnknownKeyError} if this replica doesn't have the key
 * @throws {StatementChangedError} if the secret can't be decrypted or differs from the statement
 */
function decryptSecret(
  vault: Vault,
  hash: string,
  sealedSecret: SealedSecret | undefined,
  associatedData: readonly string[],
): Secret {
  try {
    const secret = sealedSecret && verifyAndUnsaltSecret(vault.open(sealedSecret, associatedData), hash);
    if (secret !== undefined) return secret;
  } catch (error) {
    if (!(error instanceof VaultError) || error instanceof UnknownKeyError) throw error;
    throw new StatementChangedError(['secret'], { cause: error });
  }
  throw new StatementChangedError(['secret']);
}
