import { present } from '../../collections.ts';
import type { TeamSettings } from '../../config.ts';
import type { Alarm } from '../../names/alarm.ts';
import type { AlarmStore } from '../../names/ports.ts';
import type { ClaimedSubject, PostedMessage } from '../../notifications.ts';
import { peopleAmong } from '../../orders/approvers.ts';
import type { OrderStore } from '../../orders/ports.ts';
import { privateIds } from '../../orders/visibility.ts';
import type { Message } from '../kit/blocks.ts';
import type { SlackDirectory } from '../outbound/directory.ts';
import {
  directMessageTo,
  type NotificationPlanner,
  ONCE,
  type SendNotification,
} from '../outbound/notify.ts';
import type { MessageMetadata } from '../outbound/post-message.ts';
import {
  alarmMessage,
  alarmRunbook,
  escalatedReply,
  escalationMessage,
  explainedReply,
  proposedReply,
} from './alarm.view.ts';

/* What people are told of an alarm: one message, its copy in the channel of the name, and replies in the threads of both. */

export interface AlarmPlannerDeps {
  readonly alarms: Pick<AlarmStore, 'find' | 'ofName'>;
  /** Reads the orders that were looked at, of which private ones are not shown. */
  readonly store: Pick<OrderStore, 'load'>;
  readonly directory: Pick<SlackDirectory, 'directMessage' | 'membersOf'>;
  readonly settings: () => Promise<TeamSettings>;
  /** `ADMINS`: admins beside those of the workspace, by id. */
  readonly admins: readonly string[];
  readonly nameOf: (name: string) => Promise<AlarmedName>;
  readonly now: () => Date;
}

/** What is known of the name of an alarm. */
export interface AlarmedName {
  /** Who owns it; undefined when nobody is known. */
  readonly owner: string | undefined;
  /** The channel where it is told besides. */
  readonly channel: string | undefined;
  /** It was seen at a registrar that is not the team's. */
  readonly isElsewhere: boolean;
}

/** How often the countdown of a transfer is updated. */
const COUNTDOWN_MS = 3_600_000;
const COUNTDOWN_DAYS = 10;
/** What has happened to a name since its transfer began is among these. */
const LATEST_ALARMS = 20;
/** The purposes of copies begin with it. */
const COPY = 'alarm:in:';

/** An alarm with what its messages need. */
interface Telling {
  readonly alarm: Alarm;
  readonly name: AlarmedName;
  readonly claim: ClaimedSubject;
  readonly send: SendNotification;
}

/** Tells people about an alarm. */
export function createAlarmPlanner(deps: AlarmPlannerDeps): NotificationPlanner {
  return async (claim, send) => {
    const alarm = await deps.alarms.find(claim.id);
    if (alarm === undefined) return undefined;
    const [privateOrders, movedAt, name] = await Promise.all([
      privateIds(
        deps,
        alarm.orders.map(({ id }) => id),
      ),
      movedAfter(deps, alarm),
      deps.nameOf(alarm.name),
    ]);
    const { channel: own } = name;
    const now = deps.now();
    const again = movedAt === undefined ? nextUpdate(alarm, now) : undefined;
    const common = {
      // The countdown is another one each hour.
      version:
        again === undefined
          ? String(claim.version)
          : `${claim.version} ${Math.floor(now.getTime() / COUNTDOWN_MS)}`,
      message: () => alarmMessage(alarm, now, privateOrders, movedAt),
      since: alarm.raisedAt,
      metadata: metadataOf(alarm),
    };
    const channelOf = (channelId: string | undefined) => async () =>
      channelId === undefined ? undefined : { channelId };
    // In the common channel, where nobody but admins can lead it elsewhere, otherwise to an admin. The name's own channel takes
    // its place only where neither is known.
    const first = await send({
      ...common,
      purpose: 'alarm',
      places: [
        async () => channelOf(alertChannelOf(await deps.settings()))(),
        ...deps.admins.map((admin) => directMessageTo(deps.directory, admin)),
        channelOf(own),
      ],
      mustArrive: true,
      alertsAdmins: true,
    });
    if (first.at === undefined) return { again };
    const telling = { alarm, name, claim, send };
    const replies = repliesTo(deps, telling, first.at);
    await tellThread(telling, replies, first.at, '');
    const standing = claim.notifications.flatMap(({ purpose, message }) =>
      purpose.startsWith(COPY) && message !== undefined ? message.channelId : [],
    );
    const copies = new Set([...standing, ...(own === undefined ? [] : [own])]);
    copies.delete(first.at.channelId);
    for (const channelId of copies) {
      const purpose = `${COPY}${channelId}`;
      const copy = await send({ ...common, purpose, places: [channelOf(channelId)], alertsAdmins: true });
      if (copy.at !== undefined) await tellThread(telling, replies, copy.at, `:${channelId}`);
    }
    return { again };
  };
}

/** Where alarms are posted. Undefined: admins get a direct message instead. */
function alertChannelOf(settings: TeamSettings): string | undefined {
  return settings.alertChannel ?? settings.reminderChannel;
}

/** When the name of a transfer that nobody here asked for was seen at another registrar. */
async function movedAfter(
  { alarms }: Pick<AlarmPlannerDeps, 'alarms'>,
  { kind, name, firstSeenAfter }: Alarm,
): Promise<Date | undefined> {
  if (kind !== 'pending_transfer') return undefined;
  const later = await alarms.ofName(name, LATEST_ALARMS);
  return later.find((other) => other.kind === 'registrar' && other.firstSeenAfter >= firstSeenAfter)
    ?.firstSeenAfter;
}

/** The countdown runs until somebody has said whose transfer it is. */
function nextUpdate({ kind, state, firstSeenAfter }: Alarm, now: Date): Date | undefined {
  if (kind !== 'pending_transfer' || state === 'explained') return undefined;
  const isOver = now.getTime() - firstSeenAfter.getTime() > COUNTDOWN_DAYS * 24 * COUNTDOWN_MS;
  return isOver ? undefined : new Date(now.getTime() + COUNTDOWN_MS);
}

/** A reply in the threads of an alarm; undefined while it cannot be said yet. */
type Reply = readonly [what: string, message: () => Promise<Message | undefined> | Message];

function repliesTo(deps: AlarmPlannerDeps, telling: Telling, at: PostedMessage): readonly Reply[] {
  const { alarm, name } = telling;
  let escalated: Promise<Message | undefined> | undefined;
  return present([
    ['runbook', () => alarmRunbook(alarm, name.isElsewhere)],
    alarm.proposed !== undefined && (['proposed', () => proposedReply(alarm)] as const),
    alarm.escalatedBy !== undefined &&
      ([
        'escalated',
        () => {
          escalated ??= tellConcerned(deps, telling, at);
          return escalated;
        },
      ] as const),
    alarm.explained !== undefined && (['explained', () => explainedReply(alarm)] as const),
  ]);
}

/** Tells everybody concerned directly. @returns the reply that says who was told; undefined while somebody is still to be */
async function tellConcerned(
  deps: AlarmPlannerDeps,
  { alarm, name, send }: Telling,
  at: PostedMessage,
): Promise<Message | undefined> {
  const { people, unreadableGroups } = await concerned(deps, name);
  const reached: string[] = [];
  for (const person of people) {
    const { state } = await send({
      purpose: `escalation:to:${person}`,
      version: ONCE,
      since: alarm.raisedAt,
      places: [directMessageTo(deps.directory, person)],
      message: () => escalationMessage(alarm, at.channelId, deps.now(), name.isElsewhere),
      metadata: metadataOf(alarm),
    });
    if (state === 'pending') return undefined;
    if (state === 'current') reached.push(person);
  }
  return escalatedReply(alarm, reached, unreadableGroups);
}

/** Says in the thread of one of an alarm's messages what has not been said there yet, one after the other. */
async function tellThread(
  { alarm, claim, send }: Telling,
  replies: readonly Reply[],
  { channelId, ts }: PostedMessage,
  place: string,
): Promise<void> {
  for (const [what, message] of replies) {
    const purpose = `${what}${place}`;
    if (claim.notifications.some((known) => known.purpose === purpose && known.shows === ONCE)) continue;
    const reply = await message();
    if (reply === undefined) return;
    const { state } = await send({
      purpose,
      version: ONCE,
      since: alarm.raisedAt,
      places: [async () => ({ channelId, threadTs: ts })],
      message: () => reply,
      metadata: metadataOf(alarm),
    });
    if (state === 'pending') return;
  }
}

/** The name's owner, the admins and the approvers, each once. */
async function concerned({ settings, directory, admins }: AlarmPlannerDeps, { owner }: AlarmedName) {
  const { approvers } = await settings();
  return peopleAmong(directory, [...(owner === undefined ? [] : [owner]), ...admins, ...approvers]);
}

function metadataOf({ id, name, kind, state }: Alarm): MessageMetadata {
  return { event_type: 'domain_alarm', event_payload: { alarm_id: id, name, kind, state } };
}
