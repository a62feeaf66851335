import type { Order } from '../orders/order.ts';
import type { HistoryEntry, MessageRef } from '../orders/ports.ts';
import { SlackApiError } from './platform/web.ts';
import { type ReachDeps, sendTo } from './reach-approvers.ts';
import type { Message } from './views/blocks.ts';
import { emergencyNotice, toldOfEmergency } from './views/emergency.ts';
import { changedStatementOf, statementChangedNotice } from './views/statement-changed.ts';

/*
 * What people are told by direct message about an order, beside its card. Each is told once: what was sent is recorded, and what
 * failed is tried again. Nobody’s night is waited for.
 */

/** An order with all that is told of it. */
interface Noticed {
  readonly order: Order;
  readonly history: readonly HistoryEntry[];
  /** Where messages of the order stand. */
  readonly refs: readonly MessageRef[];
}

/**
 * Tells everybody who could have decided, and the other admins, that one admin approved an order alone.
 * @returns what to try again for
 */
export async function tellOfEmergency(
  deps: ReachDeps,
  { history, ...noticed }: Noticed,
): Promise<SlackApiError | undefined> {
  const { order } = noticed;
  const entry = history.findLast(({ kind }) => kind === 'emergency_approved');
  if (entry === undefined) return undefined;
  const people = new Set([...toldOfEmergency(entry), ...deps.admins]);
  // Who asked hears of it in the thread.
  for (const told of [entry.actor, order.requesterId]) people.delete(told);
  return sendOnce(deps, noticed, people, `${entry.version}:${entry.kind}`, emergencyNotice(order, entry));
}

/**
 * Tells the admins that an order was not sent because it is not what was asked for any more.
 * @returns what to try again for
 */
export async function tellOfChangedStatement(
  deps: ReachDeps,
  noticed: Noticed,
): Promise<SlackApiError | undefined> {
  const changed = changedStatementOf(noticed.order);
  if (changed === undefined) return undefined;
  const notice = statementChangedNotice(noticed.order, changed);
  return sendOnce(deps, noticed, new Set(deps.admins), 'statement_changed', notice);
}

async function sendOnce(
  deps: ReachDeps,
  { order, refs }: Pick<Noticed, 'order' | 'refs'>,
  people: ReadonlySet<string>,
  about: string,
  notice: Message,
): Promise<SlackApiError | undefined> {
  let problem: SlackApiError | undefined;
  for (const userId of people) {
    const purpose = `notice:${about}:${userId}`;
    if (refs.some((ref) => ref.purpose === purpose)) continue;
    const sent = await sendTo(deps, { userId, purpose }, order, notice);
    if (sent instanceof SlackApiError) problem = sent;
  }
  return problem;
}
