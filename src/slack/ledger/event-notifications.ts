import type { TeamEvent } from '../../ledger/events.ts';
import type { Impact } from '../../names/impact.ts';
import { charterStatusMessage } from '../approvals/signing/charter.view.ts';
import { waitingNow } from '../approvals/waiting.ts';
import type { SlackContext } from '../context.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { quoteText, waitingText } from '../money/price.view.ts';
import { impactLines } from '../orders/impact.view.ts';
import { directMessageTo, type NotificationPlanner, ONCE } from '../outbound/notify.ts';
import { alertOfLedger, ledgerMessage } from './ledger-notifications.ts';
import {
  type KnownOfLapse,
  lapseConfirmedText,
  lapseRequest,
  reroutedText,
  snoozedText,
  standInTexts,
} from './told-event.view.ts';

/* What people are told of an event, once. */

export function createEventPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id }, send) => {
    const event = await context.events.find(id);
    if (event === undefined) return undefined;
    const told = { version: ONCE, since: event.at };
    if (event.kind === 'stand_in_changed') {
      for (const [userId, text] of standInTexts(event)) {
        const places = [directMessageTo(context.directory, userId)];
        await send({ ...told, purpose: `to:${userId}`, places, message: () => textMessage(text) });
      }
      return undefined;
    }
    const alert = event.kind === 'charter_status' ? charterStatusMessage(event) : ledgerMessage(event);
    if (alert !== undefined) {
      await alertOfLedger(context, event.at, alert, send);
      return undefined;
    }
    if (event.kind === 'notices_rerouted') {
      const { reminderChannel } = await context.savedSettings();
      const places = [
        async () => (reminderChannel === undefined ? undefined : { channelId: reminderChannel }),
      ];
      await send({ ...told, purpose: 'notice', places, message: () => textMessage(reroutedText(event)) });
      return undefined;
    }
    const origin = 'origin' in event ? event.origin : undefined;
    // At least the person who decided is told.
    const places = [
      async () => (origin?.channelId === '' ? undefined : origin),
      directMessageTo(context.directory, event.actor),
    ];
    await send({ ...told, purpose: 'decision', places, message: () => decisionMessage(context, event) });
    return undefined;
  };
}

async function decisionMessage(context: SlackContext, event: TeamEvent): Promise<Message> {
  switch (event.kind) {
    case 'name_snoozed':
      return textMessage(snoozedText(event, (await context.savedSettings()).reminderTimezone));
    case 'lapse_requested': {
      const { id } = event.subject;
      const known = await knownOfLapse(context, id, context.names.impacts.ofName(id, 'lapse'));
      return lapseRequest({ name: id, actor: event.actor, reason: event.reason }, known);
    }
    case 'lapse_confirmed':
      return textMessage(lapseConfirmedText(event));
    default:
      throw new Error(`nobody is told of ${event.kind}`);
  }
}

/** What is said of a name that may lapse: what hangs on it, or that it could not be found out, and what waiting costs. */
export async function knownOfLapse(
  context: SlackContext,
  name: string,
  look: Promise<Impact>,
): Promise<KnownOfLapse> {
  const [waiting, impact] = await Promise.all([
    context.expiry.find(name).then((domain) => waitingNow(context, domain)),
    look.catch((err: unknown) => {
      context.log.error({ err, name }, 'looking what hangs on a name');
      return 'unseen' as const;
    }),
  ]);
  const [now] = waiting;
  return {
    impact: impactLines(impact),
    waiting: waitingText(waiting),
    keep: now === undefined || now.kind === 'lost' ? '' : `, ${quoteText(now.renewal)}`,
  };
}
