import type { SectionBlock } from '@slack/types';
import type { OwnerlessCounts } from '../../expiry/ports.ts';
import { dropMissing } from '../../lib/collections.ts';
import type { OwnerAnswer } from '../../names/portfolio.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  button,
  context,
  escapeText,
  formatCount,
  joinAtMost,
  type Message,
  mention,
  message,
  section,
} from '../kit/blocks.ts';

const ANSWER_TEXTS = {
  lapse: 'let it lapse',
  keep: 'keep',
  open: 'no answer yet',
  unasked: 'no answer yet',
} as const;

/** For example `answer: keep`, to follow the owner's name. */
export function ownerAnswerText({ code }: OwnerAnswer): string {
  if (code === 'left') return 'has left';
  return code === 'keep' || code === 'lapse' ? `answer: ${ANSWER_TEXTS[code]}` : ANSWER_TEXTS[code];
}

/** `@Carol: keep`, `no answer from @Carol yet`. Undefined if the name has no owner. */
export function ownerWithAnswerText(answer: OwnerAnswer | undefined): string | undefined {
  if (answer === undefined) return undefined;
  const { code, by } = answer;
  if (code === 'left') return `${mention(by)} has left`;
  return code === 'keep' || code === 'lapse'
    ? `${mention(by)}: ${ANSWER_TEXTS[code]}`
    : `no answer from ${mention(by)} yet`;
}

/** Subject of the form that assigns an owner to every name without one. */
export const EVERY_OWNERLESS_NAME = 'all';
const MAX_LISTED_NAMES = 10;

function assignButton(subject: string) {
  return button('owners_assign', 'Assign an owner…', subject, { label: 'Assign an owner to these names' });
}

/** @param names the first few names */
export function ownerLeftMessage(
  userId: string,
  { names, total }: { readonly names: readonly string[]; readonly total: number },
): Message {
  const needText = `${formatCount(total, 'name')} ${total === 1 ? 'needs' : 'need'} an owner`;
  const unlistedCount = total - Math.min(MAX_LISTED_NAMES, names.length);
  const listedNames = joinAtMost(names.map(formatDomainName), MAX_LISTED_NAMES, total);
  const text = `${mention(userId)} has left, so ${needText}`;
  return message(`${text}: ${escapeText(listedNames)}`, [
    { ...section(`:wave: *${text}*`, escapeText(listedNames)), accessory: assignButton(userId) },
    unlistedCount > 0 && context('To list all of them, use `/domain names owner:left`.'),
  ]);
}

/** The last line of a digest. Empty if every name has an owner. */
export function ownerlessBlocks({ withoutOwner, ownerLeft }: OwnerlessCounts): SectionBlock[] {
  if (withoutOwner + ownerLeft === 0) return [];
  const counts = dropMissing([
    withoutOwner > 0 &&
      `${formatCount(withoutOwner, 'name')} without an owner (\`/domain names owner:none\`)`,
    ownerLeft > 0 && `${formatCount(ownerLeft, 'name')} whose owner has left (\`owner:left\`)`,
  ]);
  return [{ ...section(counts.join(' · ')), accessory: assignButton(EVERY_OWNERLESS_NAME) }];
}

export const ALL_NAMES_OWNED_TEXT = 'All of these names have an owner now.';

/** Plain text, for a form field. */
export function alreadyOwnedText(names: readonly string[]): string {
  return `${joinAtMost(names.map(formatDomainName), MAX_LISTED_NAMES)} ${names.length === 1 ? 'already has' : 'already have'} an owner. Nothing changed. Deselect ${names.length === 1 ? 'it' : 'them'} and save again.`;
}
