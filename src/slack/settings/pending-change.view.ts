import type { ActionsBlock, ContextBlock, SectionBlock } from '@slack/types';
import type { SettingChange } from '../../config/settings.ts';
import { formatAmount } from '../../money/amount.ts';
import type { Price, PriceEdit } from '../../money/prices.ts';
import { priceKey } from '../../money/prices.ts';
import type { KnownChange, PendingChange } from '../../policy/pending-changes.ts';
import {
  actions,
  button,
  code,
  context,
  count,
  day,
  lines,
  type Message,
  mention,
  message,
  moment,
  section,
} from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { settingLines } from './settings.view.ts';

/* Changes of settings and prices that wait for another admin. */

/** A change that waits, with what it changes. */
export type WaitingChange =
  | ({ readonly kind: 'settings' } & PendingChange<readonly SettingChange[]>)
  | ({ readonly kind: 'prices' } & PendingChange<readonly PriceEdit[]>);

/** More price edits than this cannot wait together, because whoever confirms them has to see each. */
export const MAX_WAITING_PRICES = 100;

const WHY = {
  settings: 'This changes who decides about orders, so *another admin* has to confirm it.',
  prices:
    'These prices are new or lower, so a rule, a mandate or a budget lets more through. *Another admin* has to confirm them.',
} satisfies Record<WaitingChange['kind'], string>;

function changeLines(waiting: WaitingChange, locale: string): string[] {
  return waiting.kind === 'settings'
    ? settingLines(waiting.change)
    : waiting.change.map((edit) => editLine(edit, locale));
}

/** `• .rest renew, 1 year from 1 Nov 2026: €18.00 → €9.00`. */
function editLine({ before, after }: PriceEdit, locale: string): string {
  const of = ({ zone, task, period, validFrom }: Price) =>
    `.${zone} ${task}, ${count(period, 'year')} from ${day(new Date(`${validFrom}T00:00:00Z`))}`;
  const amount = (price: Price) => formatAmount(price.amount, locale);
  if (before === undefined) return `• ${of(after)}: not listed → ${amount(after)}`;
  return priceKey(before) === priceKey(after)
    ? `• ${of(after)}: ${amount(before)} → ${amount(after)}`
    : `• ${of(before)}: ${amount(before)} → ${of(after)}: ${amount(after)}`;
}

/** Who reads about a change that waits. */
interface Reader {
  readonly userId: string;
  readonly locale: string;
}

/** What waits, with the buttons that its reader may press. */
export function waitingBlocks(
  waiting: WaitingChange,
  { userId, locale }: Reader,
): (SectionBlock | ActionsBlock | ContextBlock)[] {
  const { id, askedBy, expiresAt } = waiting;
  const confirm = button('settings_confirm', 'Confirm', id, { style: 'primary' });
  const drop = button('settings_dismiss', 'Drop it', id, { style: 'danger' });
  return [
    section(
      `:hourglass_flowing_sand: *${mention(askedBy)} wants to change ${waiting.kind === 'settings' ? 'the settings' : 'the price list'}.* ${WHY[waiting.kind]}`,
    ),
    ...lines(changeLines(waiting, locale)),
    ...actions(`pending_${id}`, askedBy === userId ? [drop] : [confirm, drop]),
    context(`It waits until ${moment(expiresAt)}. Nothing of it holds before it is confirmed.`),
  ];
}

/** Asks another admin for the confirmation. */
export function changeRequest(waiting: WaitingChange, reader: Reader): Message {
  const what = waiting.kind === 'settings' ? 'Changed settings wait' : 'Changed prices wait';
  const shown = message(`${what} for your confirmation`, waitingBlocks(waiting, reader));
  return { ...shown, textOnlyHint: buttonsHint('/domain settings') };
}

/** What became of a change; takes the place of the question. */
export function changeEnded(
  waiting: WaitingChange,
  decided: KnownChange<unknown>['decided'],
  locale: string,
): Message {
  const [title, text] = endOf(waiting, decided);
  return message(title, [section(text), ...lines(changeLines(waiting, locale))]);
}

function endOf({ askedBy }: WaitingChange, decided: KnownChange<unknown>['decided']) {
  if (decided?.outcome === 'confirmed')
    return [
      'Confirmed: it holds from now on',
      `:white_check_mark: *Confirmed.* ${mention(askedBy)} asked for it, ${mention(decided.by)} confirmed it; it holds from now on. What changed:`,
    ] as const;
  if (decided?.outcome === 'dismissed')
    return [
      'Dropped: nothing was changed',
      `:wastebasket: *Dropped by ${mention(decided.by)}.* Nothing of it was changed:`,
    ] as const;
  const why = decided === undefined ? 'Nobody confirmed it in time.' : NOT_CONFIRMED.stale;
  return [
    'It does not wait any more: nothing was changed',
    `:hourglass: ${why} Nothing of it was changed:`,
  ] as const;
}

/** Why a confirmation changed nothing. */
export const NOT_CONFIRMED = {
  own: 'You asked for this, so *another admin* has to confirm it. A workspace admin or owner can type `/domain settings` and press Confirm.',
  gone: 'This does not wait any more: somebody confirmed or dropped it, or its time ran out. `/domain settings` shows what waits.',
  stale:
    'This was not confirmed, because it has changed since it was asked for. If anything is left of it, check it as it is now, then confirm again.',
  impossible: (why: string) => `Nothing was changed. ${why}`,
} as const;

/** Why the wait begins, for who asked; mrkdwn. */
export function waitsText(waiting: WaitingChange, locale: string): string[] {
  return [
    `:hourglass_flowing_sand: *Waits for another admin*, until ${moment(waiting.expiresAt)}. ${WHY[waiting.kind]} Until then nothing of this changes:`,
    ...changeLines(waiting, locale),
  ];
}

/** Says who is asked to confirm, and what to do where nobody is. @param command shows the button, too */
export function askedText(asked: readonly string[], command: string): string {
  return asked.length === 0
    ? `:warning: *I know of no other admin to ask*: nobody confirms alone what they asked for. A workspace admin or owner can type ${code(command)} and press Confirm. If you are the only one, have somebody made an admin of the workspace, or add their id to \`ADMINS\` where I run.`
    : `Waiting for ${asked.map(mention).join(' or ')} to confirm.`;
}
