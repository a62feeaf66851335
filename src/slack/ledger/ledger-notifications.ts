import type { TeamEvent } from '../../ledger/events.ts';
import { DAY_MS } from '../../lib/duration.ts';
import type { SlackContext } from '../context.ts';
import type { Message } from '../kit/blocks.ts';
import {
  createDirectMessagePlace,
  type NotificationPlanner,
  type SendNotification,
  STATIC_VERSION,
} from '../outbound/notify.ts';
import {
  anchorDayMessage,
  anchorMessage,
  databaseRestoredMessage,
  differencesMessage,
  sealingStalledMessage,
} from './ledger.view.ts';

export async function findAlertPlace({ loadSettings }: SlackContext) {
  const { alertChannel, reminderChannel } = await loadSettings();
  const channelId = alertChannel ?? reminderChannel;
  return channelId === undefined ? undefined : { channelId };
}

export function buildLedgerAlert(event: TeamEvent): Message | undefined {
  if (event.kind === 'ledger_differs') return differencesMessage(event);
  if (event.kind === 'database_restored') return databaseRestoredMessage(event);
  return event.kind === 'sealing_stalled' ? sealingStalledMessage() : undefined;
}

export async function sendLedgerAlert(
  context: SlackContext,
  occurredAt: Date,
  message: Message,
  send: SendNotification,
): Promise<void> {
  const commonFields = { version: STATIC_VERSION, occurredAt, message: () => message };
  await send({ ...commonFields, purpose: 'alert', places: [() => findAlertPlace(context)] });
  for (const admin of await context.adminsToNotify())
    await send({
      ...commonFields,
      purpose: `to:${admin}`,
      places: [createDirectMessagePlace(context.directory, admin)],
    });
}

/** If `ALERT_CHANNEL` is set, posts one message a day in it, with the hourly anchors in the thread. */
export function createAnchorPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id: day }, send) => {
    const { alertChannel: channelId } = await context.loadSettings();
    if (channelId === undefined) return undefined;
    const dayStart = new Date(`${day}T00:00:00Z`);
    const dayEnd = new Date(dayStart.getTime() + DAY_MS);
    const anchors = await context.seals.listAnchorsBetween(dayStart, dayEnd);
    const { message: dayMessage } = await send({
      purpose: 'day',
      version: STATIC_VERSION,
      occurredAt: dayStart,
      // The reminder channel isn't a fallback, because its readers don't need hashes.
      places: [async () => ({ channelId })],
      message: () => anchorDayMessage(day),
    });
    if (dayMessage === undefined) return undefined;
    for (const anchor of anchors)
      await send({
        purpose: `seal:${anchor.n}`,
        version: STATIC_VERSION,
        occurredAt: anchor.at,
        places: [async () => ({ channelId: dayMessage.channelId, threadTs: dayMessage.ts })],
        message: () => anchorMessage(anchor),
      });
    return undefined;
  };
}
