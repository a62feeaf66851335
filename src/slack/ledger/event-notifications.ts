import { findSilentPeople } from '../../approvals/approvers.ts';
import { buildDefaultRequirement } from '../../approvals/requirements.ts';
import type { TeamEvent } from '../../ledger/events.ts';
import { charterStatusMessage } from '../approvals/signing/charter.view.ts';
import type { SlackContext } from '../context.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { createDirectMessagePlace, type NotificationPlanner, STATIC_VERSION } from '../outbound/notify.ts';
import { replaceNotificationMentions } from '../outbound/plain-names.ts';
import {
  lapseConfirmedText,
  renewedText,
  reroutedText,
  snoozedText,
  standInTextsByUser,
} from './event-notification.view.ts';
import { buildLedgerAlert, sendLedgerAlert } from './ledger-notifications.ts';

/* Notifications about events. Each is sent once. */

export function createEventPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id }, sendWithMentions) => {
    const event = await context.events.find(id);
    if (event === undefined) return undefined;
    const { directory } = context;
    const silentPeople = await findSilentPeople(directory, [
      buildDefaultRequirement(await context.loadSettings(), []),
    ]);
    const send: typeof sendWithMentions = (notification) =>
      sendWithMentions(replaceNotificationMentions(directory, notification, silentPeople));
    const commonFields = { version: STATIC_VERSION, occurredAt: event.at };
    if (event.kind === 'stand_in_changed') {
      for (const [userId, text] of standInTextsByUser(event)) {
        if (silentPeople.has(userId)) continue;
        const places = [createDirectMessagePlace(directory, userId)];
        await send({ ...commonFields, purpose: `to:${userId}`, places, message: () => textMessage(text) });
      }
      return undefined;
    }
    const alert = event.kind === 'charter_status' ? charterStatusMessage(event) : buildLedgerAlert(event);
    if (alert !== undefined) {
      await sendLedgerAlert(context, event.at, alert, send);
      return undefined;
    }
    if (event.kind === 'notices_rerouted') {
      const { reminderChannel } = await context.loadSettings();
      const places = [
        async () => (reminderChannel === undefined ? undefined : { channelId: reminderChannel }),
      ];
      await send({
        ...commonFields,
        purpose: 'notice',
        places,
        message: () => textMessage(reroutedText(event)),
      });
      return undefined;
    }
    const origin = 'origin' in event ? event.origin : undefined;
    // The fallback is a direct message to the person who decided.
    const places = [
      async () => (origin?.channelId === '' ? undefined : origin),
      createDirectMessagePlace(directory, event.actor),
    ];
    await send({
      ...commonFields,
      purpose: 'decision',
      places,
      message: () => buildDecisionMessage(context, event),
    });
    return undefined;
  };
}

async function buildDecisionMessage(context: SlackContext, event: TeamEvent): Promise<Message> {
  switch (event.kind) {
    case 'name_snoozed':
      return textMessage(snoozedText(event, (await context.loadSettings()).reminderTimezone));
    case 'name_renewed':
      return textMessage(renewedText(event));
    case 'lapse_confirmed':
      return textMessage(lapseConfirmedText(event));
    default:
      throw new Error(`no notification for ${event.kind}`);
  }
}
