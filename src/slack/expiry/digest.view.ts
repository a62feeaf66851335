import type { Button } from '@slack/types';
import { present } from '../../collections.ts';
import { byDeadline, deadlineOf, isRenewable, waysToKeep } from '../../expiry/deadline.ts';
import type { DigestGroup, DueReminder } from '../../expiry/plan.ts';
import type {
  DigestHead,
  DigestMore,
  DigestPart,
  WatchedDomain,
  WatchedReminder,
} from '../../expiry/ports.ts';
import { byStake, stakeOf, type WaitingStep } from '../../money/waiting.ts';
import { calendarDay } from '../../zones/calendar-day.ts';
import { displayName } from '../../zones/names.ts';
import {
  type AnyBlock,
  actions,
  button,
  context,
  count,
  escapeText,
  header,
  lines,
  type Message,
  mention,
  message,
  monthChart,
  quote,
  section,
  TABLE_ROWS,
  table,
} from '../kit/blocks.ts';
import { waitingText } from '../money/price.view.ts';
import { formatDoubt } from '../names/doubt.view.ts';
import { channelMention } from '../names/portfolio.view.ts';
import { DEADLINE_COLUMNS, deadlineCells, formatDay, formatDays, formatName } from './expiry.view.ts';
import { formatStanding, NO_DELETION_KNOWN } from './standing.view.ts';

/* The digest of expiring names: the most urgent first, with what can be done about each. */

type Reminder = DueReminder<WatchedReminder>;
type Group = DigestGroup<WatchedReminder>;

/** What waiting costs for a name; empty where nothing is known. */
export type WaitingOf = (reminder: Reminder) => readonly WaitingStep[];

const nothingKnown: WaitingOf = () => [];

/** The first message of a digest. */
export function digestHead(head: DigestHead, waitingOf: WaitingOf = nothingKnown): Message {
  const title = digestTitle(head, waitingOf);
  const shown = head.groups.reduce((sum, { reminders }) => sum + reminders.length, 0);
  const renewable = head.all.some((group) => isRenewable(group.phase));
  const notes = present([
    shown < head.total &&
      `The other ${head.more ? 'names' : count(head.total - shown, 'name')} follow in this thread.`,
    head.more && head.disputed.length > 0 && 'More renewals that the registry does not show follow.',
    head.undated > 0 && undatedText(head.undated),
    'Snooze with a reason, or let a name lapse: somebody else confirms. `/domain expiring` lists everything.',
  ]);
  return message(title, [
    header(title),
    head.total > 1 && dueTable(head, waitingOf),
    head.months.length > 0 && monthChart('Renewals by month', 'Names', head.months),
    ...(head.total > 1 && renewable
      ? actions(`digest_${head.digestId}`, [
          button(
            'reminder_renew_many',
            'Renew several…',
            head.destination === '' ? head.digestId : `${head.digestId}/${head.destination}`,
            { style: 'primary' },
          ),
        ])
      : []),
    ...partBlocks(head, waitingOf),
    context(...notes),
  ]);
}

function undatedText(undated: number): string {
  const [have, them] = undated === 1 ? ['has', 'it'] : ['have', 'them'];
  return `${count(undated, 'watched name')} ${have} no date, so nobody is reminded of ${them}. \`/domain names undated\` shows ${them}.`;
}

/** A message in the digest's thread. It says how many names follow, or that it is the last one. */
export function digestMore(part: DigestMore, waitingOf: WaitingOf = nothingKnown): Message {
  const names = part.groups.flatMap(({ reminders }) => reminders.map(({ name }) => displayName(name)));
  const title = names.length === 0 ? disputedTitle(part.disputed) : `Also due: ${names.join(', ')}`;
  const follows = part.more
    ? part.left === 0
      ? 'More follow.'
      : `More than ${count(part.left, 'name')} follow.`
    : `${count(part.left, 'name')} ${part.left === 1 ? 'follows' : 'follow'}.`;
  const isAll = part.left === 0 && !part.more;
  return message(title, [
    ...partBlocks(part, waitingOf),
    context(isAll ? 'That is all of this digest.' : follows),
  ]);
}

/** What is lost first comes first, whatever its phase; of one day, the name that costs most. */
function byAtStake(reminders: readonly Reminder[], waitingOf: WaitingOf) {
  return reminders
    .map((reminder) => ({ reminder, deadline: deadlineOf(reminder), stake: stakeOf(waitingOf(reminder)) }))
    .sort((a, b) => byDeadline(a.deadline, b.deadline) || byStake(a.stake, b.stake));
}

function digestTitle({ all, total, more, disputed }: DigestHead, waitingOf: WaitingOf): string {
  if (total === 0) return `${more ? 'More than ' : ''}${disputedTitle(disputed)}`;
  const [urgent] = byAtStake(
    all.flatMap(({ reminders }) => reminders),
    waitingOf,
  ).map(({ reminder }) => reminder);
  if (total === 1 && urgent !== undefined) return `${displayName(urgent.name)} ${headline(urgent)}`;
  return `${more ? 'More than ' : ''}${count(total, 'name')} to decide about${urgent === undefined ? '' : `, first ${displayName(urgent.name)}: ${headline(urgent)}`}`;
}

function headline(reminder: Reminder): string {
  if (reminder.isDeletionAssumed) return `is ${NO_DELETION_KNOWN}`;
  switch (reminder.phase) {
    case 'registered':
      return `expires ${formatDays(reminder.daysLeft)}`;
    case 'auto_renew_grace':
    case 'expired':
      return `expired ${formatDays(reminder.daysLeft)}`;
    case 'redemption':
    case 'deleted':
      return 'can only be restored';
    case 'pending_delete':
      return 'is about to be released';
    case 'released':
      return 'is free for anybody';
  }
}

function groupTitle({ phase, daysLeft = 0, reminders }: Group): string {
  if (reminders.some(({ isDeletionAssumed }) => isDeletionAssumed)) {
    return reminders.every(({ isDeletionAssumed }) => isDeletionAssumed)
      ? ':sos: Past the grace, no deletion is known'
      : ':sos: Deleted, or past the grace with no deletion known';
  }
  switch (phase) {
    case 'registered':
      return daysLeft === 0
        ? ':rotating_light: Expires today'
        : `:hourglass_flowing_sand: ${count(daysLeft, 'day')} left`;
    case 'auto_renew_grace':
      return ':rotating_light: Expired, in the auto-renew grace period';
    case 'expired':
      return ':rotating_light: Expired';
    case 'redemption':
      return ':sos: Deleted, in the redemption grace period';
    case 'deleted':
      return ':sos: Deleted';
    case 'pending_delete':
      return ':wastebasket: Pending delete';
    case 'released':
      return ':wastebasket: Released';
  }
}

/** Every name with its buttons. The title of a group stands above its first name. */
function partBlocks(part: DigestPart, waitingOf: WaitingOf): AnyBlock[] {
  // Blocks are numbered, because a name may be longer than a block's id.
  let block = 0;
  const names = part.groups.flatMap((group) =>
    byAtStake(group.reminders, waitingOf).flatMap(({ reminder }, index) => [
      section(
        `${index === 0 ? `*${groupTitle(group)}*\n` : ''}${reminderText(reminder, waitingOf(reminder))}`,
      ),
      ...actions(`due_${block++}`, reminderButtons(reminder)),
    ]),
  );
  return [...names, ...disputedBlocks(part.disputed)];
}

function reminderText(reminder: Reminder, waiting: readonly WaitingStep[]): string {
  const { watched } = reminder;
  const what = present([
    formatName(reminder.name),
    ...sentences(reminder),
    waiting.length > 0 && waitingText(waiting),
    reminder.estimated && 'The date is an estimate from the last order.',
    watched.doubt !== undefined && `Look-up at the registry: ${quote(formatDoubt(watched.doubt))}.`,
    ...ownerSentences(reminder),
    watched.undelivered !== undefined && undeliveredText(watched.undelivered),
    watched.lapse !== undefined &&
      `${mention(watched.lapse.requestedBy)} wants to let it lapse (“${quote(watched.lapse.reason)}”); nobody has confirmed.`,
  ]);
  return what.join(' ');
}

/** Who is asked about a name: its owner each time; otherwise, with the last reminder, whoever registered it. */
function ownerSentences({ watched, lastThreshold }: Reminder): string[] {
  const { owner } = watched;
  if (lastThreshold) {
    return [`Last reminder. ${mention(owner ?? watched.registeredBy ?? watched.addedBy)}, what about it?`];
  }
  return owner === undefined ? [] : [`Owner: ${mention(owner)}.`];
}

function undeliveredText(destination: string): string {
  return /^[UW]/.test(destination)
    ? 'I could not tell its owner directly.'
    : `I cannot post in its channel, ${channelMention(destination)}: invite me there, or choose another one.`;
}

function sentences(reminder: Reminder): string[] {
  const expires = formatDay(reminder.expiryDay);
  const safe = reminder.lastSafeDay && formatDay(reminder.lastSafeDay);
  const restore = reminder.restoreUntil && formatDay(reminder.restoreUntil);
  if (reminder.isDeletionAssumed) {
    const until = restore ?? safe;
    return present([
      `expired ${expires}. ${formatStanding(reminder.phase, true)}`,
      reminder.phase === 'redemption' &&
        until !== undefined &&
        `In case it has been deleted after all, a restore, which costs money, is possible until *${until}*, the last safe day.`,
    ]);
  }
  switch (reminder.phase) {
    case 'registered':
      return [
        reminder.daysLeft === 0
          ? `expires *today*, ${expires}.`
          : `expires *${expires}*.${safe === undefined ? '' : ` Last safe day: ${safe}.`}`,
      ];
    case 'auto_renew_grace':
      return present([
        `expired ${expires}. A renewal keeps it until *${safe ?? 'the grace period ends'}*, the last safe day.`,
        restore !== undefined && `After that only a restore, until ${restore}.`,
        'The zone renews by itself at the expiry: this is said out of caution.',
      ]);
    case 'expired':
      return [`expired ${expires}. What follows in this zone is not documented: renew it now.`];
    case 'redemption':
      return [
        `was deleted. A restore brings it back until *${restore ?? safe ?? 'the period ends'}*, the last safe day. A restore costs money.`,
      ];
    case 'deleted':
      return [
        'was deleted. For how long a restore brings it back is not documented for its zone: if it is still wanted, restore it now. A restore costs money.',
      ];
    case 'pending_delete':
      return [`cannot be brought back.${safe === undefined ? '' : ` It is released after ${safe}.`}`];
    case 'released':
      return ['is free: anybody can register it now.'];
  }
}

function reminderButtons(reminder: Reminder): Button[] {
  const { name } = reminder;
  const shown = displayName(name);
  const make = (actionId: string, text: string, style?: 'primary') =>
    button(actionId, text, name, { style, label: `${text}: ${shown}` });
  const { renews, restores } = waysToKeep(deadlineOf(reminder));
  if (!renews && !restores) return [];
  return present([
    renews && make('reminder_renew', 'Renew', 'primary'),
    restores && make('reminder_restore', 'Restore', renews ? undefined : 'primary'),
    make('reminder_snooze', 'Snooze'),
    make('reminder_lapse', 'Let lapse'),
  ]);
}

function dueTable({ all, total }: DigestHead, waitingOf: WaitingOf): AnyBlock {
  const reminders = all.flatMap((group) => group.reminders);
  const rows = byAtStake(reminders, waitingOf).slice(0, TABLE_ROWS);
  return table({
    caption:
      total > TABLE_ROWS
        ? `The first ${TABLE_ROWS} of ${total} names`
        : `${count(total, 'name')} by days left`,
    columns: ['Name', ...DEADLINE_COLUMNS, 'Where it stands'],
    rows: rows.map(({ reminder, deadline }) => [
      displayName(reminder.name),
      ...deadlineCells(deadline),
      reminder.phase === 'registered' ? formatCertainty(reminder) : headline(reminder),
    ]),
  });
}

function formatCertainty({ estimated, watched }: Reminder): string {
  if (watched.doubt?.code === 'not_registered') return 'its registry has no record of it';
  if (estimated) return 'date estimated';
  if (watched.lookedAt === undefined) return 'not looked up yet';
  return watched.doubt === undefined ? 'registered' : 'not confirmed by its registry';
}

function disputedTitle(disputed: readonly WatchedDomain[]): string {
  return `${count(disputed.length, 'renewal')} that the registry does not show`;
}

function disputedBlocks(disputed: readonly WatchedDomain[]): AnyBlock[] {
  if (disputed.length === 0) return [];
  return lines([
    '*:warning: Renewed here, but the registry does not show it.* Ask the domain service what became of these; I say so weekly until it does:',
    ...disputed.map(
      ({ name, renewed, doubt }) =>
        `• ${formatName(name)}: renewed ${renewed === undefined ? '' : formatDay(calendarDay(renewed.at, 'UTC'))}. ${escapeText(doubt === undefined ? '' : formatDoubt(doubt))}.`,
    ),
  ]);
}
