import type { MonthCount } from '../../expiry/chart.ts';
import { getEffectiveExpiry } from '../../expiry/days.ts';
import { compareDeadlines, findDeadline, isRenewable } from '../../expiry/deadline.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import type { DueReminder } from '../../expiry/plan.ts';
import type {
  DigestHead,
  DigestPart,
  DigestReply,
  RenewalDays,
  WatchedDomain,
  WatchedReminder,
} from '../../expiry/ports.ts';
import { dropMissing } from '../../lib/collections.ts';
import { compareCostAtRisk, computeCostAtRisk, type DelayStage } from '../../money/waiting.ts';
import { getOwnerAnswer } from '../../names/portfolio.ts';
import { formatCalendarDay } from '../../zones/calendar-day.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  type AnyBlock,
  actions,
  button,
  context,
  escapeLine,
  escapeText,
  formatCount,
  header,
  lineSections,
  type Message,
  mention,
  message,
  monthChart,
  section,
} from '../kit/blocks.ts';
import { unhandledNamesText } from '../mandates/mandate.view.ts';
import { formatLaterStages } from '../money/price.view.ts';
import { formatUnreliableDateReason } from '../names/doubt.view.ts';
import { ownerlessBlocks, ownerWithAnswerText } from '../names/owner.view.ts';
import { channelMention } from '../names/portfolio.view.ts';
import {
  deadlineText,
  dueTimeText,
  expiresText,
  expiryActionButtons,
  getToday,
  lineWithMenu,
  priceText,
  type RenewalCapability,
} from './due.view.ts';
import { type CalculateCost, listedLines, MAX_LISTED_NAMES } from './expiring.view.ts';
import { formatDay, formatDaysLeft, formatName } from './expiry.view.ts';
import { POSSIBLY_DELETED } from './phase.view.ts';

/*
 * The digest of expiring names: one line per name, most urgent first, with a menu of actions. For names with a near
 * deadline, later deadlines and prices are shown too.
 */

type Reminder = DueReminder<WatchedReminder>;

/** Returns an empty list if the cost of waiting is unknown. */
export type CalculateWaitingCost = (watched: WatchedReminder) => readonly DelayStage[];

const calculateNoCost: CalculateWaitingCost = () => [];
const DEFAULT_CAPABILITY: RenewalCapability = { hasService: true, isAtOtherRegistrar: () => false };

const NEAR_DAYS = 7;
/** If the digest has at most this many names, a deadline in exactly {@link NEAR_DAYS} days is near too. */
const MAX_SHORT_DIGEST_NAMES = 6;

export function digestHead(
  head: DigestHead,
  calculateWaitingCost: CalculateWaitingCost = calculateNoCost,
  capability: RenewalCapability = DEFAULT_CAPABILITY,
): Message {
  const title = digestTitle(head, calculateWaitingCost);
  const remainingCount = head.total - head.reminders.length;
  const buttonValue = head.destination === '' ? head.digestId : `${head.digestId}/${head.destination}`;
  const [onlyReminder] = head.allDue;
  const suffix =
    head.total === 1 && onlyReminder !== undefined
      ? titleSuffix(onlyReminder, head.renewals, calculateWaitingCost(onlyReminder.watched))
      : '';
  const notes = dropMissing([
    remainingCount > 0 &&
      `This thread has the other ${head.hasMore ? 'names' : formatCount(remainingCount, 'name')}.`,
    head.hasMore && head.disputed.length > 0 && 'More renewals that the registry doesn’t show will follow.',
    head.undated > 0 && undatedText(head.undated),
  ]);
  return message(`${escapeText(title)}${suffix}`, [
    header(title),
    ...partBlocks(head, calculateWaitingCost, head.total <= MAX_SHORT_DIGEST_NAMES, capability),
    ...(head.total > 1
      ? actions(`digest_${head.digestId}`, [
          capability.hasService &&
            head.allDue.some(({ phase }) => isRenewable(phase)) &&
            button('reminder_renew_many', 'Renew several…', buttonValue, { style: 'primary' }),
          button('reminder_all', 'Show all', buttonValue),
        ])
      : []),
    notes.length > 0 && context(...notes),
    head.uncoveredNames.length > 0 && context(unhandledNamesText(head.uncoveredNames, capability)),
    ...ownerlessBlocks(head.ownerless ?? { withoutOwner: 0, ownerLeft: 0 }),
  ]);
}

function undatedText(undatedCount: number): string {
  const [have, get, them] = undatedCount === 1 ? ['has', 'gets', 'it'] : ['have', 'get', 'them'];
  return `${formatCount(undatedCount, 'watched name')} ${have} no expiry date and ${get} no reminders. To list ${them}, use \`/domain names undated\`.`;
}

/** A later message in the thread, with the number of names that are still to come. */
export function digestReply(
  part: DigestReply,
  calculateWaitingCost: CalculateWaitingCost = calculateNoCost,
  capability: RenewalCapability = DEFAULT_CAPABILITY,
): Message {
  const names = part.reminders.map(({ name }) => formatDomainName(name));
  const title = names.length === 0 ? disputedTitle(part.disputed) : `Also due: ${names.join(', ')}`;
  const follow = part.remainingCount === 1 ? 'follows' : 'follow';
  const followsText = part.hasMore
    ? part.remainingCount === 0
      ? 'More names follow.'
      : `More than ${formatCount(part.remainingCount, 'name')} ${follow}.`
    : `${formatCount(part.remainingCount, 'more name')} ${follow}.`;
  const isLastReply = part.remainingCount === 0 && !part.hasMore;
  return message(escapeText(title), [
    ...partBlocks(part, calculateWaitingCost, false, capability),
    context(isLastReply ? 'End of this digest.' : followsText),
  ]);
}

export function monthsMessage(months: readonly MonthCount[]): Message {
  const total = months.reduce((sum, { count: names }) => sum + names, 0);
  return message(`${formatCount(total, 'name')} to renew in the next 12 months`, [
    monthChart('Renewals by month', 'Names', months),
  ]);
}

export function digestList(
  names: readonly ListedName[],
  calculateCost: CalculateCost,
  renewals: RenewalDays,
  now: Date,
): Message {
  const title = formatCount(names.length, 'name');
  if (names.length === 0) return message(NO_NAMES_LEFT, [section(NO_NAMES_LEFT)]);
  const remainingCount = names.length - MAX_LISTED_NAMES;
  return message(`${title} in this digest`, [
    section(`*${title} in this digest*`),
    ...lineSections(
      names
        .slice(0, MAX_LISTED_NAMES)
        .flatMap((listed) => listedLines(listed, calculateCost(listed), renewals, now)),
    ),
    context(
      dropMissing([
        remainingCount > 0 && `… and ${remainingCount} more.`,
        'To list all expiring names, use `/domain expiring`.',
      ]).join(' '),
    ),
  ]);
}

const NO_NAMES_LEFT = 'None of this digest’s names is watched anymore.';

/** Whether a mandate renews the name. The last reminder always asks for a decision. */
function isRenewedByMandate({ name, phase, isLastThreshold }: Reminder, renewals: RenewalDays): boolean {
  return phase === 'registered' && !isLastThreshold && renewals.has(name);
}

/** Sorts by deadline, then by cost at risk, highest first. Names that a mandate renews come last. */
function sortByUrgency(
  reminders: readonly Reminder[],
  renewals: RenewalDays,
  calculateWaitingCost: CalculateWaitingCost,
): Reminder[] {
  return reminders
    .map((reminder) => ({
      reminder,
      rank: isRenewedByMandate(reminder, renewals) ? 1 : 0,
      deadline: findDeadline(reminder),
      cost: computeCostAtRisk(calculateWaitingCost(reminder.watched)),
    }))
    .sort(
      (a, b) =>
        a.rank - b.rank || compareDeadlines(a.deadline, b.deadline) || compareCostAtRisk(a.cost, b.cost),
    )
    .map(({ reminder }) => reminder);
}

/** `, about €18.00` or `, a mandate renews it on 3 Dec, about €18.00`. */
function titleSuffix(reminder: Reminder, renewals: RenewalDays, delayStages: readonly DelayStage[]): string {
  return isRenewedByMandate(reminder, renewals)
    ? `, ${deadlineText(reminder, delayStages, renewals.get(reminder.name))}`
    : priceText(reminder, delayStages);
}

/**
 * Returns plain text, such as `12 names need a decision. Most urgent: bakery.rest (expires tomorrow)` or
 * `cafe.rest expires in 7 days`.
 */
function digestTitle(
  { allDue, total, renewals, hasMore, disputed }: DigestHead,
  calculateWaitingCost: CalculateWaitingCost,
): string {
  const [mostUrgent] = sortByUrgency(allDue, renewals, calculateWaitingCost);
  if (mostUrgent === undefined) return `${hasMore ? 'More than ' : ''}${disputedTitle(disputed)}`;
  const name = formatDomainName(mostUrgent.name);
  if (total === 1) return `${name} ${headlineText(mostUrgent)}`;
  const undecidedCount = allDue.filter((reminder) => !isRenewedByMandate(reminder, renewals)).length;
  const summary =
    undecidedCount === 0
      ? `Mandates renew ${hasMore ? 'more than ' : ''}${formatCount(total, 'name')}`
      : `${hasMore ? 'More than ' : ''}${formatCount(undecidedCount, 'name')} ${undecidedCount === 1 ? 'needs' : 'need'} a decision`;
  const dueText = mostUrgent.phase === 'registered' ? expiresText(mostUrgent) : dueTimeText(mostUrgent);
  const label = undecidedCount === 0 ? '. First' : undecidedCount === 1 && !hasMore ? '' : '. Most urgent';
  return `${summary}${label}: ${name} (${dueText})`;
}

function headlineText(reminder: Reminder): string {
  if (reminder.isDeletionAssumed) return `is ${POSSIBLY_DELETED}`;
  switch (reminder.phase) {
    case 'registered':
      return `expires ${formatDaysLeft(reminder.daysLeft)}`;
    case 'auto_renew_grace':
    case 'expired':
      return `expired ${formatDaysLeft(reminder.daysLeft)}`;
    case 'redemption':
    case 'deleted':
      return 'can only be restored';
    case 'pending_delete':
      return 'is pending deletion';
    case 'released':
      return 'is available to anyone';
  }
}

/** The due names, then the renewals that the registry doesn't show. */
export function partBlocks(
  part: DigestPart,
  calculateWaitingCost: CalculateWaitingCost,
  isShortDigest: boolean,
  capability: RenewalCapability,
): AnyBlock[] {
  const { reminders, renewals, disputed } = part;
  const nameBlocks = sortByUrgency(reminders, renewals, calculateWaitingCost).flatMap(
    (reminder, index): AnyBlock[] => {
      const line = section(
        ...reminderLines(reminder, calculateWaitingCost(reminder.watched), renewals, isShortDigest),
      );
      return lineWithMenu(
        line,
        `due_${index}`,
        expiryActionButtons(reminder.watched, findDeadline(reminder), capability),
      );
    },
  );
  return [...nameBlocks, ...disputedBlocks(disputed, capability)];
}

/** The first line has the name, deadline and price. Later deadlines and warnings follow. */
function reminderLines(
  reminder: Reminder,
  delayStages: readonly DelayStage[],
  renewals: RenewalDays,
  isShortDigest: boolean,
): string[] {
  const { watched, phase, daysLeft, isLastThreshold } = reminder;
  const { owner } = watched;
  const answer = getOwnerAnswer(watched, getEffectiveExpiry(watched));
  const isMentionedBelow = isLastThreshold && answer?.code === 'unasked';
  const hasNearDeadline =
    phase !== 'registered' || daysLeft < NEAR_DAYS || (isShortDigest && daysLeft === NEAR_DAYS);
  return dropMissing([
    dropMissing([
      formatName(reminder.name),
      dueTimeText(reminder),
      deadlineText(reminder, delayStages, renewals.get(reminder.name)),
      !isMentionedBelow && ownerWithAnswerText(answer),
    ]).join(' · '),
    hasNearDeadline &&
      !isRenewedByMandate(reminder, renewals) &&
      formatLaterStages(delayStages, getToday(reminder)),
    isLastThreshold &&
      `Last reminder. ${mention(owner ?? watched.registeredBy ?? watched.addedBy)}: action needed.`,
    ...reminderWarnings(reminder).map((warning) => `:warning: ${warning}`),
  ]);
}

function reminderWarnings(reminder: Reminder): string[] {
  const { watched, phase, isDeletionAssumed, restoreUntil, lastSafeDay, isEstimated } = reminder;
  const restoreDeadline = restoreUntil ?? lastSafeDay;
  return dropMissing([
    isDeletionAssumed && 'It should have renewed automatically. Check the domain service',
    isDeletionAssumed &&
      phase === 'redemption' &&
      restoreDeadline !== undefined &&
      `If it was deleted, restore it by ${formatDay(restoreDeadline, getToday(reminder))}`,
    isEstimated && 'The date is estimated from the last order',
    watched.doubt !== undefined && escapeLine(formatUnreliableDateReason(watched.doubt)),
    watched.undelivered !== undefined && undeliveredWarning(watched.undelivered),
    watched.lapse !== undefined &&
      `${mention(watched.lapse.requestedBy)} wants to let it lapse: “${escapeLine(watched.lapse.reason)}”. Not confirmed yet`,
  ]);
}

function undeliveredWarning(destination: string): string {
  return /^[UW]/.test(destination)
    ? 'I couldn’t message its owner'
    : `I can’t post in its channel, ${channelMention(destination)}. Invite me there, or choose another channel`;
}

function disputedTitle(disputed: readonly WatchedDomain[]): string {
  return `${formatCount(disputed.length, 'renewal')} not shown by the registry`;
}

function disputedBlocks(disputed: readonly WatchedDomain[], { hasService }: RenewalCapability): AnyBlock[] {
  if (disputed.length === 0) return [];
  return lineSections([
    hasService
      ? '*:warning: Renewed here, but not at the registry.* Ask the domain service about these names. I’ll remind you weekly.'
      : '*:warning: Renewed elsewhere, but not at the registry.* Ask the registrar about these names. I’ll remind you weekly.',
    ...disputed.map(
      ({ name, unpublishedRenewal, doubt }) =>
        `• ${formatName(name)}: renewed ${unpublishedRenewal === undefined ? '' : formatDay(formatCalendarDay(unpublishedRenewal.at, 'UTC'))}. ${escapeText(doubt === undefined ? '' : formatUnreliableDateReason(doubt))}.`,
    ),
  ]);
}
