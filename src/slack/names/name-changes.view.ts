import type { RequirementProgress } from '../../approvals/progress.ts';
import type { ProposalOf } from '../../approvals/proposals/proposal.ts';
import {
  type ChangedName,
  isSameDetails,
  MAX_GUARDED_NAMES,
  MAX_WATCHED_NAMES,
  type NameLimit,
} from '../../names/portfolio.ts';
import { formatDomainName } from '../../zones/names.ts';
import { selectNotifiedApprovers } from '../approvals/decision.view.ts';
import { formatWatchRefusal } from '../expiry/watch-list.view.ts';
import {
  button,
  escapeText,
  formatCount,
  formatLocalTime,
  formatUtcDate,
  joinWords,
  lineSections,
  type Message,
  mention,
  message,
  section,
} from '../kit/blocks.ts';
import { buttonsHint } from '../kit/buttons-hint.view.ts';
import { anyApproverText } from '../orders/order.view.ts';
import { type ProposalReader, type ProposalView, proposalActions } from '../proposals/proposal.view.ts';
import { detailPairs } from './portfolio.view.ts';

/* Changes to protected fields, which another person must confirm. */

/** If there are more changes, a file lists all of them. */
export const MAX_SHOWN_CHANGES = 20;

type NameChangesProposal = ProposalOf<'facts'>;

/** Pairs of label and text, such as `owner` and `@Bob`. The text of an unset detail is undefined. */
function detailTexts(details: ChangedName['before']): (readonly [string, string | undefined])[] {
  return detailPairs(details).map(([label, value]) => [
    label.toLowerCase(),
    value !== undefined && label === 'Note' ? `“${value}”` : value,
  ]);
}

/** `channel: #brand → none`, only for the details that differ. */
function detailChanges(before: ChangedName['before'], after: ChangedName['before']): string[] {
  const beforeTexts = new Map(detailTexts(before));
  return detailTexts(after).flatMap(([label, value]) => {
    const previousText = beforeTexts.get(label);
    return previousText === value ? [] : [`${label}: ${previousText ?? 'none'} → ${value ?? 'none'}`];
  });
}

export function nameChangeLine({ name, before, after, date, decision }: ChangedName): string {
  const title = `• *${escapeText(formatDomainName(name))}*:`;
  if (after === undefined) {
    const details = detailTexts(before).flatMap(([label, value]) =>
      value === undefined ? [] : `${label} ${value}`,
    );
    return `${title} remove from the watch list${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  }
  if (decision?.kind === 'lapse_confirmed') return `${title} let it lapse: “${escapeText(decision.reason)}”`;
  const changes = isSameDetails(before, after) ? [] : detailChanges(before, after);
  const enteredByNote = date?.before?.by === undefined ? '' : ` (entered by ${mention(date.before.by)})`;
  const dateChanges =
    date === undefined
      ? []
      : [
          `expiry date ${date.before === undefined ? 'unknown' : formatUtcDate(date.before.at)}${enteredByNote} → ${formatUtcDate(date.after)}`,
        ];
  return `${title} ${[...changes, ...dateChanges].join('; ')}`;
}

function namesText({ payload: { names } }: NameChangesProposal): string {
  const [firstChange, ...otherChanges] = names;
  return firstChange === undefined || otherChanges.length > 0
    ? formatCount(names.length, 'name')
    : escapeText(formatDomainName(firstChange.name));
}

function changeLines({ payload: { names } }: NameChangesProposal): ReturnType<typeof lineSections> {
  const remainingCount = names.length - MAX_SHOWN_CHANGES;
  return lineSections([
    ...names.slice(0, MAX_SHOWN_CHANGES).map(nameChangeLine),
    remainingCount > 0 && `… and ${formatCount(remainingCount, 'other name')}.`,
  ]);
}

export function nameChangesView(proposal: NameChangesProposal): ProposalView {
  return {
    question: (reader) => questionMessage(proposal, reader),
    outcome: () => endedMessage(proposal),
    announcement() {
      if (proposal.state !== 'proposed') return endedMessage(proposal);
      const title = `:busts_in_silhouette: ${mention(proposal.proposer)} requested a change that weakens the protection of ${namesText(proposal)}. It needs confirmation.`;
      return message(title, [section(title), ...changeLines(proposal)]);
    },
  };
}

/** Asks for confirmation. People can confirm only after they were shown every change, here or in a file. */
function questionMessage(
  proposal: NameChangesProposal,
  { progress, hasSeenAllChanges = false }: ProposalReader,
): Message {
  const { id, proposer, payload } = proposal;
  const { names } = payload;
  const canConfirm = hasSeenAllChanges || names.length <= MAX_SHOWN_CHANGES;
  const subject = namesText(proposal);
  const title = `${mention(proposer)} requested a change that weakens the protection of ${subject}`;
  const content = message(title, [
    section(`:busts_in_silhouette: ${title}`),
    ...changeLines(proposal),
    section(
      'Nothing has changed yet. It needs:',
      ...confirmationLines(progress, proposer),
      `${mention(proposer)} can’t confirm their own request.${requestExpiryText(proposal)}`,
    ),
    ...proposalActions(proposal, [
      canConfirm
        ? button('facts_confirm', 'Confirm', id, {
            style: 'primary',
            label: `Confirm the change to ${subject}`,
          })
        : button('facts_look', `Show all ${names.length}`, id),
      button('facts_dismiss', 'Discard', id, { label: `Discard the change to ${subject}` }),
    ]),
  ]);
  return { ...content, textOnlyHint: buttonsHint(`/domain name ${names[0]?.name ?? ''}`) };
}

function requestExpiryText({ expiresAt }: NameChangesProposal): string {
  return expiresAt === undefined ? '' : ` The request expires ${formatLocalTime(expiresAt)}.`;
}

/** The people who can confirm, and the confirmations so far. */
export function confirmationLines(progress: readonly RequirementProgress[], proposer: string): string[] {
  return progress.map((requirementProgress) => confirmationLine(requirementProgress, proposer));
}

function confirmationLine({ requirement, slots }: RequirementProgress, proposer: string): string {
  const { needed, signed } = requirement;
  const confirmedNote =
    slots.length === 0 ? '' : ` (confirmed by ${slots.map(({ userId }) => mention(userId)).join(', ')})`;
  const approvers = selectNotifiedApprovers(requirement);
  const others = approvers.filter((approver) => approver !== proposer);
  const people = anyApproverText(others.length === 0 ? approvers : others, needed);
  return `• ${formatCount(needed, 'confirmation')} from ${people}${signed ? ', signed with a passkey' : ''}${confirmedNote}`;
}

const TOO_MANY_GUARDED_TEXT = `Nothing changed, because at most ${MAX_GUARDED_NAMES.toLocaleString('en')} names can be tagged \`guarded\`. Remove the tag from other names first. To list them, use \`/domain names tag:guarded\`.`;

function endedMessage(proposal: NameChangesProposal): Message {
  const { state, proposer, endedBy = '' } = proposal;
  const change = `a change to ${namesText(proposal)} that ${mention(proposer)} requested`;
  const title =
    state === 'confirmed'
      ? `:white_check_mark: ${mention(endedBy)} confirmed ${change}.`
      : state === 'withdrawn'
        ? `:wastebasket: ${mention(endedBy)} discarded ${change}.`
        : `:hourglass: I discarded ${change}, because ${state === 'expired' ? 'it wasn’t confirmed in time' : 'the name changed in the meantime'}.`;
  return message(title, [section(title), ...changeLines(proposal)]);
}

/**
 * Tells the requester who must confirm.
 * @param audience the channel or the people who were asked
 */
export function confirmationRequestedText(
  proposal: NameChangesProposal,
  audience: { readonly channelId: string } | readonly string[],
): string {
  const needText = `Another person must confirm this change to ${namesText(proposal)}, because it weakens protection.`;
  if ('channelId' in audience) return `${needText} I asked in <#${audience.channelId}>.`;
  return audience.length > 0
    ? `${needText} I asked ${joinWords(audience.map(mention))}.`
    : `${needText} I couldn’t reach anyone who may confirm it. Ask an admin to check \`/domain settings\`, then try again.`;
}

/** Why a limit prevents a change. */
export function nameLimitText(limit: NameLimit): string {
  return limit === 'too_many_guarded'
    ? TOO_MANY_GUARDED_TEXT
    : formatWatchRefusal({ code: 'list_full', limit: MAX_WATCHED_NAMES });
}
