import type { Order } from '../orders/order.ts';
import type { HistoryEntry, MessageRef } from '../orders/ports.ts';
import { SlackApiError } from './platform/web.ts';
import { type ReachDeps, sendTo } from './reach-approvers.ts';
import { emergencyNotice, toldOfEmergency } from './views/emergency.ts';

/**
 * Tells everybody who could have decided, and the other admins, by direct message that one admin approved an order alone.
 * Each is told once: what was sent is recorded, and what failed is tried again. Nobody’s night is waited for.
 * @returns what to try again for
 */
export async function tellOfEmergency(
  deps: ReachDeps,
  {
    order,
    history,
    refs,
  }: {
    readonly order: Order;
    readonly history: readonly HistoryEntry[];
    /** Where messages of the order stand. */
    readonly refs: readonly MessageRef[];
  },
): Promise<SlackApiError | undefined> {
  const entry = history.findLast(({ kind }) => kind === 'emergency_approved');
  if (entry === undefined) return undefined;
  let problem: SlackApiError | undefined;
  const people = new Set([...toldOfEmergency(entry), ...deps.admins]);
  for (const userId of people) {
    const purpose = `notice:${entry.version}:${entry.kind}:${userId}`;
    // Who asked hears of it in the thread.
    const isConcerned = userId !== entry.actor && userId !== order.requesterId;
    if (!isConcerned || refs.some((ref) => ref.purpose === purpose)) continue;
    const sent = await sendTo(deps, { userId, purpose }, order, emergencyNotice(order, entry));
    if (sent instanceof SlackApiError) problem = sent;
  }
  return problem;
}
