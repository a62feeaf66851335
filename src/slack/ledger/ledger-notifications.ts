import type { TeamEvent } from '../../ledger/events.ts';
import { DAY_MS } from '../../lib/duration.ts';
import type { SlackContext } from '../context.ts';
import type { Message } from '../kit/blocks.ts';
import {
  createDirectMessagePlace,
  type NotificationPlanner,
  ONCE,
  type SendNotification,
} from '../outbound/notify.ts';
import {
  anchorDayMessage,
  anchorMessage,
  differencesMessage,
  restoredMessage,
  stalledMessage,
} from './ledger.view.ts';

export async function findAlertPlace({ savedSettings }: SlackContext) {
  const { alertChannel, reminderChannel } = await savedSettings();
  const channelId = alertChannel ?? reminderChannel;
  return channelId === undefined ? undefined : { channelId };
}

export function buildLedgerAlert(event: TeamEvent): Message | undefined {
  if (event.kind === 'ledger_differs') return differencesMessage(event);
  if (event.kind === 'database_restored') return restoredMessage(event);
  return event.kind === 'sealing_stalled' ? stalledMessage() : undefined;
}

export async function sendLedgerAlert(
  context: SlackContext,
  occurredAt: Date,
  message: Message,
  send: SendNotification,
): Promise<void> {
  const common = { version: ONCE, occurredAt, message: () => message };
  await send({ ...common, purpose: 'alert', places: [() => findAlertPlace(context)] });
  for (const admin of await context.adminsToNotify())
    await send({
      ...common,
      purpose: `to:${admin}`,
      places: [createDirectMessagePlace(context.directory, admin)],
    });
}

/** Posts one line a day in `ALERT_CHANNEL`, if it is set, with the hourly anchors in its thread. */
export function createAnchorPlanner(context: SlackContext): NotificationPlanner {
  return async ({ id: day }, send) => {
    const { alertChannel: channelId } = await context.savedSettings();
    if (channelId === undefined) return undefined;
    const dayStart = new Date(`${day}T00:00:00Z`);
    const dayEnd = new Date(dayStart.getTime() + DAY_MS);
    const anchors = await context.seals.listAnchorsBetween(dayStart, dayEnd);
    const { message: posted } = await send({
      purpose: 'day',
      version: ONCE,
      occurredAt: dayStart,
      // The reminder channel isn't a fallback, because its readers don't need hashes.
      places: [async () => ({ channelId })],
      message: () => anchorDayMessage(day),
    });
    if (posted === undefined) return undefined;
    for (const anchor of anchors)
      await send({
        purpose: `seal:${anchor.n}`,
        version: ONCE,
        occurredAt: anchor.at,
        places: [async () => ({ channelId: posted.channelId, threadTs: posted.ts })],
        message: () => anchorMessage(anchor),
      });
    return undefined;
  };
}
