import type { Button, SectionBlock } from '@slack/types';
import { type Day, shiftDay } from '../../expiry/days.ts';
import { type Deadline, getRenewalOptions } from '../../expiry/deadline.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import type { DueReminder } from '../../expiry/plan.ts';
import { dropMissing } from '../../lib/collections.ts';
import type { DelayStage } from '../../money/waiting.ts';
import { formatDomainName } from '../../zones/names.ts';
import type { Capability } from '../capability.ts';
import {
  type AnyBlock,
  actions,
  addMenu,
  button,
  fitsMenu,
  type MenuId,
  overflowMenu,
} from '../kit/blocks.ts';
import { formatQuote, formatRestoreStage } from '../money/price.view.ts';
import { formatDay, formatDaysLeft } from './expiry.view.ts';
import { POSSIBLY_DELETED } from './phase.view.ts';

export type DueStatus = Pick<
  DueReminder,
  'phase' | 'daysLeft' | 'isDeletionAssumed' | 'expiryDay' | 'lastSafeDay' | 'restoreUntil'
>;

/** Returns undefined if no date is known. */
export function buildDueStatus({ expiryDay, daysLeft, deadline }: ListedName): DueStatus | undefined {
  if (expiryDay === undefined || daysLeft === undefined || deadline === undefined) return undefined;
  const { phase, action, until } = deadline;
  return {
    phase,
    daysLeft,
    isDeletionAssumed: action === 'check',
    expiryDay,
    lastSafeDay: phase === 'registered' ? shiftDay(expiryDay, -1) : until,
    restoreUntil: action === 'restore' || action === 'check' ? until : undefined,
  };
}

/** `tomorrow`, `6 days`, `expired 3 days ago`, `deleted`. */
export function dueTimeText({ phase, daysLeft, isDeletionAssumed }: DueStatus): string {
  if (phase === 'registered') return formatDaysLeft(daysLeft).replace(/^in /, '');
  return isDeletionAssumed || phase === 'expired' || phase === 'auto_renew_grace'
    ? `expired ${formatDaysLeft(daysLeft)}`
    : phase === 'released'
      ? 'released'
      : 'deleted';
}

/** `expires tomorrow`, `expires in 6 days`, `expired 3 days ago`, `was deleted`. */
export function expiresText(due: DueStatus): string {
  if (due.phase === 'registered') return `expires ${formatDaysLeft(due.daysLeft)}`;
  const dueTime = dueTimeText(due);
  return dueTime.startsWith('expired') ? dueTime : `was ${dueTime}`;
}

export function getToday({ expiryDay, daysLeft }: DueStatus): string {
  return shiftDay(expiryDay, -daysLeft);
}

/** `renew by 1 Dec, about €18.00`. */
export function deadlineText(
  due: DueStatus,
  delayStages: readonly DelayStage[],
  mandateRenewalDay: Day | undefined,
): string {
  const { phase, daysLeft, lastSafeDay, restoreUntil, isDeletionAssumed } = due;
  const formatDeadline = (day: string | undefined) =>
    day === undefined ? 'now' : `by ${formatDay(day, getToday(due))}`;
  const price = priceText(due, delayStages);
  if (isDeletionAssumed) return POSSIBLY_DELETED;
  switch (phase) {
    case 'registered':
      if (mandateRenewalDay !== undefined)
        return renewalText(formatDay(mandateRenewalDay, getToday(due)), price);
      return `renew ${daysLeft === 0 ? 'now' : formatDeadline(lastSafeDay)}${price}`;
    case 'auto_renew_grace':
      return `late renewal (not guaranteed) ${formatDeadline(lastSafeDay)}${price}`;
    case 'expired':
      return `renew now, because its zone doesn’t document a grace period${price}`;
    case 'redemption':
      return (restoreUntil ?? lastSafeDay) === undefined
        ? `restore deadline unknown, so restore it now${price}`
        : `restore ${formatDeadline(restoreUntil ?? lastSafeDay)}${price}`;
    case 'deleted':
      return `restore deadline not documented, so restore it now${price}`;
    case 'pending_delete':
      return `can’t be recovered${lastSafeDay === undefined ? '' : `, released after ${formatDay(lastSafeDay, getToday(due))}`}`;
    case 'released':
      return 'anyone can register it';
  }
}

export function renewalText(day: string, price: string): string {
  return `a mandate renews it on ${day}${price}`;
}

export function ownerDeadlineText(
  due: DueStatus,
  delayStages: readonly DelayStage[],
  mandateRenewalDay: Day | undefined,
): string {
  return due.phase === 'registered' && mandateRenewalDay !== undefined
    ? `${renewalText(formatDay(mandateRenewalDay, getToday(due)), priceText(due, delayStages))}, unless you let it lapse`
    : deadlineText(due, delayStages, mandateRenewalDay);
}

/** `, about €18.00`: the current price of keeping the name. Empty without a price list. */
export function priceText({ phase }: DueStatus, delayStages: readonly DelayStage[]): string {
  const [stage] = delayStages;
  if (stage === undefined || stage.kind === 'lost') return '';
  return `, ${stage.kind === 'restore' && (phase === 'redemption' || phase === 'deleted') ? formatRestoreStage(stage) : formatQuote(stage.renewal)}`;
}

export interface RenewalCapability extends Capability {
  /** Whether orders can't renew this registrar's names. */
  readonly isAtOtherRegistrar: (registrar: string | undefined) => boolean;
}

export function expiryActionButtons(
  { name, registrar }: { readonly name: string; readonly registrar?: string | undefined },
  deadline: Deadline | undefined,
  { hasService, isAtOtherRegistrar }: RenewalCapability,
): Button[] {
  const createButton = (actionId: string, text: string) =>
    button(actionId, text, name, { label: `${text}: ${formatDomainName(name)}` });
  const { canRenew, canRestore } =
    deadline === undefined ? { canRenew: false, canRestore: false } : getRenewalOptions(deadline);
  if (!canRenew && !canRestore) return [];
  return dropMissing([
    canRenew && hasService && createButton('reminder_renew', 'Renew'),
    canRenew &&
      (!hasService || isAtOtherRegistrar(registrar)) &&
      createButton('reminder_renewed', 'Renewed elsewhere'),
    canRestore && hasService && createButton('reminder_restore', 'Restore'),
    createButton('reminder_snooze', 'Snooze'),
    createButton('reminder_lapse', canRenew ? 'Let it lapse' : 'Don’t restore'),
  ]);
}

/**
 * Uses buttons instead of a menu if the name is too long.
 * @param blockId contains a number, because a name may be too long
 */
export function lineWithMenu(
  line: SectionBlock,
  blockId: string,
  buttons: readonly Button[],
  menuId: MenuId = 'reminder_more',
): AnyBlock[] {
  return fitsMenu(buttons)
    ? [addMenu(line, blockId, overflowMenu(menuId, buttons))]
    : [line, ...actions(blockId, buttons)];
}
