import type { TeamEventOf } from '../../ledger/events.ts';
import { dropMissing } from '../../lib/collections.ts';
import { formatCalendarDay } from '../../zones/calendar-day.ts';
import { formatDay, formatName, personWithReason } from '../expiry/expiry.view.ts';
import { formatCount, formatLocalTime, mention } from '../kit/blocks.ts';

/* Notifications about decisions on names, and about stand-ins. */

/** All decisions on names have the same fields as this event. */
type NameDecision = TeamEventOf<'lapse_requested'>;

export function snoozedText({ subject, actor, until, reason }: NameDecision, timeZone: string): string {
  const endText = until === undefined ? 'its expiry' : formatDay(formatCalendarDay(until, timeZone));
  return `:zzz: ${formatName(subject.id)} is snoozed until ${endText}, by ${personWithReason(actor, reason)}`;
}

export function renewedText({ subject, actor, askedBy, until, reason }: NameDecision): string {
  const newExpiry =
    until === undefined ? '' : ` It now expires ${formatDay(formatCalendarDay(until, 'UTC'))}.`;
  const confirmedSuffix = askedBy === undefined ? '' : `, confirmed by ${mention(actor)}`;
  return `:white_check_mark: ${formatName(subject.id)} was renewed elsewhere, reported by ${personWithReason(askedBy ?? actor, reason)}${confirmedSuffix}.${newExpiry}`;
}

interface Routing {
  readonly owner?: string;
  readonly channel?: string;
}

/** Returns, for example, `owner: none → @Bob` for each field that differs. */
function formatRoutingChanges(before: Routing, after: Routing): string[] {
  const ownerText = ({ owner }: Routing) => (owner === undefined ? 'none' : mention(owner));
  const channelText = ({ channel }: Routing) => (channel === undefined ? 'none' : `<#${channel}>`);
  return dropMissing([
    before.owner !== after.owner && `owner: ${ownerText(before)} → ${ownerText(after)}`,
    before.channel !== after.channel && `channel: ${channelText(before)} → ${channelText(after)}`,
  ]);
}

export function reroutedText({
  actor,
  names,
  count: total,
  confirmedBy,
}: TeamEventOf<'notices_rerouted'>): string {
  const changes = names.map(
    ({ name, before, after }) => `• ${formatName(name)}: ${formatRoutingChanges(before, after).join('; ')}`,
  );
  const unlistedCount = total - names.length;
  const changedFields = dropMissing([
    (unlistedCount > 0 || names.some(({ before, after }) => before.owner !== after.owner)) && 'owner',
    (unlistedCount > 0 || names.some(({ before, after }) => before.channel !== after.channel)) && 'channel',
  ]);
  const confirmedSuffix = confirmedBy === undefined ? '' : `, confirmed by ${mention(confirmedBy)}`;
  return [
    `:mailbox_with_mail: ${mention(actor)} changed the ${changedFields.join(total === 1 ? ' and ' : ' or ')} of ${formatCount(total, 'name')}${confirmedSuffix}`,
    ...changes,
    ...(unlistedCount > 0 ? [`… and ${formatCount(unlistedCount, 'other name')}`] : []),
  ].join('\n');
}

export function lapseConfirmedText({ subject, actor, askedBy = '', reason }: NameDecision): string {
  return `:white_check_mark: ${formatName(subject.id)} will lapse. Requested by ${personWithReason(askedBy, reason)}, confirmed by ${mention(actor)}. I won’t send more reminders. To undo this, use \`/domain watch ${subject.id}\`.`;
}

/** @param standIn the previous stand-in */
export function welcomeBackText(standIn: string): string {
  return `Welcome back. ${mention(standIn)} is no longer your stand-in.`;
}

export function standInTextsByUser({
  subject: { id: awayUserId },
  standIn,
  replaced,
}: TeamEventOf<'stand_in_changed'>): ReadonlyMap<string, string> {
  const endText = standIn && formatLocalTime(standIn.until);
  return new Map([
    ...(replaced === undefined
      ? []
      : [[replaced, `You are no longer ${mention(awayUserId)}’s stand-in.`] as const]),
    ...(standIn === undefined
      ? [[awayUserId, welcomeBackText(replaced ?? '')] as const]
      : [
          [
            standIn.userId,
            `You are ${mention(awayUserId)}’s stand-in until ${endText}. You can approve the same orders, except those that either of you requested. You’ll find pending orders on my Home tab.`,
          ] as const,
          [
            awayUserId,
            `${mention(standIn.userId)} is your stand-in until ${endText}. To end this earlier, use \`/domain back\`.`,
          ] as const,
        ]),
  ]);
}
