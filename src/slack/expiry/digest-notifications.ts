import { setTimeout as sleep } from 'node:timers/promises';
import type { TeamSettings } from '../../config/environment.ts';
import { findDueCertificates } from '../../expiry/certificate-warnings.ts';
import type { MonthCount } from '../../expiry/chart.ts';
import {
  claimNextBatch,
  dropOutdatedReminders,
  groupIntoMessages,
  loadChartMonths,
} from '../../expiry/digest.ts';
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
import { getChosenSendTime, sortScheduledFirst } from '../../orders/order.ts';
import type { ClaimedSubject, MessagePlace, PostedMessage } from '../../outbox/notifications.ts';
import { formatCalendarDay, parseDayNumber } from '../../zones/calendar-day.ts';
import { loadRenewalCapability, loadWaitingCostCalculator, toRenewalDays } from '../approvals/waiting.ts';
import type { SlackContext } from '../context.ts';
import type { Message } from '../kit/blocks.ts';
import { newsMessage } from '../names/news.view.ts';
import { scheduledOrdersMessage } from '../orders/order-list.view.ts';
import {
  type NotificationPlanner,
  type NotificationStatus,
  type SendNotification,
  STATIC_VERSION,
} from '../outbound/notify.ts';
import { digestHead, digestReply, monthsMessage } from './digest.view.ts';

/*
 * Each name is posted in its channel, or else in the day's direct messages to its owner, or else in the
 * reminder channel. In each conversation, the first message starts a thread for the others.
 */

export interface DigestViews {
  renderHead(head: DigestHead): Promise<Message>;
  renderReply(part: DigestReply): Promise<Message>;
  renderMonths(months: readonly MonthCount[]): Promise<Message>;
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
/** How long to wait for imported names, whose dates are looked up one at a time. */
const IMPORT_WAIT_MS = MINUTE_MS;

export function createDigestPlanner(
  context: SlackContext,
  { views = createDigestViews(context), collectMs = IMPORT_WAIT_MS } = {},
): NotificationPlanner {
  return async (claim, send) => {
    const settings = await context.loadSettings();
    const now = context.now();
    const { day } = findMessageDay(settings, now);
    const schedule = { ...toSchedule(settings, now), collectMs, day };
    // Questions come first, so that an owner gets them in one message with the reminders.
    await askOwners(context.reminders, settings, now);
    const batch = await claimNextBatch(context.reminders, claim.id, schedule, settings.reminderChannel);
    if (batch === undefined || batch instanceof Date) {
      await postNewFindings(context, settings, claim, send);
      await postScheduledOrders(context, settings, claim, send);
      return { repeatAt: batch };
    }
    const channelId = settings.reminderChannel;
    const run = { claim, send, views, schedule, channelId, hasMore: batch.hasMoreNames };
    const states: NotificationStatus['state'][] = [];
    for (const destination of new Set(batch.planned.map((reminder) => reminder.destination))) {
      if (destination === DEFAULT_DESTINATION) continue;
      const state = await postReminders(context, run, destination, batch.planned);
      if (state === 'refused') await context.reminders.redirectReminders(claim.id, destination);
      states.push(state);
    }
    // The reminder channel comes last, because it also gets the reminders that other channels refused.
    const plannedReminders = await context.reminders.listPlannedReminders(claim.id);
    const hasMore = batch.hasMoreNames || batch.hasMoreDisputed;
    states.push(await postReminders(context, { ...run, hasMore }, DEFAULT_DESTINATION, plannedReminders));
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

/** Posts new findings, expiring certificates and names that were renewed elsewhere, in the digest's thread. */
async function postNewFindings(
  { nameRecords: records, reminders, certificateDays }: SlackContext,
  { reminderChannel, reminderCron, reminderTimezone }: TeamSettings,
  claim: ClaimedSubject,
  send: SendNotification,
): Promise<void> {
  if (reminderChannel === undefined) return;
  const until = new Date(claim.id);
  const previousDigestId = await reminders.findPreviousDigestId(claim.id);
  // If the bot was down, digests were missed, so the previous one is older than one interval.
  const since =
    previousDigestId === undefined
      ? findLastScheduledTime(reminderCron, reminderTimezone, new Date(until.getTime() - 1))
      : new Date(previousDigestId);
  const [faultyNames, unrecordedNames, expiringCertificates, renewedNames] = await Promise.all([
    records.listNewlyFaultyNames(since, until),
    records.listNewlyMissingRecords(since, until),
    records.listExpiringCertificates(until),
    records.listRenewedElsewhere(since, until),
  ]);
  const certificates = findDueCertificates(expiringCertificates, certificateDays, { from: since, to: until });
  const newsCount = faultyNames.length + unrecordedNames.length + certificates.length + renewedNames.length;
  if (newsCount === 0) return;
  await send({
    purpose: 'delegations',
    version: STATIC_VERSION,
    occurredAt: until,
    places: [createDigestThreadPlace(claim, reminderChannel)],
    message: () => newsMessage({ faultyNames, unrecordedNames, certificates, renewedNames, now: until }),
  });
}

/** Uses the thread of the due names if there is one, or else the channel. */
function createDigestThreadPlace({ notifications }: ClaimedSubject, channelId: string) {
  const parent = notifications.find(({ purpose }) => purpose.startsWith(`${DEFAULT_DESTINATION}:`))?.message;
  return async () => ({ channelId: parent?.channelId ?? channelId, ...(parent && { threadTs: parent.ts }) });
}

/** Posts the orders that are scheduled before the next digest. */
async function postScheduledOrders(
  { orders }: SlackContext,
  { reminderChannel, reminderCron, reminderTimezone: timeZone }: TeamSettings,
  claim: ClaimedSubject,
  send: SendNotification,
): Promise<void> {
  if (reminderChannel === undefined) return;
  const occurredAt = new Date(claim.id);
  const today = formatCalendarDay(occurredAt, timeZone);
  const lastDay = formatCalendarDay(findNextScheduledTime(reminderCron, timeZone, occurredAt), timeZone);
  const openOrders = await orders.store.list({
    viewer: 'system',
    states: ['PENDING', 'APPROVED'],
    limit: 1_000,
  });
  const upcomingOrders = sortScheduledFirst(openOrders).filter((order) => {
    const time = getChosenSendTime(order);
    const day = time && formatCalendarDay(time, timeZone);
    return day !== undefined && day > today && day <= lastDay && !order.isPrivate;
  });
  if (upcomingOrders.length === 0) return;
  const places = [createDigestThreadPlace(claim, reminderChannel)];
  const period = parseDayNumber(lastDay) === parseDayNumber(today) + 1 ? 'tomorrow' : 'next_digest';
  const message = () => scheduledOrdersMessage(upcomingOrders, period);
  await send({ purpose: 'scheduled', version: STATIC_VERSION, occurredAt, places, message });
}

/** @returns the state of the first message that couldn't be posted, or `current` if all were posted */
async function postReminders(
  context: SlackContext,
  run: DigestRun,
  destination: Destination,
  allPlannedReminders: readonly PlannedReminder[],
): Promise<NotificationStatus['state']> {
  const { claim, send, views, schedule, hasMore } = run;
  const { reminders } = context;
  const plannedReminders = allPlannedReminders.filter((reminder) => reminder.destination === destination);
  const { dueReminders, disputedReminders } = await dropOutdatedReminders(
    reminders,
    claim.id,
    plannedReminders,
    schedule,
  );
  const messages = groupIntoMessages({ dueReminders, disputedReminders }, parsePartNumber);
  const posts = claim.notifications.filter(({ purpose }) => purpose.startsWith(`${destination}:`));
  let thread = posts.find(({ message }) => message !== undefined)?.message;
  let lastPartNumber = Math.max(
    0,
    ...[...posts, ...plannedReminders].map(({ purpose }) => parsePartNumber(purpose)),
  );
  let remainingCount = dueReminders.length;
  for (const message of messages) {
    if (thread !== undefined)
      await sleep(context.pauseMs ?? PAUSE_MS, undefined, { signal: context.digestAbortSignal }).catch(
        () => undefined,
      );
    if (context.digestAbortSignal.aborted) return 'pending';
    const purpose = `${destination}:${message.part ?? ++lastPartNumber}`;
    if (message.part === undefined) await reminders.assign(claim.id, purpose, message.reminders);
    const currentReminders = await dropOutdatedReminders(
      reminders,
      claim.id,
      await reminders.listPlannedReminders(claim.id, purpose),
      schedule,
    );
    const laterDueReminders = dueReminders.filter(({ watched }) => !message.reminders.includes(watched));
    remainingCount -= dueReminders.length - laterDueReminders.length;
    if (currentReminders.dueReminders.length + currentReminders.disputedReminders.length === 0) continue;
    const part = {
      digestId: claim.id,
      destination,
      reminders: currentReminders.dueReminders,
      disputed: await context.watchList.findMany(currentReminders.disputedReminders.map(({ name }) => name)),
    };
    const reply = thread && { ...part, remainingCount, hasMore };
    const result = await send({
      purpose,
      version: STATIC_VERSION,
      occurredAt: new Date(claim.id),
      // If the thread's channel can't be used, the other messages go to the current reminder channel.
      places: dropMissing([
        thread !== undefined && createThreadPlace(thread),
        (thread === undefined || destination === DEFAULT_DESTINATION) &&
          (async () => findPlace(run, destination)),
      ]),
      message: async () =>
        reply === undefined
          ? views.renderHead(
              await loadHead(context, run, part, [...currentReminders.dueReminders, ...laterDueReminders]),
            )
          : views.renderReply({
              ...reply,
              ...(await loadDueForecast(context, schedule, currentReminders.dueReminders)),
            }),
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
  const latestDigestId = await reminders.findLatestDigestIdWithChart();
  if (latestDigestId !== undefined && toMonth(latestDigestId) === toMonth(claim.id)) return;
  const months = await loadChartMonths(watchList.countByMonth, schedule);
  if (months.length === 0) return;
  await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) return;
  await send({
    purpose: MONTHS_CHART_PURPOSE,
    version: STATIC_VERSION,
    occurredAt: new Date(claim.id),
    places: [createThreadPlace(thread)],
    message: () => views.renderMonths(months),
  });
}

async function loadHead(
  context: SlackContext,
  { hasMore, schedule }: DigestRun,
  part: Omit<DigestPart, 'renewals'>,
  due: readonly DueReminder<WatchedReminder>[],
): Promise<DigestHead> {
  const isReminderChannel = part.destination === DEFAULT_DESTINATION;
  const [undated, ownerless, { renewals, uncoveredNames }] = await Promise.all([
    isReminderChannel ? context.watchList.countUndated() : 0,
    isReminderChannel ? context.watchList.countOwnerless() : undefined,
    loadDueForecast(context, schedule, due),
  ]);
  return {
    ...part,
    total: due.length,
    undated,
    ownerless,
    allDue: due,
    hasMore,
    renewals,
    uncoveredNames: isReminderChannel ? uncoveredNames : [],
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

export function createThreadPlace({ channelId, ts }: PostedMessage) {
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
    renderHead: async (head) => digestHead(head, ...(await loadCosts())),
    renderReply: async (part) => digestReply(part, ...(await loadCosts())),
    renderMonths: async (months) => monthsMessage(months),
  };
}
