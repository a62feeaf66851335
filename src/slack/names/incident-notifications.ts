import { findNotifiedPeople } from '../../approvals/approvers.ts';
import { buildDefaultRequirement } from '../../approvals/requirements.ts';
import type { TeamSettings } from '../../config/environment.ts';
import { dropMissing, groupBy } from '../../lib/collections.ts';
import { DAY_MS, HOUR_MS } from '../../lib/duration.ts';
import { type Incident, isOpen, listIncidentKinds } from '../../names/incident.ts';
import { hasUnknownTransfer } from '../../names/trust.ts';
import { filterPrivateOrderIds } from '../../orders/visibility.ts';
import type { ClaimedSubject, PostedMessage } from '../../outbox/notifications.ts';
import { findNotifiedIds } from '../../policy/policy.ts';
import type { SlackContext } from '../context.ts';
import type { Message } from '../kit/blocks.ts';
import {
  createDirectMessagePlace,
  type NotificationPlanner,
  type NotificationSpec,
  type SendNotification,
  STATIC_VERSION,
} from '../outbound/notify.ts';
import type { MessageMetadata } from '../outbound/post-message.ts';
import {
  addedChangesReply,
  alarmRaisedMessage,
  alarmRaisedReply,
  backToNormalReply,
  confirmedExplanationReply,
  type IncidentPeople,
  incidentMessage,
  incidentRunbook,
  proposedExplanationReply,
} from './incident.view.ts';
import type { RegistrarInfo } from './runbook.view.ts';

/* Messages about an incident: the alarm, its copy in the name's channel, and the replies in both threads. */

interface NameInfo extends RegistrarInfo {
  readonly owner: string | undefined;
  readonly channel: string | undefined;
}

const COUNTDOWN_INTERVAL_MS = HOUR_MS;
const MAX_COUNTDOWN_MS = 10 * DAY_MS;
/** How many of the name's latest incidents are searched for a completed transfer. */
const MAX_INCIDENTS_CHECKED = 5;
const COPY_PURPOSE_PREFIX = 'incident:in:';

interface ReplyContext {
  readonly incident: Incident;
  readonly name: NameInfo;
  readonly people: IncidentPeople;
  readonly privateOrders: ReadonlySet<string>;
  readonly claim: ClaimedSubject;
  readonly send: SendNotification;
}

export function createIncidentPlanner(context: SlackContext): NotificationPlanner {
  return async (claim, send) => {
    const incident = await context.incidents.find(claim.id);
    if (incident === undefined) return undefined;
    const orderIds = incident.changes.flatMap((change) => change.orders.map(({ id }) => id));
    const [admins, privateOrders, transferredAt, name, settings] = await Promise.all([
      context.adminsToNotify(),
      filterPrivateOrderIds(context.orders, orderIds),
      findTransferTime(context, incident),
      loadName(context, incident.name),
      context.loadSettings(),
    ]);
    const { channel: nameChannel } = name;
    const now = context.now();
    const repeatAt = transferredAt === undefined ? findNextUpdateTime(incident, now) : undefined;
    const commonFields = {
      version:
        repeatAt === undefined
          ? String(claim.version)
          : `${claim.version} ${Math.floor(now.getTime() / COUNTDOWN_INTERVAL_MS)}`,
      repostKey: String(claim.version),
      message: () => incidentMessage(incident, now, privateOrders, transferredAt),
      occurredAt: incident.openedAt,
      metadata: buildMetadata(incident),
    } satisfies Partial<NotificationSpec>;
    const createChannelPlace = (channelId: string | undefined) => async () =>
      channelId === undefined ? undefined : { channelId };
    // The alert channel comes first, because only admins can change it. The name's channel is the last fallback.
    const sentAlarm = await send({
      ...commonFields,
      purpose: 'incident',
      places: [
        createChannelPlace(findAlertChannel(settings)),
        ...admins.map((admin) => createDirectMessagePlace(context.directory, admin)),
        createChannelPlace(nameChannel),
      ],
      mustArrive: true,
      alertsAdmins: true,
    });
    if (sentAlarm.message === undefined) return { repeatAt };
    const people = { owner: name.owner, approvers: findNotifiedIds([buildDefaultRequirement(settings, [])]) };
    const replyContext = { incident, name, people, privateOrders, claim, send };
    const replies = buildReplies(context, replyContext, sentAlarm.message);
    await sendReplies(replyContext, replies, sentAlarm.message, '');
    const postedChannels = claim.notifications.flatMap(({ purpose, message }) =>
      purpose.startsWith(COPY_PURPOSE_PREFIX) && message !== undefined ? message.channelId : [],
    );
    const copyChannels = new Set([...postedChannels, ...(nameChannel === undefined ? [] : [nameChannel])]);
    copyChannels.delete(sentAlarm.message.channelId);
    for (const channelId of copyChannels) {
      const purpose = `${COPY_PURPOSE_PREFIX}${channelId}`;
      const sentCopy = await send({
        ...commonFields,
        purpose,
        places: [createChannelPlace(channelId)],
        alertsAdmins: true,
      });
      if (sentCopy.message !== undefined)
        await sendReplies(replyContext, replies, sentCopy.message, `:${channelId}`);
    }
    return { repeatAt };
  };
}

async function loadName(context: SlackContext, name: string): Promise<NameInfo> {
  const [watchedName, details, nameRecord] = await Promise.all([
    context.expiry.find(name),
    context.portfolio.find(name),
    context.nameRecords.find(name),
  ]);
  return {
    owner: details?.owner ?? watchedName?.registeredBy ?? watchedName?.addedBy,
    channel: details?.channel,
    registrar: nameRecord?.trusted?.registrar,
    hasService: context.hasService,
    isAtOtherRegistrar: nameRecord !== undefined && hasUnknownTransfer(nameRecord, context.now()),
  };
}

/** If neither channel is set, admins get direct messages. */
function findAlertChannel(settings: TeamSettings): string | undefined {
  return settings.alertChannel ?? settings.reminderChannel;
}

/** When the name was first seen at another registrar after a transfer that wasn't requested. */
async function findTransferTime(
  { incidents }: SlackContext,
  { name, changes }: Incident,
): Promise<Date | undefined> {
  const transfer = changes.find(({ kind }) => kind === 'pending_transfer');
  if (transfer === undefined) return undefined;
  const latestIncidents = await incidents.listForName(name, MAX_INCIDENTS_CHECKED);
  return latestIncidents
    .flatMap((incident) => incident.changes)
    .find((change) => change.kind === 'registrar' && change.afterFirstSeenAt >= transfer.afterFirstSeenAt)
    ?.afterFirstSeenAt;
}

/** The countdown runs until someone explains the transfer. */
function findNextUpdateTime(incident: Incident, now: Date): Date | undefined {
  const transfer = incident.changes.find(({ kind }) => kind === 'pending_transfer');
  if (transfer === undefined || !isOpen(incident)) return undefined;
  const isOver = now.getTime() - transfer.afterFirstSeenAt.getTime() > MAX_COUNTDOWN_MS;
  return isOver ? undefined : new Date(now.getTime() + COUNTDOWN_INTERVAL_MS);
}

interface Reply {
  readonly purpose: string;
  /** If the version changes, the reply is updated. */
  readonly version: string;
  /** Returns undefined if the content isn't known yet. The reply is then retried. */
  readonly message: () => Promise<Message | undefined> | Message;
}

/** Returns the replies that are due. A kind of reply that can occur twice has a number in its purpose. */
function buildReplies(
  context: SlackContext,
  replyContext: ReplyContext,
  alarm: PostedMessage,
): readonly Reply[] {
  const { incident, name, people, privateOrders } = replyContext;
  const { changes, proposedExplanation, explanation, raisedBy, state } = incident;
  let raisedAlarmReply: Promise<Message | undefined> | undefined;
  const createReply = (purpose: string, message: Reply['message']) => ({
    purpose,
    message,
    version: STATIC_VERSION,
  });
  const laterChanges = [...groupBy(changes, ({ noticedAt }) => noticedAt.getTime())].slice(1);
  return dropMissing([
    {
      purpose: 'runbook',
      version: `${listIncidentKinds(incident).join(' ')} ${name.isAtOtherRegistrar} ${privateOrders.size}`,
      message: () => incidentRunbook(incident, name, people, privateOrders),
    },
    ...laterChanges.map(([noticedAtMs, batch]) =>
      createReply(`joined:${noticedAtMs}`, () => addedChangesReply(batch, people)),
    ),
    proposedExplanation !== undefined &&
      createReply(`proposed:${changes.length}`, () => proposedExplanationReply(incident)),
    raisedBy !== undefined &&
      createReply('raised', () => {
        raisedAlarmReply ??= notifyConcernedPeople(context, replyContext, alarm);
        return raisedAlarmReply;
      }),
    explanation !== undefined &&
      createReply(`ours:${changes.length}`, () => confirmedExplanationReply(incident)),
    state === 'over' && createReply(`over:${changes.length}`, () => backToNormalReply(incident)),
  ]);
}

/**
 * Sends direct messages to the people concerned.
 * @returns the reply that lists them; undefined while messages are still pending
 */
async function notifyConcernedPeople(
  context: SlackContext,
  { incident, name, send }: ReplyContext,
  alarm: PostedMessage,
): Promise<Message | undefined> {
  const { people: concernedPeople, unreadableGroups } = await findConcernedPeople(context, name);
  const notifiedPeople: string[] = [];
  for (const person of concernedPeople) {
    const { state } = await send({
      purpose: `raised:to:${person}`,
      version: STATIC_VERSION,
      occurredAt: incident.openedAt,
      places: [createDirectMessagePlace(context.directory, person)],
      message: () => alarmRaisedMessage(incident, alarm.channelId, context.now()),
      metadata: buildMetadata(incident),
    });
    if (state === 'pending') return undefined;
    if (state === 'current') notifiedPeople.push(person);
  }
  return alarmRaisedReply(incident, notifiedPeople, unreadableGroups);
}

async function sendReplies(
  { incident, claim, send }: ReplyContext,
  replies: readonly Reply[],
  { channelId, ts }: PostedMessage,
  purposeSuffix: string,
): Promise<void> {
  for (const reply of replies) {
    const { version } = reply;
    const purpose = `${reply.purpose}${purposeSuffix}`;
    if (claim.notifications.some((sent) => sent.purpose === purpose && sent.shownVersion === version))
      continue;
    const message = await reply.message();
    if (message === undefined) return;
    const { state } = await send({
      purpose,
      version,
      occurredAt: incident.openedAt,
      places: [async () => ({ channelId, threadTs: ts })],
      message: () => message,
      metadata: buildMetadata(incident),
    });
    if (state === 'pending') return;
  }
}

/** The owner, admins and approvers, without duplicates. */
async function findConcernedPeople(context: SlackContext, { owner }: NameInfo) {
  const [settings, admins] = await Promise.all([context.loadSettings(), context.adminsToNotify()]);
  const requirements = [buildDefaultRequirement(settings, [])];
  const { people, unreadableGroups } = await findNotifiedPeople(context.directory, requirements, new Map());
  return {
    people: [...new Set([...(owner === undefined ? [] : [owner]), ...admins, ...people])],
    unreadableGroups,
  };
}

function buildMetadata(incident: Incident): MessageMetadata {
  const { id, name, state } = incident;
  return {
    event_type: 'domain_incident',
    event_payload: { incident_id: id, name, kinds: listIncidentKinds(incident).join(','), state },
  };
}
