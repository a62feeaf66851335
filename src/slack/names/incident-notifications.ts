import { findNotifiedPeople } from '../../approvals/approvers.ts';
import { buildDefaultRequirement } from '../../approvals/requirements.ts';
import type { TeamSettings } from '../../config/environment.ts';
import { dropMissing, groupBy } from '../../lib/collections.ts';
import { HOUR_MS } from '../../lib/duration.ts';
import { type Incident, isOpen, listIncidentKinds } from '../../names/incident.ts';
import { hasUnknownTransfer } from '../../names/trust.ts';
import { filterPrivateIds } from '../../orders/visibility.ts';
import type { ClaimedSubject, PostedMessage } from '../../outbox/notifications.ts';
import { findNotifiedIds } from '../../policy/policy.ts';
import type { SlackContext } from '../context.ts';
import type { Message } from '../kit/blocks.ts';
import {
  directMessagePlace,
  type NotificationPlanner,
  ONCE,
  type SendNotification,
  type WantedNotification,
} from '../outbound/notify.ts';
import type { MessageMetadata } from '../outbound/post-message.ts';
import {
  confirmedReply,
  type IncidentPeople,
  incidentMessage,
  incidentRunbook,
  joinedReply,
  overReply,
  proposedReply,
  raisedMessage,
  raisedReply,
} from './incident.view.ts';
import type { RunbookName } from './runbook.view.ts';

/* Messages about an incident: the alarm, its copy in the name's channel, and the replies in both threads. */

interface IncidentName extends RunbookName {
  readonly owner: string | undefined;
  readonly channel: string | undefined;
}

/** How often the countdown of a transfer is updated. */
const COUNTDOWN_MS = HOUR_MS;
const COUNTDOWN_DAYS = 10;
/** Number of incidents that are checked for later changes after a transfer. */
const LATEST_INCIDENTS = 5;
/** The purpose of a copy starts with this. */
const COPY = 'incident:in:';

interface IncidentUpdate {
  readonly incident: Incident;
  readonly name: IncidentName;
  readonly people: IncidentPeople;
  readonly privateOrders: ReadonlySet<string>;
  readonly claim: ClaimedSubject;
  readonly send: SendNotification;
}

export function createIncidentPlanner(context: SlackContext): NotificationPlanner {
  return async (claim, send) => {
    const incident = await context.incidents.find(claim.id);
    if (incident === undefined) return undefined;
    const orders = incident.changes.flatMap((change) => change.orders.map(({ id }) => id));
    const [admins, privateOrders, transferredAt, name, settings] = await Promise.all([
      context.adminsToNotify(),
      filterPrivateIds(context.orders, orders),
      findTransferTime(context, incident),
      loadName(context, incident.name),
      context.savedSettings(),
    ]);
    const { channel: nameChannel } = name;
    const now = context.now();
    const repeatAt = transferredAt === undefined ? nextUpdate(incident, now) : undefined;
    const shared = {
      // The countdown changes every hour.
      version:
        repeatAt === undefined
          ? String(claim.version)
          : `${claim.version} ${Math.floor(now.getTime() / COUNTDOWN_MS)}`,
      repostKey: String(claim.version),
      message: () => incidentMessage(incident, now, privateOrders, transferredAt),
      since: incident.openedAt,
      metadata: buildMetadata(incident),
    } satisfies Partial<WantedNotification>;
    const toPlace = (channelId: string | undefined) => async () =>
      channelId === undefined ? undefined : { channelId };
    // Only admins can change the alert channel. If no other place accepts the message, the name's own channel gets it.
    const first = await send({
      ...shared,
      purpose: 'incident',
      places: [
        toPlace(findAlertChannel(settings)),
        ...admins.map((admin) => directMessagePlace(context.directory, admin)),
        toPlace(nameChannel),
      ],
      mustArrive: true,
      alertsAdmins: true,
    });
    if (first.message === undefined) return { repeatAt };
    const people = { owner: name.owner, approvers: findNotifiedIds([buildDefaultRequirement(settings, [])]) };
    const update = { incident, name, people, privateOrders, claim, send };
    const replies = buildReplies(context, update, first.message);
    await sendReplies(update, replies, first.message, '');
    const existing = claim.notifications.flatMap(({ purpose, message }) =>
      purpose.startsWith(COPY) && message !== undefined ? message.channelId : [],
    );
    const copies = new Set([...existing, ...(nameChannel === undefined ? [] : [nameChannel])]);
    copies.delete(first.message.channelId);
    for (const channelId of copies) {
      const purpose = `${COPY}${channelId}`;
      const copy = await send({ ...shared, purpose, places: [toPlace(channelId)], alertsAdmins: true });
      if (copy.message !== undefined) await sendReplies(update, replies, copy.message, `:${channelId}`);
    }
    return { repeatAt };
  };
}

async function loadName(context: SlackContext, name: string): Promise<IncidentName> {
  const [watched, details, record] = await Promise.all([
    context.expiry.find(name),
    context.portfolio.find(name),
    context.nameRecords.find(name),
  ]);
  return {
    owner: details?.owner ?? watched?.registeredBy ?? watched?.addedBy,
    channel: details?.channel,
    registrar: record?.trusted?.registrar,
    hasService: context.hasService,
    isAtOtherRegistrar: record !== undefined && hasUnknownTransfer(record, context.now()),
  };
}

/** The channel for incidents. Undefined: direct messages to admins. */
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
  const latest = await incidents.listForName(name, LATEST_INCIDENTS);
  const moves = latest.flatMap((incident) => incident.changes.filter(({ kind }) => kind === 'registrar'));
  return moves.find(({ firstSeenAfter }) => firstSeenAfter >= transfer.firstSeenAfter)?.firstSeenAfter;
}

/** The countdown runs until someone explains the transfer. */
function nextUpdate(incident: Incident, now: Date): Date | undefined {
  const transfer = incident.changes.find(({ kind }) => kind === 'pending_transfer');
  if (transfer === undefined || !isOpen(incident)) return undefined;
  const isOver = now.getTime() - transfer.firstSeenAfter.getTime() > COUNTDOWN_DAYS * 24 * COUNTDOWN_MS;
  return isOver ? undefined : new Date(now.getTime() + COUNTDOWN_MS);
}

interface Reply {
  readonly what: string;
  /** If the version changes, the reply is updated. */
  readonly version: string;
  /** Undefined if the content isn't known yet; it is tried again later. */
  readonly message: () => Promise<Message | undefined> | Message;
}

/** The replies that are due. Replies about later changes and explanations have a number in their purpose. */
function buildReplies(context: SlackContext, update: IncidentUpdate, at: PostedMessage): readonly Reply[] {
  const { incident, name, people, privateOrders } = update;
  const { changes, proposed, explained, raisedBy, state } = incident;
  let raised: Promise<Message | undefined> | undefined;
  const once = (what: string, message: Reply['message']): Reply => ({ what, version: ONCE, message });
  const joined = [...groupBy(changes, ({ noticedAt }) => noticedAt.getTime())].slice(1);
  return dropMissing([
    {
      what: 'runbook',
      version: `${listIncidentKinds(incident).join(' ')} ${name.isAtOtherRegistrar} ${privateOrders.size}`,
      message: () => incidentRunbook(incident, name, people, privateOrders),
    },
    ...joined.map(([ms, added]) => once(`joined:${ms}`, () => joinedReply(added, people))),
    proposed !== undefined && once(`proposed:${changes.length}`, () => proposedReply(incident)),
    raisedBy !== undefined &&
      once('raised', () => {
        raised ??= notifyConcerned(context, update, at);
        return raised;
      }),
    explained !== undefined && once(`ours:${changes.length}`, () => confirmedReply(incident)),
    state === 'over' && once(`over:${changes.length}`, () => overReply(incident)),
  ]);
}

/**
 * Sends direct messages to the people concerned.
 * @returns the reply that lists them; undefined while messages are still pending
 */
async function notifyConcerned(
  context: SlackContext,
  { incident, name, send }: IncidentUpdate,
  at: PostedMessage,
): Promise<Message | undefined> {
  const { people, unreadableGroups } = await findConcernedPeople(context, name);
  const reached: string[] = [];
  for (const person of people) {
    const { state } = await send({
      purpose: `raised:to:${person}`,
      version: ONCE,
      since: incident.openedAt,
      places: [directMessagePlace(context.directory, person)],
      message: () => raisedMessage(incident, at.channelId, context.now()),
      metadata: buildMetadata(incident),
    });
    if (state === 'pending') return undefined;
    if (state === 'current') reached.push(person);
  }
  return raisedReply(incident, reached, unreadableGroups);
}

async function sendReplies(
  { incident, claim, send }: IncidentUpdate,
  replies: readonly Reply[],
  { channelId, ts }: PostedMessage,
  place: string,
): Promise<void> {
  for (const { what, version, message } of replies) {
    const purpose = `${what}${place}`;
    if (claim.notifications.some((known) => known.purpose === purpose && known.shows === version)) continue;
    const reply = await message();
    if (reply === undefined) return;
    const { state } = await send({
      purpose,
      version,
      since: incident.openedAt,
      places: [async () => ({ channelId, threadTs: ts })],
      message: () => reply,
      metadata: buildMetadata(incident),
    });
    if (state === 'pending') return;
  }
}

/** The owner, admins and approvers, without duplicates. */
async function findConcernedPeople(context: SlackContext, { owner }: IncidentName) {
  const [settings, admins] = await Promise.all([context.savedSettings(), context.adminsToNotify()]);
  const wanted = [buildDefaultRequirement(settings, [])];
  const { people, unreadableGroups } = await findNotifiedPeople(context.directory, wanted, new Map());
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
