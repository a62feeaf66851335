import type { TeamEventOf } from '../../ledger/events.ts';
import { dropMissing } from '../../lib/collections.ts';
import { formatCalendarDay } from '../../zones/calendar-day.ts';
import { formatDay, formatName, personWithReason } from '../expiry/expiry.view.ts';
import { count, formatLocalTime, mention } from '../kit/blocks.ts';

/* Notifications about decisions on names, and about stand-ins. */

/** Decisions on names all have the fields of this event. */
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

/** For example, `owner: none → @Bob`, only for the fields that differ. */
function routingChanges(before: Routing, after: Routing): string[] {
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
    ({ name, before, after }) => `• ${formatName(name)}: ${routingChanges(before, after).join('; ')}`,
  );
  const left = total - names.length;
  const fields = dropMissing([
    (left > 0 || names.some(({ before, after }) => before.owner !== after.owner)) && 'owner',
    (left > 0 || names.some(({ before, after }) => before.channel !== after.channel)) && 'channel',
  ]);
  const confirmedSuffix = confirmedBy === undefined ? '' : `, confirmed by ${mention(confirmedBy)}`;
  return [
    `:mailbox_with_mail: ${mention(actor)} changed the ${fields.join(total === 1 ? ' and ' : ' or ')} of ${count(total, 'name')}${confirmedSuffix}`,
    ...changes,
    ...(left > 0 ? [`… and ${count(left, 'other name')}`] : []),
  ].join('\n');
}

export function lapseConfirmedText({ subject, actor, askedBy = '', reason }: NameDecision): string {
  return `:white_check_mark: ${formatName(subject.id)} will lapse. Requested by ${personWithReason(askedBy, reason)}, confirmed by ${mention(actor)}. I won’t send more reminders. To undo this, use \`/domain watch ${subject.id}\`.`;
}

/** @param standIn the previous stand-in */
export function welcomeBackText(standIn: string): string {
  return `Welcome back. ${mention(standIn)} is no longer your stand-in.`;
}

export function standInTexts({
  subject: { id: away },
  standIn,
  replaced,
}: TeamEventOf<'stand_in_changed'>): ReadonlyMap<string, string> {
  const until = standIn && formatLocalTime(standIn.until);
  return new Map([
    ...(replaced === undefined
      ? []
      : [[replaced, `You are no longer ${mention(away)}’s stand-in.`] as const]),
    ...(standIn === undefined
      ? [[away, welcomeBackText(replaced ?? '')] as const]
      : [
          [
            standIn.userId,
            `You are ${mention(away)}’s stand-in until ${until}. You can approve the same orders, except those that either of you requested. You’ll find pending orders on my Home tab.`,
          ] as const,
          [
            away,
            `${mention(standIn.userId)} is your stand-in until ${until}. To end this earlier, use \`/domain back\`.`,
          ] as const,
        ]),
  ]);
}
