import { splitIntoChunks } from '../../lib/collections.ts';
import type { OrdersContext } from '../../orders/context.ts';
import type { Order } from '../../orders/order.ts';
import type { SlackContext } from '../context.ts';
import type { NotificationPlanner, WantedNotification } from '../outbound/notify.ts';
import { ACTS_PER_MESSAGE, dayMessage, type NotifiedAct } from './mandate.view.ts';

/*
 * All renewals by mandates on one day are in one message in the reminder channel. If there are many, the others are in
 * its thread. The message is built from recorded acts, because it may be posted a day later.
 */

export function createMandateDayPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id: day }, send) => {
    const acts = await loadNotifiedActs(context.orders, day);
    const parts = splitIntoChunks(acts, ACTS_PER_MESSAGE);
    let firstMessage: { readonly channelId: string; readonly ts: string } | undefined;
    for (const [part, partActs] of parts.entries()) {
      const { message, state } = await send(
        await buildPart(context, day, partActs, {
          part,
          isLast: part === parts.length - 1,
          first: firstMessage,
        }),
      );
      if (message === undefined) return undefined;
      firstMessage ??= message;
      if (state !== 'current') continue;
      const ids = partActs.filter(({ act }) => act.held === undefined).map(({ act }) => act.id);
      await context.orders.mandates.recordAnnounced(ids, context.now(), firstMessage);
    }
    return undefined;
  };
}

async function buildPart(
  context: SlackContext,
  day: string,
  acts: readonly NotifiedAct[],
  {
    part,
    isLast,
    first,
  }: { part: number; isLast: boolean; first: { channelId: string; ts: string } | undefined },
): Promise<WantedNotification> {
  const { reminderChannel, reminderTimezone: timeZone } = await context.savedSettings();
  const channelId = reminderChannel ?? acts[0]?.order?.channelId;
  return {
    purpose: part === 0 ? 'day' : `day:${part + 1}`,
    version: JSON.stringify(acts.map(({ act, order }) => [act.id, act.held, act.orderId, order?.state])),
    occurredAt: acts[0]?.act.at ?? context.now(),
    places: [
      async () =>
        first === undefined
          ? channelId === undefined
            ? undefined
            : { channelId }
          : { channelId: first.channelId, threadTs: first.ts },
    ],
    mustArrive: true,
    alertsAdmins: true,
    message: () => dayMessage(day, acts, { part, isLast, timeZone }),
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
