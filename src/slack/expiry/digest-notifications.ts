import { setTimeout as sleep } from 'node:timers/promises';
import type { TeamSettings } from '../../config/environment.ts';
import { findDueCertificates } from '../../expiry/certificate-warnings.ts';
import type { MonthCount } from '../../expiry/chart.ts';
import { assignMessages, claimNextBatch, dropOutdatedReminders, loadChart } from '../../expiry/digest.ts';
import { askOwners, findMessageDay } from '../../expiry/owner-question.ts';
import type { DueReminder, ReminderSchedule } from '../../expiry/plan.ts';
import {
  DEFAULT_DESTINATION,
  type Destination,
  type DigestHead,
  type DigestPart,
  type DigestReply,
  MONTHS_CHART_PURPOSE,
  type PlannedReminder,
  type WatchedReminder,
} from '../../expiry/ports.ts';
import { findLastScheduledTime, findNextScheduledTime } from '../../expiry/schedule.ts';
import { dropMissing } from '../../lib/collections.ts';
import { MINUTE_MS } from '../../lib/duration.ts';
import { loadRenewalForecast } from '../../mandates/overview.ts';
import { getChosenTime, sortScheduledFirst } from '../../orders/order.ts';
import type { ClaimedSubject, MessagePlace, PostedMessage } from '../../outbox/notifications.ts';
import { formatCalendarDay, parseDayNumber } from '../../zones/calendar-day.ts';
import { loadRenewalCapability, loadWaitingCostCalculator, toRenewalDays } from '../approvals/waiting.ts';
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
import { digestHead, digestReply, monthsMessage } from './digest.view.ts';

/*
 * Each name is posted in its channel, or else in its owner's messages of the day, or else in the reminder channel. In
 * each place, the first message starts a thread for the others.
 */

export interface DigestViews {
  head(head: DigestHead): Promise<Message>;
  reply(part: DigestReply): Promise<Message>;
  months(months: readonly MonthCount[]): Promise<Message>;
}

interface DigestRun {
  readonly claim: ClaimedSubject;
  readonly send: SendNotification;
  readonly views: DigestViews;
  readonly schedule: ReminderSchedule;
  readonly channelId: string | undefined;
  readonly hasMore: boolean;
}

/** Slack limits a channel to about one message a second. */
const PAUSE_MS = 1_100;
/** Time to collect imported names, whose dates are looked up one at a time. */
const COLLECT_MS = MINUTE_MS;

export function createDigestPlanner(
  context: SlackContext,
  { views = createDigestViews(context), collectMs = COLLECT_MS } = {},
): NotificationPlanner {
  return async (claim, send) => {
    const settings = await context.savedSettings();
    const now = context.now();
    const { day } = findMessageDay(settings, now);
    const schedule = { ...toSchedule(settings, now), collectMs, day };
    // Questions come first, so that an owner gets them in one message with the reminders.
    await askOwners(context.reminders, settings, now);
    const batch = await claimNextBatch(context.reminders, claim.id, schedule, settings.reminderChannel);
    if (batch === undefined || batch instanceof Date) {
      await postNewFindings(context, settings, claim, send);
      await postScheduled(context, settings, claim, send);
      return { repeatAt: batch };
    }
    const channelId = settings.reminderChannel;
    const run = { claim, send, views, schedule, channelId, hasMore: batch.hasMoreNames };
    const states: SentNotification['state'][] = [];
    for (const destination of new Set(batch.planned.map((reminder) => reminder.destination))) {
      if (destination === DEFAULT_DESTINATION) continue;
      const state = await postReminders(context, run, destination, batch.planned);
      if (state === 'refused') await context.reminders.redirect(claim.id, destination);
      states.push(state);
    }
    // The reminder channel comes last, because it also gets the reminders that other channels refused.
    const planned = await context.reminders.listPlanned(claim.id);
    const hasMore = batch.hasMoreNames || batch.hasMoreDisputed;
    states.push(await postReminders(context, { ...run, hasMore }, DEFAULT_DESTINATION, planned));
    return states.includes('pending') && !context.digestAbortSignal.aborted
      ? undefined
      : { repeatAt: context.now() };
  };
}

export function toSchedule(
  { reminderDays: thresholds, reminderTimezone: timeZone }: TeamSettings,
  now: Date,
): ReminderSchedule {
  return { now, thresholds, timeZone };
}

/** Posts new findings, expiring certificates and renewals elsewhere in the thread of the digest. */
async function postNewFindings(
  { nameRecords: records, reminders, certificateDays }: SlackContext,
  { reminderChannel, reminderCron, reminderTimezone }: TeamSettings,
  claim: ClaimedSubject,
  send: SendNotification,
): Promise<void> {
  if (reminderChannel === undefined) return;
  const until = new Date(claim.id);
  const previous = await reminders.findPrevious(claim.id);
  // If the bot was down, everything since then is new.
  const since =
    previous === undefined
      ? findLastScheduledTime(reminderCron, reminderTimezone, new Date(until.getTime() - 1))
      : new Date(previous);
  const [faultyNames, unrecordedNames, expiring, renewedNames] = await Promise.all([
    records.listNewFaults(since, until),
    records.listNewlyUnrecorded(since, until),
    records.listExpiringCertificates(until),
    records.listRenewedElsewhere(since, until),
  ]);
  const certificates = findDueCertificates(expiring, certificateDays, { from: since, to: until });
  const newsCount = faultyNames.length + unrecordedNames.length + certificates.length + renewedNames.length;
  if (newsCount === 0) return;
  await send({
    purpose: 'delegations',
    version: ONCE,
    occurredAt: until,
    places: [toDigestThread(claim, reminderChannel)],
    message: () => newsMessage({ faultyNames, unrecordedNames, certificates, renewedNames, now: until }),
  });
}

/** Uses the thread of the due names if there is one. */
function toDigestThread({ notifications }: ClaimedSubject, channelId: string) {
  const parent = notifications.find(({ purpose }) => purpose.startsWith(`${DEFAULT_DESTINATION}:`))?.message;
  return async () => ({ channelId: parent?.channelId ?? channelId, ...(parent && { threadTs: parent.ts }) });
}

/** Posts the orders that are scheduled before the next digest. */
async function postScheduled(
  { orders }: SlackContext,
  { reminderChannel, reminderCron, reminderTimezone: timeZone }: TeamSettings,
  claim: ClaimedSubject,
  send: SendNotification,
): Promise<void> {
  if (reminderChannel === undefined) return;
  const occurredAt = new Date(claim.id);
  const today = formatCalendarDay(occurredAt, timeZone);
  const lastDay = formatCalendarDay(findNextScheduledTime(reminderCron, timeZone, occurredAt), timeZone);
  const queue = await orders.store.list({ viewer: 'system', states: ['PENDING', 'APPROVED'], limit: 1_000 });
  const upcomingOrders = sortScheduledFirst(queue).filter((order) => {
    const time = getChosenTime(order);
    const day = time && formatCalendarDay(time, timeZone);
    return day !== undefined && day > today && day <= lastDay && !order.isPrivate;
  });
  if (upcomingOrders.length === 0) return;
  const places = [toDigestThread(claim, reminderChannel)];
  const until = parseDayNumber(lastDay) === parseDayNumber(today) + 1 ? 'tomorrow' : 'next_digest';
  const message = () => scheduledMessage(upcomingOrders, until);
  await send({ purpose: 'scheduled', version: ONCE, occurredAt, places, message });
}

/** @returns the state of the first message that couldn't be posted */
async function postReminders(
  context: SlackContext,
  run: DigestRun,
  destination: Destination,
  allPlanned: readonly PlannedReminder[],
): Promise<SentNotification['state']> {
  const { claim, send, views, schedule, hasMore } = run;
  const { reminders } = context;
  const planned = allPlanned.filter((reminder) => reminder.destination === destination);
  const { due, disputed } = await dropOutdatedReminders(reminders, claim.id, planned, schedule);
  const messages = assignMessages({ due, disputed }, parsePartNumber);
  const posts = claim.notifications.filter(({ purpose }) => purpose.startsWith(`${destination}:`));
  let thread = posts.find(({ message }) => message !== undefined)?.message;
  let lastPart = Math.max(0, ...[...posts, ...planned].map(({ purpose }) => parsePartNumber(purpose)));
  let remainingCount = due.length;
  for (const message of messages) {
    if (thread !== undefined)
      await sleep(context.pauseMs ?? PAUSE_MS, undefined, { signal: context.digestAbortSignal }).catch(
        () => undefined,
      );
    if (context.digestAbortSignal.aborted) return 'pending';
    const purpose = `${destination}:${message.part ?? ++lastPart}`;
    if (message.part === undefined) await reminders.assign(claim.id, purpose, message.reminders);
    const currentReminders = await dropOutdatedReminders(
      reminders,
      claim.id,
      await reminders.listPlanned(claim.id, purpose),
      schedule,
    );
    const laterDue = due.filter(({ watched }) => !message.reminders.includes(watched));
    remainingCount -= due.length - laterDue.length;
    if (currentReminders.due.length + currentReminders.disputed.length === 0) continue;
    const part = {
      digestId: claim.id,
      destination,
      reminders: currentReminders.due,
      disputed: await context.watchList.findMany(currentReminders.disputed.map(({ name }) => name)),
    };
    const reply = thread && { ...part, remainingCount, hasMore };
    const result = await send({
      purpose,
      version: ONCE,
      occurredAt: new Date(claim.id),
      // If the thread's channel can't be used, the other messages go to the current reminder channel.
      places: dropMissing([
        thread !== undefined && toThreadPlace(thread),
        (thread === undefined || destination === DEFAULT_DESTINATION) &&
          (async () => findPlace(run, destination)),
      ]),
      message: async () =>
        reply === undefined
          ? views.head(await loadHead(context, run, part, [...currentReminders.due, ...laterDue]))
          : views.reply({ ...reply, ...(await loadDueForecast(context, schedule, currentReminders.due)) }),
      ...(destination === DEFAULT_DESTINATION && { mustArrive: true, alertsAdmins: true }),
    });
    if (result.state !== 'current') return result.state;
    thread ??= result.message;
  }
  if (destination === DEFAULT_DESTINATION && thread !== undefined) await postChart(context, run, thread);
  return 'current';
}

/**
 * Posts the monthly chart in the thread of the month's first digest. If Slack refuses it, the next digest tries again.
 */
async function postChart(
  { watchList, reminders, pauseMs = PAUSE_MS, digestAbortSignal: signal }: SlackContext,
  { claim, send, views, schedule }: DigestRun,
  thread: PostedMessage,
): Promise<void> {
  const toMonth = (digestId: string) => formatCalendarDay(new Date(digestId), schedule.timeZone).slice(0, 7);
  const latest = await reminders.findLatestWithChart();
  if (latest !== undefined && toMonth(latest) === toMonth(claim.id)) return;
  const months = await loadChart(watchList.countByMonth, schedule);
  if (months.length === 0) return;
  await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) return;
  await send({
    purpose: MONTHS_CHART_PURPOSE,
    version: ONCE,
    occurredAt: new Date(claim.id),
    places: [toThreadPlace(thread)],
    message: () => views.months(months),
  });
}

async function loadHead(
  context: SlackContext,
  { hasMore, schedule }: DigestRun,
  part: Omit<DigestPart, 'renewals'>,
  due: readonly DueReminder<WatchedReminder>[],
): Promise<DigestHead> {
  const isReminderChannel = part.destination === DEFAULT_DESTINATION;
  const [undated, ownerless, { renewals, uncovered }] = await Promise.all([
    isReminderChannel ? context.watchList.countUndated() : 0,
    isReminderChannel ? context.watchList.countOwnerless() : undefined,
    loadDueForecast(context, schedule, due),
  ]);
  const counts = { total: due.length, undated, ownerless };
  return {
    ...part,
    ...counts,
    allDue: due,
    hasMore,
    renewals,
    uncoveredNames: isReminderChannel ? uncovered : [],
  };
}

export async function loadDueForecast(
  { orders }: SlackContext,
  { timeZone }: ReminderSchedule,
  due: readonly DueReminder<WatchedReminder>[],
) {
  const forecast = await loadRenewalForecast(
    orders,
    due.map(({ watched: { owner, ...watched } }) => ({
      ...watched,
      owner: watched.ownerLeftAt === undefined ? owner : undefined,
    })),
    'system',
  );
  return { ...forecast, renewals: toRenewalDays(forecast, timeZone) };
}

function parsePartNumber(purpose: string): number {
  return Number(purpose.split(':')[1] ?? 0);
}

export function toThreadPlace({ channelId, ts }: PostedMessage) {
  return async () => ({ channelId, threadTs: ts });
}

function findPlace({ channelId }: DigestRun, destination: Destination): MessagePlace | undefined {
  if (destination !== DEFAULT_DESTINATION) return { channelId: destination };
  return channelId === undefined ? undefined : { channelId };
}

/** Loads current prices for each message. */
export function createDigestViews(context: SlackContext): DigestViews {
  const loadCosts = () => Promise.all([loadWaitingCostCalculator(context), loadRenewalCapability(context)]);
  return {
    head: async (head) => digestHead(head, ...(await loadCosts())),
    reply: async (part) => digestReply(part, ...(await loadCosts())),
    months: async (months) => monthsMessage(months),
  };
}
