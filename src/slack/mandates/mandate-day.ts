import { splitIntoChunks } from '../../lib/collections.ts';
import type { OrdersContext } from '../../orders/context.ts';
import type { Order } from '../../orders/order.ts';
import type { SlackContext } from '../context.ts';
import type { NotificationPlanner, NotificationSpec } from '../outbound/notify.ts';
import { ACTS_PER_MESSAGE, mandateDayMessage, type NotifiedAct } from './mandate.view.ts';

/*
 * A message in the reminder channel announces a day's renewals by mandates. Those that don't fit are in its thread.
 * The message is built from recorded acts, because it may be posted a day later.
 */

export function createMandateDayPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id: day }, send) => {
    const acts = await loadNotifiedActs(context.orders, day);
    const parts = splitIntoChunks(acts, ACTS_PER_MESSAGE);
    let firstMessage: { readonly channelId: string; readonly ts: string } | undefined;
    for (const [part, partActs] of parts.entries()) {
      const { message, state } = await send(
        await buildPartNotification(context, day, partActs, {
          part,
          isLast: part === parts.length - 1,
          first: firstMessage,
        }),
      );
      if (message === undefined) return undefined;
      firstMessage ??= message;
      if (state !== 'current') continue;
      const ids = partActs.filter(({ act }) => act.held === undefined).map(({ act }) => act.id);
      await context.orders.mandates.recordAnnouncement(ids, context.now(), firstMessage);
    }
    return undefined;
  };
}

async function buildPartNotification(
  context: SlackContext,
  day: string,
  acts: readonly NotifiedAct[],
  {
    part,
    isLast,
    first,
  }: { part: number; isLast: boolean; first: { channelId: string; ts: string } | undefined },
): Promise<NotificationSpec> {
  const { reminderChannel, reminderTimezone: timeZone } = await context.loadSettings();
  const channelId = reminderChannel ?? acts[0]?.order?.channelId;
  const channelPlace = channelId === undefined ? undefined : { channelId };
  return {
    purpose: part === 0 ? 'day' : `day:${part + 1}`,
    version: JSON.stringify(acts.map(({ act, order }) => [act.id, act.held, act.orderId, order?.state])),
    occurredAt: acts[0]?.act.at ?? context.now(),
    places: [
      async () => (first === undefined ? channelPlace : { channelId: first.channelId, threadTs: first.ts }),
    ],
    mustArrive: true,
    alertsAdmins: true,
    message: () => mandateDayMessage(day, acts, { part, isLast, timeZone }),
  };
}

async function loadNotifiedActs(
  { mandates, store }: OrdersContext,
  day: string,
): Promise<readonly NotifiedAct[]> {
  const acts = await mandates.listActsOfDay(day);
  return Promise.all(
    acts.map(async (act) => ({
      act,
      order: act.orderId === undefined ? undefined : await store.load(act.orderId, 'system'),
    })),
  );
}

/** Whether an order's card must wait for the daily message, because it goes in that message's thread. */
export function mustWaitForDayMessage({ mandate, threadTs }: Order): boolean {
  return mandate !== undefined && threadTs === undefined;
}
