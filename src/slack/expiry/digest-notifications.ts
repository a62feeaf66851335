import { setTimeout as sleep } from 'node:timers/promises';
import type { TeamSettings } from '../../config/environment.ts';
import { dueCertificates } from '../../expiry/certificate-warnings.ts';
import type { MonthCount } from '../../expiry/chart.ts';
import { assignMessages, dropOutdated, loadChart, nextBatch } from '../../expiry/digest.ts';
import { askOwners, dayOfMessages } from '../../expiry/owner-question.ts';
import type { DueReminder, ReminderSchedule } from '../../expiry/plan.ts';
import {
  COMMON,
  type Destination,
  type DigestHead,
  type DigestMore,
  type DigestPart,
  MONTHS,
  type PlannedReminder,
  type WatchedReminder,
} from '../../expiry/ports.ts';
import { lastScheduled, nextScheduled } from '../../expiry/schedule.ts';
import { dropMissing } from '../../lib/collections.ts';
import { MINUTE_MS } from '../../lib/duration.ts';
import { loadOutlook } from '../../mandates/overview.ts';
import { getChosenTime, sortScheduledFirst } from '../../orders/order.ts';
import type { ClaimedSubject, MessagePlace, PostedMessage } from '../../outbox/notifications.ts';
import { calendarDay, dayNumber } from '../../zones/calendar-day.ts';
import { loadRenewalWays, loadWaitingCosts, toRenewalDays } from '../approvals/waiting.ts';
import type { SlackContext } from '../context.ts';
import type { Message } from '../kit/blocks.ts';
import { newsMessage } from '../names/news.view.ts';
import { scheduledMessage } from '../orders/order-list.view.ts';
import {
  type NotificationPlanner,
  ONCE,
  type SendNotification,
  type SentNotification,
} from '../outbound/notify.ts';
import { digestHead, digestMore, monthsMessage } from './digest.view.ts';

/*
 * Each name goes to one place: its channel, or else its owner's messages of the day, or else the common channel. In each
 * place, the first message starts a thread for the rest.
 */

export interface DigestViews {
  head(head: DigestHead): Promise<Message>;
  more(part: DigestMore): Promise<Message>;
  months(months: readonly MonthCount[]): Promise<Message>;
}

interface DigestPass {
  readonly claim: ClaimedSubject;
  readonly send: SendNotification;
  readonly views: DigestViews;
  readonly options: ReminderSchedule;
  readonly channelId: string | undefined;
  readonly more: boolean;
}

/** Slack limits a channel to about one message a second. */
const PAUSE_MS = 1_100;
/** Dates of imported names arrive one by one. */
const COLLECT_MS = MINUTE_MS;

export function createDigestPlanner(
  context: SlackContext,
  { views = createDigestViews(context), collectMs = COLLECT_MS } = {},
): NotificationPlanner {
  return async (claim, send) => {
    const settings = await context.savedSettings();
    const now = context.now();
    const { day } = dayOfMessages(settings, now);
    const options = { ...scheduleOf(settings, now), collectMs, day };
    // One message to an owner has the questions and the reminders.
    await askOwners(context.reminders, settings, now);
    const batch = await nextBatch(context.reminders, claim.id, options, settings.reminderChannel);
    if (batch === undefined || batch instanceof Date) {
      await postNews(context, settings, claim, send);
      await postScheduled(context, settings, claim, send);
      return { repeatAt: batch };
    }
    const channelId = settings.reminderChannel;
    const pass = { claim, send, views, options, channelId, more: batch.moreNames };
    const states: SentNotification['state'][] = [];
    for (const destination of new Set(batch.planned.map((each) => each.destination))) {
      if (destination === COMMON) continue;
      const state = await postReminders(context, pass, destination, batch.planned);
      if (state === 'refused') await context.reminders.redirect(claim.id, destination);
      states.push(state);
    }
    // The common channel comes last: it also gets what other places refused, and what went to only one person.
    const planned = await context.reminders.planned(claim.id);
    const more = batch.moreNames || batch.moreDisputed;
    states.push(await postReminders(context, { ...pass, more }, COMMON, planned));
    return states.includes('pending') && !context.stopLookups.aborted
      ? undefined
      : { repeatAt: context.now() };
  };
}

export function scheduleOf(
  { reminderDays: thresholds, reminderTimezone: timeZone }: TeamSettings,
  now: Date,
): ReminderSchedule {
  return { now, thresholds, timeZone };
}

/** Posts new findings, expiring certificates and renewals elsewhere in the digest's thread. */
async function postNews(
  { nameRecords: records, reminders, certificateDays }: SlackContext,
  { reminderChannel, reminderCron, reminderTimezone }: TeamSettings,
  claim: ClaimedSubject,
  send: SendNotification,
): Promise<void> {
  if (reminderChannel === undefined) return;
  const until = new Date(claim.id);
  const previous = await reminders.previous(claim.id);
  // After an outage of the bot, everything since then is new.
  const since =
    previous === undefined
      ? lastScheduled(reminderCron, reminderTimezone, new Date(until.getTime() - 1))
      : new Date(previous);
  const [faulty, registries, ending, renewed] = await Promise.all([
    records.newlyFaulty(since, until),
    records.newlyUnrecorded(since, until),
    records.certificatesEnding(until),
    records.renewedElsewhere(since, until),
  ]);
  const certificates = dueCertificates(ending, certificateDays, { from: since, to: until });
  const news = { faulty, registries, certificates, renewed, now: until };
  const count = faulty.length + registries.length + certificates.length + renewed.length;
  if (count === 0) return;
  await send({
    purpose: 'delegations',
    version: ONCE,
    since: until,
    places: [digestThread(claim, reminderChannel)],
    message: () => newsMessage(news),
  });
}

/** In the thread of the due names, if there are any. */
function digestThread({ notifications }: ClaimedSubject, channelId: string) {
  const head = notifications.find(({ purpose }) => purpose.startsWith(`${COMMON}:`))?.message;
  return async () => ({ channelId: head?.channelId ?? channelId, ...(head && { threadTs: head.ts }) });
}

/** Posts the orders scheduled until the next digest. */
async function postScheduled(
  { orders }: SlackContext,
  { reminderChannel, reminderCron, reminderTimezone: timeZone }: TeamSettings,
  claim: ClaimedSubject,
  send: SendNotification,
): Promise<void> {
  if (reminderChannel === undefined) return;
  const since = new Date(claim.id);
  const today = calendarDay(since, timeZone);
  const last = calendarDay(nextScheduled(reminderCron, timeZone, since), timeZone);
  const open = await orders.store.list({ viewer: 'system', states: ['PENDING', 'APPROVED'], limit: 1_000 });
  const ahead = sortScheduledFirst(open).filter((order) => {
    const time = getChosenTime(order);
    const day = time && calendarDay(time, timeZone);
    return day !== undefined && day > today && day <= last && !order.isPrivate;
  });
  if (ahead.length === 0) return;
  const places = [digestThread(claim, reminderChannel)];
  const until = dayNumber(last) === dayNumber(today) + 1 ? 'tomorrow' : 'next_digest';
  const message = () => scheduledMessage(ahead, until);
  await send({ purpose: 'scheduled', version: ONCE, since, places, message });
}

/** @returns the state of the first message that couldn't be posted */
async function postReminders(
  context: SlackContext,
  pass: DigestPass,
  destination: Destination,
  everywhere: readonly PlannedReminder[],
): Promise<SentNotification['state']> {
  const { claim, send, views, options, more } = pass;
  const { reminders } = context;
  const planned = everywhere.filter((each) => each.destination === destination);
  const { due, disputed } = await dropOutdated(reminders, claim.id, planned, options);
  const messages = assignMessages({ due, disputed }, parsePart);
  const known = claim.notifications.filter(({ purpose }) => purpose.startsWith(`${destination}:`));
  let thread = known.find(({ message }) => message !== undefined)?.message;
  let lastPart = Math.max(0, ...[...known, ...planned].map(({ purpose }) => parsePart(purpose)));
  let left = due.length;
  for (const message of messages) {
    if (thread !== undefined)
      await sleep(context.pauseMs ?? PAUSE_MS, undefined, { signal: context.stopLookups }).catch(
        () => undefined,
      );
    if (context.stopLookups.aborted) return 'pending';
    const purpose = `${destination}:${message.part ?? ++lastPart}`;
    if (message.part === undefined) await reminders.assign(claim.id, purpose, message.reminders);
    const now = await dropOutdated(reminders, claim.id, await reminders.planned(claim.id, purpose), options);
    const rest = due.filter(({ watched }) => !message.reminders.includes(watched));
    left -= due.length - rest.length;
    if (now.due.length + now.disputed.length === 0) continue;
    const part = {
      digestId: claim.id,
      destination,
      reminders: now.due,
      disputed: await context.watchList.findMany(now.disputed.map(({ name }) => name)),
    };
    const reply = thread && { ...part, left, more };
    const { state, at } = await send({
      purpose,
      version: ONCE,
      since: new Date(claim.id),
      // If the thread's channel is unavailable, the rest goes to the newly chosen one.
      places: dropMissing([
        thread !== undefined && threadOf(thread),
        (thread === undefined || destination === COMMON) && (async () => findPlace(pass, destination)),
      ]),
      message: async () =>
        reply === undefined
          ? views.head(await loadHead(context, pass, part, [...now.due, ...rest]))
          : views.more({ ...reply, ...(await outlookOn(context, options, now.due)) }),
      ...(destination === COMMON && { mustArrive: true, alertsAdmins: true }),
    });
    if (state !== 'current') return state;
    thread ??= at;
  }
  if (destination === COMMON && thread !== undefined) await postMonths(context, pass, thread);
  return 'current';
}

/** Posts the chart of months in the month's first digest thread. If Slack refuses it, the next digest retries. */
async function postMonths(
  { watchList, reminders, pauseMs = PAUSE_MS, stopLookups: signal }: SlackContext,
  { claim, send, views, options }: DigestPass,
  thread: PostedMessage,
): Promise<void> {
  const monthOf = (digestId: string) => calendarDay(new Date(digestId), options.timeZone).slice(0, 7);
  const latest = await reminders.latestWithMonths();
  if (latest !== undefined && monthOf(latest) === monthOf(claim.id)) return;
  const months = await loadChart(watchList.countByMonth, options);
  if (months.length === 0) return;
  await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) return;
  await send({
    purpose: MONTHS,
    version: ONCE,
    since: new Date(claim.id),
    places: [threadOf(thread)],
    message: () => views.months(months),
  });
}

async function loadHead(
  context: SlackContext,
  { more, options }: DigestPass,
  part: Omit<DigestPart, 'renewals'>,
  all: readonly DueReminder<WatchedReminder>[],
): Promise<DigestHead> {
  const isCommon = part.destination === COMMON;
  const [undated, ownerless, { renewals, uncovered }] = await Promise.all([
    isCommon ? context.watchList.countUndated() : 0,
    isCommon ? context.watchList.countOwnerless() : undefined,
    outlookOn(context, options, all),
  ]);
  const counts = { total: all.length, undated, ownerless };
  return { ...part, ...counts, all, more, renewals, uncovered: isCommon ? uncovered : [] };
}

export async function outlookOn(
  { orders }: SlackContext,
  { timeZone }: ReminderSchedule,
  due: readonly DueReminder<WatchedReminder>[],
) {
  const outlook = await loadOutlook(
    orders,
    due.map(({ watched: { owner, ...watched } }) => ({
      ...watched,
      owner: watched.ownerLeftAt === undefined ? owner : undefined,
    })),
    'system',
  );
  return { ...outlook, renewals: toRenewalDays(outlook, timeZone) };
}

function parsePart(purpose: string): number {
  return Number(purpose.split(':')[1] ?? 0);
}

export function threadOf({ channelId, ts }: PostedMessage) {
  return async () => ({ channelId, threadTs: ts });
}

/** Place of the first message. */
function findPlace({ channelId }: DigestPass, destination: Destination): MessagePlace | undefined {
  if (destination !== COMMON) return { channelId: destination };
  return channelId === undefined ? undefined : { channelId };
}

/** With the cost of waiting, by current prices and time. */
export function createDigestViews(context: SlackContext): DigestViews {
  const loadCosts = () => Promise.all([loadWaitingCosts(context), loadRenewalWays(context)]);
  return {
    head: async (head) => digestHead(head, ...(await loadCosts())),
    more: async (part) => digestMore(part, ...(await loadCosts())),
    months: async (months) => monthsMessage(months),
  };
}
