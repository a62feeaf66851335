import type { TeamEventOf } from '../../events.ts';
import { calendarDay } from '../../zones/calendar-day.ts';
import { displayName } from '../../zones/names.ts';
import { byWhom, formatDay, formatName } from '../expiry/expiry.view.ts';
import { actions, button, lines, type Message, mention, message, moment, section } from '../kit/blocks.ts';

/* What people are told of what somebody decided: about a name in a thread, and who stands in for whom. */

/** What somebody decided about a name. */
type Decision = TeamEventOf<'lapse_requested'>;

export function snoozedText({ subject, actor, until, reason }: Decision, timeZone: string): string {
  const end = until === undefined ? 'its expiry' : formatDay(calendarDay(until, timeZone));
  return `:zzz: ${formatName(subject.id)} is snoozed until ${end} by ${byWhom(actor, reason)}`;
}

/** @param known what hangs on the name and what waiting costs, for the person who confirms */
export function lapseRequest(
  { subject, actor, reason }: Decision,
  { impact, waiting, keep }: KnownOfLapse,
): Message {
  const name = formatName(subject.id);
  return message(`${name}${keep}: let it lapse, says ${byWhom(actor, reason)}`, [
    section(
      `${name}: let it lapse?`,
      `:hourglass: Somebody else has to confirm; until then reminders go on`,
      byWhom(actor, reason),
    ),
    ...lines(impact),
    waiting !== '' && section(waiting),
    ...actions('lapse', [
      button('lapse_confirm', 'Confirm: let it lapse', subject.id, {
        style: 'danger',
        label: `Confirm: let it lapse: ${displayName(subject.id)}`,
      }),
    ]),
  ]);
}

/** What is known of a name that may lapse. */
export interface KnownOfLapse {
  readonly impact: readonly string[];
  /** What waiting costs; empty where nothing is known. */
  readonly waiting: string;
  /** `, about €18.00`: what would keep it. */
  readonly keep: string;
}

export function lapseConfirmedText({ subject, actor, askedBy = '', reason }: Decision): string {
  return `:white_check_mark: Decided: ${formatName(subject.id)} lapses. Asked by ${byWhom(askedBy, reason)}, confirmed by ${mention(actor)}. No more reminders; \`/domain watch ${subject.id}\` takes it back.`;
}

/** @param standIn who stood in for somebody who is back */
export function backText(standIn: string): string {
  return `Welcome back. ${mention(standIn)} no longer stands in for you.`;
}

/** What each person is told when somebody is away or back, by their id. */
export function standInTexts({
  subject: { id: away },
  standIn,
  replaced,
}: TeamEventOf<'stand_in_changed'>): ReadonlyMap<string, string> {
  const until = standIn && moment(standIn.until);
  return new Map([
    ...(replaced === undefined ? [] : [[replaced, `You no longer stand in for ${mention(away)}.`] as const]),
    ...(standIn === undefined
      ? [[away, backText(replaced ?? '')] as const]
      : [
          [
            standIn.userId,
            `You stand in for ${mention(away)} until ${until}: what they could approve, you can approve, but nothing that either of you asked for. What waits stands in my Home tab.`,
          ] as const,
          [
            away,
            `${mention(standIn.userId)} stands in for you until ${until}. \`/domain back\` ends it earlier.`,
          ] as const,
        ]),
  ]);
}
