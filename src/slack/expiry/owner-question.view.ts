import type { ListedName } from '../../expiry/expiry.ts';
import type { RenewalDays } from '../../expiry/ports.ts';
import { dropMissing } from '../../lib/collections.ts';
import { getExpiry, getOwnerAnswer } from '../../names/portfolio.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  type AnyBlock,
  button,
  escapeLine,
  escapeText,
  formatCount,
  type Message,
  mention,
  message,
  section,
} from '../kit/blocks.ts';
import { buildDueStatus, dueTimeText, expiresText, lineWithMenu, ownerDeadlineText } from './due.view.ts';
import type { CalculateCost } from './expiring.view.ts';
import { formatName } from './expiry.view.ts';

export interface QuestionMessageData {
  readonly names: readonly ListedName[];
  /** Number of unanswered questions in all messages. */
  readonly openCount: number;
  readonly calculateCost: CalculateCost;
  readonly renewals: RenewalDays;
  /** Keyed by name. */
  readonly notes: ReadonlyMap<string, string>;
  /** Blocks with reminders about other names. */
  readonly reminders: readonly AnyBlock[];
}

/** @param isFirst whether the message starts the thread */
export function questionMessage(data: QuestionMessageData, isFirst: boolean): Message {
  const { names, reminders } = data;
  const nameBlocks = names.flatMap((listed, index) => questionBlocks(listed, index, data));
  const reminderBlocks = reminders.length === 0 ? [] : [section('*Also due*'), ...reminders];
  const [first] = names;
  const previousOwner = first?.domain.question?.from;
  if (first !== undefined && previousOwner !== undefined) {
    const text = handoverText(previousOwner, first);
    return message(text, [section(`${text}\nDo you still need it?`), ...nameBlocks, ...reminderBlocks]);
  }
  const text = questionText(data);
  const title = isFirst
    ? text
    : `Also: ${names.map(({ domain }) => formatDomainName(domain.name)).join(', ')}`;
  return message(escapeText(title), [
    ...(isFirst ? [section(`*${escapeText(text)}*`)] : []),
    ...nameBlocks,
    ...reminderBlocks,
  ]);
}

function handoverText(previousOwner: string, { domain: { name, question } }: ListedName): string {
  const noteSuffix = question?.note === undefined ? '' : `: “${escapeLine(question.note)}”`;
  return `${mention(previousOwner)} handed ${formatName(name)} over to you${noteSuffix}`;
}

function questionText({ names, openCount }: QuestionMessageData): string {
  const [first] = names.filter(isQuestionOpen);
  if (first === undefined)
    return openCount === 0
      ? 'Thanks for your answers.'
      : `Thanks. ${formatCount(openCount, 'name')} in this thread still ${openCount === 1 ? 'needs' : 'need'} your answer.`;
  const due = buildDueStatus(first);
  const name = formatDomainName(first.domain.name);
  const dueSuffix = due === undefined ? '' : ` ${expiresText(due)}`;
  return openCount === 1
    ? `Do you still need ${name}?${dueSuffix === '' ? '' : ` It${dueSuffix}.`}`
    : `Do you still need these ${formatCount(openCount, 'name')}?${dueSuffix === '' ? '' : ` The most urgent, ${name},${dueSuffix}.`}`;
}

export function isQuestionOpen({ domain }: ListedName): boolean {
  return getOwnerAnswer(domain, getExpiry(domain))?.code === 'open';
}

export const NOTHING_TO_ANSWER = 'There’s nothing left to answer here.';

const ANSWER_TEXTS = { keep: 'you’re keeping it', lapse: 'you’re letting it lapse' } as const;

function questionBlocks(
  listed: ListedName,
  index: number,
  { calculateCost, renewals, notes }: QuestionMessageData,
): AnyBlock[] {
  const { domain } = listed;
  const answer = getOwnerAnswer(domain, getExpiry(domain));
  if (answer?.code === 'keep' || answer?.code === 'lapse')
    return [section(`:white_check_mark: ${formatName(domain.name)} · ${ANSWER_TEXTS[answer.code]}`)];
  const due = buildDueStatus(listed);
  const renewal = renewals.get(domain.name);
  const note = notes.get(domain.name);
  const line = section(
    dropMissing([
      formatName(domain.name),
      due && dueTimeText(due),
      due && ownerDeadlineText(due, calculateCost(listed), renewal),
    ]).join(' · '),
    note !== undefined && `“${escapeLine(note)}”`,
  );
  return lineWithMenu(line, `ask_${index}`, answerButtons(domain.name), 'owner_question');
}

function answerButtons(name: string) {
  const createButton = (actionId: string, text: string) =>
    button(actionId, text, name, { label: `${text}: ${formatDomainName(name)}` });
  return [
    createButton('owner_keep', 'Keep it'),
    createButton('owner_handover', 'Hand it over…'),
    createButton('reminder_lapse', 'Let it lapse'),
  ];
}

export function keptText(name: string): string {
  return `Thanks. You’re keeping ${formatName(name)}.`;
}

export function handedOverText(name: string, newOwner: string): string {
  return `${mention(newOwner)} now owns ${formatName(name)}. I’ll ask them whether to keep it.`;
}

export const ALREADY_OWNER = 'You already own this name. Choose another person.';
