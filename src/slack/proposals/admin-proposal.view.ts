import type { ActionsBlock, ContextBlock, SectionBlock } from '@slack/types';
import type { ProposalOf, ProposedChange } from '../../approvals/proposals/proposal.ts';
import { formatAmount } from '../../money/amount.ts';
import type { Price, PriceEdit } from '../../money/prices.ts';
import { formatPriceKey } from '../../money/prices.ts';
import {
  button,
  code,
  context,
  formatCount,
  formatLocalTime,
  formatUtcDate,
  lineSections,
  mention,
  message,
  section,
} from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { settingChangeLines } from '../settings/settings.view.ts';
import { type ProposalReader, type ProposalView, proposalActions } from './proposal.view.ts';

/* Changes of settings and prices that another admin must confirm. */

export type AdminProposal = ProposalOf<'settings' | 'prices'>;

/** Limits the price changes of a proposal, because the admin who confirms must see every change. */
export const MAX_PROPOSED_PRICES = 100;

const CONFIRMATION_REASONS = {
  settings: 'This changes who can approve orders, so *another admin* has to confirm it.',
  prices:
    'These prices are new or lower, so a rule, mandate or budget allows more. *Another admin* has to confirm them.',
} satisfies Record<AdminProposal['kind'], string>;

type AdminChange = Extract<ProposedChange, { readonly kind: AdminProposal['kind'] }>;

function changeLines(change: AdminChange, locale: string): string[] {
  return change.kind === 'settings'
    ? settingChangeLines(change.payload)
    : change.payload.map((edit) => priceEditLine(edit, locale));
}

/** `• .rest renew, 1 year from 1 Nov 2026: €18.00 → €9.00`. */
function priceEditLine({ before, after }: PriceEdit, locale: string): string {
  const productText = ({ zone, task, period, validFrom }: Price) =>
    `.${zone} ${task}, ${formatCount(period, 'year')} from ${formatUtcDate(new Date(`${validFrom}T00:00:00Z`))}`;
  const amountText = (price: Price) => formatAmount(price.amount, locale);
  if (before === undefined) return `• ${productText(after)}: not listed → ${amountText(after)}`;
  return formatPriceKey(before) === formatPriceKey(after)
    ? `• ${productText(after)}: ${amountText(before)} → ${amountText(after)}`
    : `• ${productText(before)}: ${amountText(before)} → ${productText(after)}: ${amountText(after)}`;
}

export function proposalBlocks(
  proposal: AdminProposal,
  { userId, locale }: Pick<ProposalReader, 'userId' | 'locale'>,
): (SectionBlock | ActionsBlock | ContextBlock)[] {
  const { id, kind, proposer, expiresAt } = proposal;
  const confirmButton = button('settings_confirm', 'Confirm', id, { style: 'primary' });
  const discardButton = button('settings_dismiss', 'Discard', id, { style: 'danger' });
  return [
    section(
      `:hourglass_flowing_sand: *${mention(proposer)} wants to change ${kind === 'settings' ? 'the settings' : 'the price list'}.* ${CONFIRMATION_REASONS[kind]}`,
    ),
    ...lineSections(changeLines(proposal, locale)),
    ...proposalActions(proposal, proposer === userId ? [discardButton] : [confirmButton, discardButton]),
    context(
      `${expiresAt === undefined ? '' : `Open until ${formatLocalTime(expiresAt)}. `}Nothing changes until it’s confirmed.`,
    ),
  ];
}

export function adminProposalView(proposal: AdminProposal): ProposalView {
  return {
    question(reader) {
      const subject = proposal.kind === 'settings' ? 'A settings change needs' : 'A price change needs';
      const content = message(`${subject} your confirmation`, proposalBlocks(proposal, reader));
      return { ...content, textOnlyHint: buttonsHint('/domain settings') };
    },
    outcome({ locale }) {
      const [title, text] = formatOutcome(proposal);
      return message(title, [section(text), ...lineSections(changeLines(proposal, locale))]);
    },
  };
}

function formatOutcome({ proposer, state, endedBy = '' }: AdminProposal): readonly [string, string] {
  if (state === 'confirmed')
    return [
      'Confirmed: it’s in effect now',
      `:white_check_mark: *Confirmed.* Requested by ${mention(proposer)}, confirmed by ${mention(endedBy)}. It’s in effect now. Changes:`,
    ];
  if (state === 'withdrawn')
    return ['Discarded: nothing changed', `:wastebasket: *Discarded by ${mention(endedBy)}.* Not applied:`];
  const problem = state === 'expired' ? 'No one confirmed it in time.' : 'It changed since it was requested.';
  return ['No longer open: nothing changed', `:hourglass: ${problem} Not applied:`];
}

/** Says why a confirmation changed nothing, for every kind of proposal. */
export const NOT_CONFIRMED_TEXTS = {
  gone: 'This is no longer open, because it was confirmed or discarded, or has expired. Request it again if you still need it.',
  changed: 'This wasn’t confirmed, because it changed since it was shown. Check it again, then confirm.',
  nothingLeft: 'Someone already changed this, so nothing is left to confirm.',
  ownAdminProposal: (command: string) =>
    `You requested this, so *another admin* has to confirm it. A workspace admin or owner can use ${code(command)} and click Confirm.`,
  ownProposal: 'You requested this, so someone else has to confirm it.',
  notAnAdmin: 'Only admins can do this.',
  signatureRequired: 'A rule requires your signature. Click Confirm to get a link.',
  cannotApply: (problem: string) => `Nothing changed. ${problem}`,
} as const;

/** Tells the proposer why the change isn't in effect yet, as mrkdwn. */
export function pendingProposalLines(
  change: AdminChange & { readonly expiresAt: Date },
  locale: string,
): string[] {
  return [
    `:hourglass_flowing_sand: *Waiting for another admin*, until ${formatLocalTime(change.expiresAt)}. ${CONFIRMATION_REASONS[change.kind]} Not applied until then:`,
    ...changeLines(change, locale),
  ];
}

/**
 * Says who is asked to confirm, and what to do if nobody can be asked.
 * @param command the command that shows the proposal with its buttons
 */
export function confirmersText(confirmers: readonly string[], command: string): string {
  return confirmers.length === 0
    ? `:warning: *I don’t know any other admin*, and no one can confirm their own change. A workspace admin or owner can use ${code(command)} and click Confirm. If you’re the only one, make someone an admin of the workspace, or ask your operator to add their ID to \`ADMINS\`.`
    : `Waiting for ${confirmers.map(mention).join(' or ')} to confirm.`;
}
