import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from '../accounts/account.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { settleEach, throwIfAny } from '../lib/collections.ts';
import { DAY_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';
import { type ChangeContext, changeOrder } from './change-order.ts';
import type { Directory } from './ports.ts';

/**
 * Offboards people who are no longer full members of the workspace: they were deactivated, made guests, or moved to
 * another workspace.
 */

export interface OffboardingContext extends ChangeContext {
  readonly accounts: Pick<Accounts, 'list' | 'listUserIds' | 'unlink'> & {
    readonly team: Pick<Accounts['team'], 'find'>;
  };
  /** Alerts the admins, once. The account stays linked. */
  readonly alertTeamAccountOwnerLeft: (account: Account, userId: string) => Promise<void>;
  /** Private calendar URLs. */
  readonly feeds: {
    listUserIds(): Promise<readonly string[]>;
    remove(userId: string): Promise<void>;
  };
  readonly keys: {
    listOwners(): Promise<readonly string[]>;
    revoke(userId: string): Promise<unknown>;
  };
  readonly owners: {
    listOwners(): Promise<readonly { readonly id: string; readonly hasLeft: boolean }[]>;
    recordDeparture(userId: string): Promise<void>;
    recordReturn(userId: string): Promise<void>;
  };
  readonly directory: Directory;
  readonly log: Log;
}

/**
 * Deletes all encrypted data of a person, revokes their passkeys, ends their sessions, stops their orders and all
 * orders that use their accounts, and records on their names that the owner has left. Idempotent.
 */
export async function offboard(deps: OffboardingContext, userId: string): Promise<void> {
  const accounts = await deps.accounts.list(userId);
  const accountIds = accounts.map(({ id }) => id);
  const orderIds = await deps.store.listUnfinishedIds(accountIds, userId);
  // In parallel, so that a slow service doesn't delay the rest.
  await Promise.all([
    deps.accounts.unlink(userId),
    deps.feeds.remove(userId),
    deps.keys.revoke(userId),
    deps.owners.recordDeparture(userId),
    deps.store.deletePrivateData(userId),
    ...orderIds.map((orderId) => stopOrderAfterDeparture(deps, orderId, userId)),
  ]);
  const teamAccount = await deps.accounts.team.find();
  if (teamAccount?.linkedBy === userId) await deps.alertTeamAccountOwnerLeft(teamAccount, userId);
  if (accountIds.length + orderIds.length > 0)
    deps.log.info({ userId, accountIds, orderIds }, 'a person left: credentials deleted, orders stopped');
}

async function stopOrderAfterDeparture(
  deps: OffboardingContext,
  orderId: string,
  userId: string,
): Promise<void> {
  await changeOrder(deps, orderId, (order) => ({
    event: {
      type: 'stopped',
      summary: { code: order.requesterId === userId ? 'requester_left' : 'owner_left' },
    },
  }));
}

export interface DepartureCheckContext extends OffboardingContext {
  /** Pause between two people's checks, in milliseconds. */
  readonly pauseMs?: number;
  readonly signal: AbortSignal;
}

/** One call per second leaves half of Slack's rate limit for `users.info` to approvals. */
const PAUSE_MS = 1_000;

/**
 * Checks everyone with encrypted data, the person who linked the team's account, and the owners of names, because
 * Slack's event about a departure may have been lost.
 * @returns false if Slack couldn't look up someone, so the check must be repeated soon
 * @throws {AggregateError} after everyone was checked, if a check failed
 */
async function offboardDepartedPeople(deps: DepartureCheckContext): Promise<boolean> {
  const { pauseMs = PAUSE_MS, signal } = deps;
  const { linkedBy } = (await deps.accounts.team.find()) ?? {};
  const owners = await deps.owners.listOwners();
  const idsMarkedAsLeft = new Set(owners.flatMap(({ id, hasLeft }) => (hasLeft ? id : [])));
  const userIds = new Set([
    ...(await deps.accounts.listUserIds()),
    ...(await deps.feeds.listUserIds()),
    ...(await deps.keys.listOwners()),
    ...owners.map(({ id }) => id),
    ...(linkedBy === undefined ? [] : [linkedBy]),
  ]);
  let isFirst = true;
  const checks = await settleEach(userIds, async (userId) => {
    if (!isFirst) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    isFirst = false;
    if (signal.aborted) return false;
    const membership = await deps.directory.findMembership(userId);
    if (membership === 'left') await offboard(deps, userId);
    if (membership === 'member' && idsMarkedAsLeft.has(userId)) await deps.owners.recordReturn(userId);
    return membership !== 'unknown';
  });
  throwIfAny(checks.errors);
  return !checks.results.includes(false);
}

/**
 * Returns a function that checks for departures at most once a day, or again at the next call after a failure. Replicas
 * may check at the same time.
 */
export function createDepartureCheck(deps: DepartureCheckContext): () => Promise<void> {
  let lastCompletedAt: Date | undefined;
  return async () => {
    const startedAt = deps.now();
    if (lastCompletedAt !== undefined && startedAt.getTime() - lastCompletedAt.getTime() < DAY_MS) return;
    if (await offboardDepartedPeople(deps)) lastCompletedAt = startedAt;
  };
}
