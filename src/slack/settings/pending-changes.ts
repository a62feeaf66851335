import type { PendingChanges } from '../../policy/pending-changes.ts';
import { approverErrors, withChanges } from '../approvals/approver-errors.ts';
import { offerCharterLink } from '../approvals/signing/offer-link.ts';
import type { SlackContext } from '../context.ts';
import type { ActionCall, Interaction } from '../feature.ts';
import {
  askedText,
  changeEnded,
  changeRequest,
  NOT_CONFIRMED,
  type WaitingChange,
  waitsText,
} from './pending-change.view.ts';
import { otherAdmins } from './pending-change-notifications.ts';

/* Changes of settings and prices that loosen what decides. Another admin confirms them. */

type Change<Kind extends WaitingChange['kind']> = Extract<WaitingChange, { kind: Kind }>['change'];

/** All that waits, the oldest of each kind first. */
export async function waitingChanges({
  pendingChanges,
  now,
}: SlackContext): Promise<readonly WaitingChange[]> {
  const [settings, prices] = await Promise.all([
    pendingChanges.settings.list(now()),
    pendingChanges.prices.list(now()),
  ]);
  return [
    ...settings.map((each) => ({ kind: 'settings' as const, ...each })),
    ...prices.map((each) => ({ kind: 'prices' as const, ...each })),
  ];
}

/**
 * Keeps changed settings until another admin confirms them.
 * @returns what who asked is told; mrkdwn
 */
export async function waitWithSettings(call: Interaction, change: Change<'settings'>): Promise<string[]> {
  return toldOf(call, {
    kind: 'settings',
    ...(await keep(call, call.context.pendingChanges.settings, change)),
  });
}

/** The same for prices. */
export async function waitWithPrices(call: Interaction, change: Change<'prices'>): Promise<string[]> {
  return toldOf(call, { kind: 'prices', ...(await keep(call, call.context.pendingChanges.prices, change)) });
}

async function keep<C>(call: Interaction, changes: PendingChanges<C>, change: C) {
  const { context, person, acknowledge } = call;
  const { approvalTtl } = await context.savedSettings();
  const at = context.now();
  const waiting = await changes.request(change, person.id, at, new Date(at.getTime() + approvalTtl));
  acknowledge();
  context.log.info({ by: person.id, change }, 'a change waits for an admin');
  context.notifyDue();
  return waiting;
}

async function toldOf({ context, person }: Interaction, waiting: WaitingChange): Promise<string[]> {
  const asked = askedText(await otherAdmins(context, person.id), '/domain settings');
  return [...waitsText(waiting, await context.directory.localeOf(person.id)), asked];
}

async function findWaiting(context: SlackContext, id: string): Promise<WaitingChange | undefined> {
  return (await waitingChanges(context)).find((waiting) => waiting.id === id);
}

/** The settings under which there may be too few who approve. */
const COUNTED: ReadonlySet<string> = new Set(['approvers', 'approvals_required']);

/** Another admin lets a change take effect. */
export async function confirmChange(call: ActionCall): Promise<void> {
  const { context, person, value } = call;
  const waiting = await findWaiting(context, value);
  if (waiting === undefined) return call.respond(NOT_CONFIRMED.gone);
  if (waiting.kind === 'settings' && waiting.change.some(({ name }) => COUNTED.has(name))) {
    const next = withChanges(await context.savedSettings(), waiting.change);
    const [error] = Object.values(await approverErrors(context, next));
    if (error !== undefined) return call.respond(NOT_CONFIRMED.impossible(error));
  }
  if (waiting.kind === 'settings' && context.orders.signing.use !== undefined)
    return offerCharterLink(call, 'settings', value);
  const outcome = await context.pendingChanges[waiting.kind].confirm(value, person.id, context.now());
  if (outcome.kind === 'stale') return showAgain(call, waiting.kind, outcome.again?.id);
  if (outcome.kind !== 'confirmed') return call.respond(NOT_CONFIRMED[outcome.kind]);
  call.acknowledge();
  context.log.info(
    { by: person.id, askedBy: waiting.askedBy, change: waiting.change },
    'a change was confirmed',
  );
  await showEnd(call, waiting, 'confirmed');
  await context.refreshWaitingCards();
}

/** Shows what is left of a change of what has changed meanwhile. The outbox asks all others. */
async function showAgain(
  { context, person, respond }: ActionCall,
  kind: WaitingChange['kind'],
  id: string | undefined,
): Promise<void> {
  context.notifyDue();
  await respond(NOT_CONFIRMED.stale);
  const again = id === undefined ? undefined : await findWaiting(context, id);
  if (again?.kind !== kind) return;
  const locale = await context.directory.localeOf(person.id);
  await respond(changeRequest(again, { userId: person.id, locale }));
}

/** An admin drops a change that waits. */
export async function dismissChange(call: ActionCall): Promise<void> {
  const { context, person, value } = call;
  const waiting = await findWaiting(context, value);
  if (
    waiting === undefined ||
    (await context.pendingChanges[waiting.kind].dismiss(value, person.id, context.now())) === undefined
  )
    return call.respond(NOT_CONFIRMED.gone);
  call.acknowledge();
  context.log.info(
    { by: person.id, askedBy: waiting.askedBy, change: waiting.change },
    'a change was dropped',
  );
  await showEnd(call, waiting, 'dismissed');
}

/** Shows who pressed what became of the change. The outbox tells all others. */
async function showEnd(
  { context, person, respond }: ActionCall,
  waiting: WaitingChange,
  outcome: 'confirmed' | 'dismissed',
): Promise<void> {
  context.notifyDue();
  const locale = await context.directory.localeOf(person.id);
  await respond(changeEnded(waiting, { outcome, by: person.id }, locale), { replace: true });
}
