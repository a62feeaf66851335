import type { RequirementProgress } from '../../approvals/progress.ts';
import {
  type ChangedName,
  changeHash,
  isSameDetails,
  MAX_GUARDED,
  MAX_WATCHED,
} from '../../names/portfolio.ts';
import type { FactsChange } from '../../names/ports.ts';
import type { FactsRefusal } from '../../names/protected-changes.ts';
import type { KnownChange, PendingChange } from '../../policy/pending-changes.ts';
import { displayName } from '../../zones/names.ts';
import { formatWatchRefusal } from '../expiry/watch-list.view.ts';
import {
  actions,
  button,
  count,
  day,
  escapeText,
  lines,
  type Message,
  mention,
  message,
  moment,
  section,
} from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { approverList } from '../orders/order.view.ts';
import { refusalText } from '../orders/refusal.view.ts';
import { detailPairs } from './portfolio.view.ts';

/* Changes of names that decide about orders, and so wait for a second person. */

/** More changes than these are decided about beside a file that has all of them. */
export const SHOWN_CHANGES = 20;

type Waiting = PendingChange<FactsChange>;

/** What changes of one name. */
export function changeLine({ name, before, after, date, decision }: ChangedName): string {
  const words = (details: typeof before) =>
    detailPairs(details)
      .filter(([, value]) => value !== undefined)
      .map(([label, value]) => `${label.toLowerCase()} ${value}`)
      .join(', ') || 'nothing';
  const title = `• *${escapeText(displayName(name))}*:`;
  if (after === undefined) return `${title} off the watch list, and with it ${words(before)}`;
  if (decision?.kind === 'lapse_confirmed') return `${title} let it lapse: “${escapeText(decision.reason)}”`;
  const details = isSameDetails(before, after) ? [] : [`from ${words(before)} to ${words(after)}`];
  const given = date?.before?.by === undefined ? '' : ` (given by ${mention(date.before.by)})`;
  const dates =
    date === undefined
      ? []
      : [
          `expires ${date.before === undefined ? 'unknown' : day(date.before.at)}${given} → ${day(date.after)}`,
        ];
  return `${title} ${[...details, ...dates].join('; ')}`;
}

function namesText({ change: { names } }: Waiting): string {
  const [only, ...others] = names;
  return only === undefined || others.length > 0
    ? count(names.length, 'name')
    : escapeText(displayName(only.name));
}

function changeLines({ change: { names } }: Waiting): ReturnType<typeof lines> {
  const left = names.length - SHOWN_CHANGES;
  return lines([
    ...names.slice(0, SHOWN_CHANGES).map(changeLine),
    left > 0 && `… and ${count(left, 'other name')}.`,
  ]);
}

/**
 * Asks for confirmation. Who confirms sees all that changes, here or in the file behind the button.
 * @param isAllSeen the person has the file
 */
export function waitingFacts(
  waiting: Waiting,
  progress: readonly RequirementProgress[],
  isAllSeen = false,
): Message {
  const { id, askedBy, expiresAt, change } = waiting;
  const isShown = isAllSeen || change.names.length <= SHOWN_CHANGES;
  const what = namesText(waiting);
  const title = `${mention(askedBy)} asks to change what rules, budgets or alarms go by: ${what}`;
  const shown = message(title, [
    section(`:busts_in_silhouette: ${title}`),
    ...changeLines(waiting),
    section(
      'It weakens protection, so nothing has changed yet. To confirm:',
      ...progress.map(requirementLine),
      `${mention(askedBy)} can't confirm it. Open until ${moment(expiresAt)}.`,
    ),
    ...actions(`${FACTS_BLOCK}${changeHash(change)}`, [
      isShown
        ? button('facts_confirm', 'Confirm', id, { style: 'primary', label: `Confirm the change of ${what}` })
        : button('facts_look', `Look at all ${change.names.length}`, id),
      button('facts_dismiss', 'Drop it', id, { label: `Drop the change of ${what}` }),
    ]),
  ]);
  return { ...shown, textOnlyHint: buttonsHint(`/domain name ${change.names[0]?.name ?? ''}`) };
}

const FACTS_BLOCK = 'facts_';

/** The hash of the change that a message showed, from the block with its buttons. */
export function factsHashIn(blockId: string): string {
  return blockId.slice(FACTS_BLOCK.length);
}

function requirementLine({ requirement, counted }: RequirementProgress): string {
  const { needed, approvers, signed } = requirement;
  const given =
    counted.length === 0 ? '' : `, confirmed by ${counted.map(({ userId }) => mention(userId)).join(', ')}`;
  return `• ${needed} of ${approverList(approvers)}${signed ? ', with a signature' : ''}${given}`;
}

/** Announces a change that waits, or what became of it, where the question doesn't stand. */
export function announcedFacts(
  waiting: Waiting,
  decided: KnownChange<unknown>['decided'] | 'waits',
): Message {
  if (decided !== 'waits') return endedFacts(waiting, decided);
  const title = `:busts_in_silhouette: ${mention(waiting.askedBy)} asks to weaken the protection of ${namesText(waiting)}. It waits for confirmation`;
  return message(title, [section(title), ...changeLines(waiting)]);
}

const TOO_MANY_GUARDED = `Nothing was changed: at most ${MAX_GUARDED.toLocaleString('en')} names can be tagged \`guarded\`. Take the tag off other names first. \`/domain names tag:guarded\` lists them.`;

/** How a change ended; takes the place of the question. */
export function endedFacts(waiting: Waiting, decided: KnownChange<unknown>['decided']): Message {
  const asked = `${namesText(waiting)}. Asked by ${mention(waiting.askedBy)}`;
  const title =
    decided?.outcome === 'confirmed'
      ? `:white_check_mark: Changed: ${asked}, confirmed by ${mention(decided.by)}.`
      : decided?.outcome === 'dismissed'
        ? `:wastebasket: Not changed: ${asked}, dropped by ${mention(decided.by)}.`
        : `:hourglass: Not changed: ${asked}${decided === undefined ? ', nobody confirmed it in time' : '. Something of it was changed meanwhile'}.`;
  return message(title, [section(title), ...changeLines(waiting)]);
}

/** Tells who asked that a second person has to confirm, and where. @param where the channel, or the people who were asked */
export function waitingText(
  waiting: Waiting,
  where: { readonly channelId: string } | readonly string[],
): string {
  const begun = `${namesText(waiting)} ${waiting.change.names.length === 1 ? 'waits' : 'wait'} for a second person, because this weakens protection.`;
  if ('channelId' in where) return `${begun} I asked in <#${where.channelId}>.`;
  return where.length > 0
    ? `${begun} I asked ${where.map(mention).join(', ')}.`
    : `${begun} I could reach nobody who may confirm it: ask an admin to look at \`/domain settings\`, then do this again.`;
}

/** Why somebody may not confirm or drop a change. */
export function factsRefusalText(refusal: FactsRefusal): string {
  switch (refusal.code) {
    case 'own_change':
      return 'You asked for this, so somebody else who may approve has to confirm it.';
    case 'change_gone':
      return 'This does not wait any more: it was confirmed, dropped, or nobody confirmed it in time. If it is still wanted, do it again.';
    case 'change_stale':
      return refusal.again === undefined
        ? 'A name has changed since this was asked for, and nothing of the request is left.'
        : 'A name has changed since this was asked for, so it was not confirmed. Check it as it is now, then confirm again.';
    case 'too_many_guarded':
      return TOO_MANY_GUARDED;
    case 'list_full':
      return formatWatchRefusal({ code: 'list_full', limit: MAX_WATCHED });
    case 'needs_signature':
      return 'A rule asks for your signature. Press Confirm to get a link.';
    default:
      return refusalText(refusal);
  }
}
