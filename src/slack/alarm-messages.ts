import type { TeamSettings } from '../config.ts';
import type { Log } from '../log.ts';
import type { Alarm } from '../names/alarm.ts';
import type { AlarmStore } from '../names/ports.ts';
import { peopleAmong } from '../orders/approvers.ts';
import type { OrderStore } from '../orders/ports.ts';
import { privateIds } from '../orders/visibility.ts';
import type { SlackDirectory } from './directory.ts';
import { isRefusedForGood, retryDelayOf, type SlackWeb } from './platform/web.ts';
import { type MessageMetadata, type PostedMessage, postMessage, updateMessage } from './post-message.ts';
import {
  alarmMessage,
  alarmRunbook,
  escalatedReply,
  escalationMessage,
  explainedReply,
  proposedReply,
} from './views/alarm.ts';
import type { Message } from './views/blocks.ts';

/*
 * Tells people about alarms. The row of an alarm says what has to be told, and each message is recorded once Slack has
 * taken it. After a crash the rest is told later; at most one message is repeated.
 */

export interface AlarmTellerDeps {
  readonly alarms: AlarmStore;
  /** Reads the orders that were looked at, of which private ones are not shown. */
  readonly store: Pick<OrderStore, 'load'>;
  readonly web: SlackWeb;
  readonly directory: Pick<SlackDirectory, 'directMessage' | 'membersOf'>;
  readonly settings: () => Promise<TeamSettings>;
  /** `ADMINS`: admins beside those of the workspace, by id. */
  readonly admins: readonly string[];
  /** Who owns the name; undefined when nobody is known. */
  readonly placeOf: (
    name: string,
  ) => Promise<{ readonly owner: string | undefined; readonly channel: string | undefined }>;
  readonly now: () => Date;
  readonly log: Log;
}

/** For this long one process may post an alarm's messages. It extends the time before each of them. */
export const ALARM_LEASE_MS = 60_000;
/** How often the countdown of a transfer is updated. */
const COUNTDOWN_MS = 3_600_000;
const COUNTDOWN_DAYS = 10;
/** What has happened to a name since its transfer began is among these. */
const LATEST_ALARMS = 20;

/** Where alarms are posted. Undefined: admins get a direct message instead. */
function alertChannelOf(settings: TeamSettings): string | undefined {
  return settings.alertChannel ?? settings.reminderChannel;
}

/**
 * Tells people about an alarm that this process has claimed. Safe to repeat; what Slack refuses is tried again later.
 */
export async function tellAlarm(deps: AlarmTellerDeps, id: string): Promise<void> {
  const alarm = await deps.alarms.find(id);
  if (alarm === undefined) return;
  try {
    await notifyOfAlarm(deps, alarm);
  } catch (error) {
    const again = new Date(deps.now().getTime() + retryDelayOf(error, alarm.failedAttempts));
    deps.log.warn({ err: error, alarmId: id, again }, 'telling of a changed name; will try again');
    return deps.alarms.postponeTelling(id, again);
  }
  const again = (await movedAfter(deps, alarm)) === undefined ? nextUpdate(alarm, deps.now()) : undefined;
  // Somebody has pressed a button meanwhile: there is more to tell.
  if (!(await deps.alarms.releaseTelling(alarm, again))) await tellAlarm(deps, id);
}

/** When the name of a transfer that nobody here asked for was seen at another registrar. */
async function movedAfter(
  { alarms }: Pick<AlarmTellerDeps, 'alarms'>,
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

async function notifyOfAlarm(deps: AlarmTellerDeps, alarm: Alarm): Promise<void> {
  const [privateOrders, movedAt] = await Promise.all([
    privateIds(
      deps,
      alarm.orders.map(({ id }) => id),
    ),
    movedAfter(deps, alarm),
  ]);
  const message = alarmMessage(alarm, deps.now(), privateOrders, movedAt);
  for (const standing of alarm.messages) await update(deps, alarm, standing, message);
  const [first = await postFirst(deps, alarm, message), ...copies] = alarm.messages;
  const replies = repliesTo(deps, { ...alarm, messages: [first, ...copies] });
  await tellThread(deps, alarm, replies, first, '');
  const own = (await deps.placeOf(alarm.name)).channel;
  const hasOwn = own === undefined || [first, ...copies].some(({ channelId }) => channelId === own);
  try {
    if (!hasOwn) copies.push(await post(deps, alarm, message, own));
    for (const copy of copies) await tellThread(deps, alarm, replies, copy, `:${copy.channelId}`);
  } catch (error) {
    if (!isRefusedForGood(error)) throw error;
    deps.log.warn({ err: error, alarmId: alarm.id }, 'an alarm cannot be told in the channel of its name');
  }
}

/** A reply in the threads of an alarm, by what is kept of it in `told`. */
type Reply = readonly [what: string, isDue: boolean, message: () => Promise<Message> | Message];

function repliesTo(deps: AlarmTellerDeps, alarm: Alarm): readonly Reply[] {
  let escalated: Promise<Message> | undefined;
  return [
    ['runbook', true, () => alarmRunbook(alarm)],
    ['proposed', alarm.proposed !== undefined, () => proposedReply(alarm)],
    [
      'escalated',
      alarm.escalatedBy !== undefined,
      () => {
        escalated ??= tellConcerned(deps, alarm);
        return escalated;
      },
    ],
    ['explained', alarm.explained !== undefined, () => explainedReply(alarm)],
  ];
}

/** Tells everybody concerned directly. @returns the reply that says who was told */
async function tellConcerned(deps: AlarmTellerDeps, alarm: Alarm): Promise<Message> {
  const { people, unreadableGroups } = await concerned(deps, alarm);
  const reached: string[] = [];
  for (const person of people) if (await tellPerson(deps, alarm, person)) reached.push(person);
  return escalatedReply(alarm, reached, unreadableGroups);
}

/** Says in the thread of one of an alarm's messages what has not been said there yet. */
async function tellThread(
  deps: AlarmTellerDeps,
  alarm: Alarm,
  replies: readonly Reply[],
  at: PostedMessage,
  place: string,
): Promise<void> {
  for (const [what, isDue, message] of replies) {
    if (!isDue || alarm.told.includes(`${what}${place}`)) continue;
    const reply = await message();
    await deps.alarms.extendTelling(alarm.id, ALARM_LEASE_MS);
    await postMessage(deps.web, { channelId: at.channelId, threadTs: at.ts }, reply, metadataOf(alarm));
    await deps.alarms.recordTold(alarm.id, `${what}${place}`);
  }
}

/**
 * Posts an alarm for the first time: in the common channel, where nobody but admins can lead it elsewhere, otherwise to
 * an admin. The name's own channel takes its place only where neither is known.
 */
async function postFirst(deps: AlarmTellerDeps, alarm: Alarm, message: Message): Promise<PostedMessage> {
  const places = [
    async () => alertChannelOf(await deps.settings()),
    ...deps.admins.map((admin) => () => deps.directory.directMessage(admin)),
    async () => (await deps.placeOf(alarm.name)).channel,
  ];
  let problem: unknown = new Error('no channel is set for alarms, and no admin is known');
  for (const place of places) {
    try {
      const channelId = await place();
      if (channelId !== undefined) return await post(deps, alarm, message, channelId);
    } catch (error) {
      if (!isRefusedForGood(error)) throw error;
      deps.log.error({ err: error, alarmId: alarm.id }, 'an alarm cannot be told where it belongs');
      problem = error;
    }
  }
  throw problem;
}

async function post(deps: AlarmTellerDeps, alarm: Alarm, message: Message, channelId: string) {
  const posted = await postMessage(deps.web, { channelId }, message, metadataOf(alarm));
  await deps.alarms.recordMessage(alarm.id, posted);
  return posted;
}

/** Somebody may have deleted the message. Its thread remains. */
async function update(
  deps: AlarmTellerDeps,
  alarm: Alarm,
  standing: PostedMessage,
  message: Message,
): Promise<void> {
  try {
    await updateMessage(deps.web, standing, message, metadataOf(alarm));
  } catch (error) {
    if (!isRefusedForGood(error)) throw error;
    deps.log.warn({ err: error, alarmId: alarm.id }, 'the message of an alarm cannot be updated any more');
  }
}

/** @returns false when Slack does not deliver to the person */
async function tellPerson(deps: AlarmTellerDeps, alarm: Alarm, person: string): Promise<boolean> {
  const what = `dm:${person}`;
  if (alarm.told.includes(what)) return true;
  await deps.alarms.extendTelling(alarm.id, ALARM_LEASE_MS);
  try {
    const channelId = await deps.directory.directMessage(person);
    const message = escalationMessage(alarm, deps.now());
    await postMessage(deps.web, { channelId }, message, metadataOf(alarm));
  } catch (error) {
    if (!isRefusedForGood(error)) throw error;
    deps.log.warn({ err: error, alarmId: alarm.id, person }, 'a person cannot be told of an alarm');
    return false;
  }
  await deps.alarms.recordTold(alarm.id, what);
  return true;
}

/** The name's owner, the admins and the approvers, each once. */
async function concerned({ settings, directory, admins, placeOf }: AlarmTellerDeps, { name }: Alarm) {
  const [{ approvers }, { owner }] = await Promise.all([settings(), placeOf(name)]);
  return peopleAmong(directory, [...(owner === undefined ? [] : [owner]), ...admins, ...approvers]);
}

function metadataOf({ id, name, kind, state }: Alarm): MessageMetadata {
  return { event_type: 'domain_alarm', event_payload: { alarm_id: id, name, kind, state } };
}
