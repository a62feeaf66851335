import { directMessageTo, ONCE, type WantedNotification } from '../outbound/notify.ts';
import { emergencyNotice, toldOfEmergency } from './emergency.view.ts';
import { metadataOf, type PlannedOrder } from './order-posts.ts';
import type { ReachDeps } from './reach-approvers.ts';
import { changedStatementOf, statementChangedNotice } from './statement-changed.view.ts';

/*
 * What people are told by direct message about an order, beside its card. Each is told once: what was sent is recorded, and what
 * failed is tried again. Nobody’s night is waited for.
 */

type NoticeDeps = Pick<ReachDeps, 'admins' | 'directory'>;

/** Tells everybody who could have decided, and the other admins, that one admin approved an order alone. */
export async function tellOfEmergency(deps: NoticeDeps, planned: PlannedOrder): Promise<void> {
  const { order, history } = planned;
  const entry = history.findLast((each) => each.kind === 'emergency_approved');
  if (entry === undefined) return;
  const people = new Set([...toldOfEmergency(entry), ...deps.admins]);
  // Who asked hears of it in the thread.
  for (const told of [entry.actor, order.requesterId]) people.delete(told);
  const about = { about: `${entry.version}:${entry.kind}`, since: entry.at };
  await sendOnce(deps, planned, people, { ...about, message: () => emergencyNotice(order, entry) });
}

/** Tells the admins that an order was not sent because it is not what was asked for any more. */
export async function tellOfChangedStatement(deps: NoticeDeps, planned: PlannedOrder): Promise<void> {
  const { order, history } = planned;
  const changed = changedStatementOf(order);
  if (changed === undefined) return;
  await sendOnce(deps, planned, new Set(deps.admins), {
    about: 'statement_changed',
    since: history.at(-1)?.at ?? order.createdAt,
    message: () => statementChangedNotice(order, changed),
  });
}

async function sendOnce(
  { directory }: NoticeDeps,
  { order, send }: PlannedOrder,
  people: ReadonlySet<string>,
  { about, ...notice }: Pick<WantedNotification, 'since' | 'message'> & { readonly about: string },
): Promise<void> {
  for (const userId of people) {
    await send({
      ...notice,
      purpose: `notice:${about}:${userId}`,
      version: ONCE,
      places: [directMessageTo(directory, userId)],
      metadata: metadataOf(order),
    });
  }
}
