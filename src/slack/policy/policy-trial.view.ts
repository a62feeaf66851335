import { dropMissing } from '../../lib/collections.ts';
import type { OrderCost } from '../../money/prices.ts';
import type { OrderTaskName } from '../../orders/order.ts';
import type {
  Condition,
  DecidingRule,
  NameEvaluation,
  PolicyEvaluation,
  Requirements,
  SkippedRule,
  UnknownFact,
} from '../../policy/evaluate.ts';
import type { Replay, ReplayChange, ReplayedOrder } from '../../policy/replay.ts';
import { displayName } from '../../zones/names.ts';
import {
  capitalized,
  code,
  context,
  count,
  escapeText,
  facts,
  joinFirst,
  lines,
  type Message,
  mention,
  mentionApprover,
  message,
  section,
} from '../kit/blocks.ts';
import { costFact } from '../money/price.view.ts';
import { itemName } from '../orders/order.view.ts';
import { neededText, referenceText, taskNoun } from './policy-rule.view.ts';

/* A policy's decisions about one request or past orders. */

export interface TriedLine {
  readonly task: OrderTaskName;
  readonly names: readonly string[];
  readonly requester: string;
  /** Whether the draft was tried, not the version in force. */
  readonly isDraft: boolean;
  readonly version: number;
  /** Cost for rules on amounts; undefined for a task without a price. */
  readonly cost: OrderCost | undefined;
  /** Why no signed policy is in force; undefined: one is, or no key is used. */
  readonly notice?: string | undefined;
}

const SHOWN_NAMES = 5;
const SHOWN_UNKNOWNS = 2;
/** Skipped rules shown: for a single name, and for each of several. */
const MAX_REASONS = 40;
const MAX_REASONS_OF_SEVERAL = 3;
const SHOWN_ORDERS = 12;

const MISFITS: Readonly<Record<Condition, string>> = {
  tasks: 'is for other tasks',
  by: 'is for other requesters',
  over: 'is for larger amounts',
  names: 'is for other names',
};

function demandText({ outcome, list, refusedBy }: Requirements): string {
  switch (outcome) {
    case 'free':
      return 'needs *no approval*';
    case 'refuse':
      return `is *refused* by ${refusedBy.map(referenceText).join(' and ')}`;
    case 'approve':
      return `needs ${list.map(({ needed, approvers }) => `*${neededText(needed, approvers)}*`).join(' and ')}`;
  }
}

function unknownText(unknown: UnknownFact): string {
  switch (unknown.kind) {
    case 'group':
      return `the members of ${mentionApprover(unknown.group)}`;
    case 'tags':
      return `the tags of ${code(displayName(unknown.name))}`;
    case 'price':
      return `the price of ${code(displayName(unknown.name))}`;
  }
}

const unknownsText = (unknowns: readonly UnknownFact[]) =>
  joinFirst(unknowns.map(unknownText), SHOWN_UNKNOWNS);

function decidedText({ rule, unknowns }: DecidingRule): string {
  const known = unknowns.length === 0 ? '' : `, which counts against it: unknown ${unknownsText(unknowns)}`;
  return `:point_right: Decided by ${referenceText(rule)}${known}.`;
}

function skippedText({ rule, because, unknowns }: SkippedRule): string {
  const why =
    because === 'unknown' ? `can’t make it free: unknown ${unknownsText(unknowns)}` : MISFITS[because];
  return `• ${capitalized(referenceText(rule))}, ${why}.`;
}

/** The deciding rule comes first, so it isn't cut. */
function nameLines({ name, decidedBy, skipped }: NameEvaluation, isOnly: boolean): string[] {
  const shown = skipped.slice(0, isOnly ? MAX_REASONS : MAX_REASONS_OF_SEVERAL);
  const left = skipped.length - shown.length;
  return dropMissing([
    !isOnly && `*${escapeText(displayName(name))}*`,
    ...decidedBy.map(decidedText),
    ...shown.map(skippedText),
    left !== 0 && `• … and ${count(left, 'more rule')} before it.`,
  ]);
}

function subject({ task, names }: TriedLine): string {
  const [only] = names;
  const what =
    names.length === 1 && only !== undefined ? code(itemName({ task }, only)) : count(names.length, 'name');
  return `${capitalized(taskNoun(task))} of ${names.length === 0 ? 'no name' : what}`;
}

/** The deciding rule of a request, and why earlier ones didn't apply. */
export function trialMessage(tried: TriedLine, { requirements, names, unknowns }: PolicyEvaluation): Message {
  const by = tried.isDraft
    ? 'By the *draft*, not in force'
    : tried.version === 0
      ? 'By the settings: there are no rules yet'
      : `By version ${tried.version}, in force`;
  const shown = names.slice(0, SHOWN_NAMES);
  return message('Requirements for this line', [
    tried.notice !== undefined && section(tried.notice),
    section(
      `:mag: ${by}:\n*${subject(tried)}*, requested by ${mention(tried.requester)}: this ${demandText(requirements)}.`,
    ),
    ...facts([['Price', tried.cost && costFact(tried.cost, undefined)]]),
    ...lines(shown.flatMap((name) => nameLines(name, names.length === 1))),
    names.length > shown.length && context(`${count(names.length - shown.length, 'more name')}.`),
    unknowns.length > 0 && context(`Unknown facts count against an order: ${unknownsText(unknowns)}.`),
    requirements.list.some(({ rule }) => rule.kind === 'team_account') &&
      context('It would use the team’s account, which only approved orders may use.'),
    context('Nothing was requested.'),
  ]);
}

export interface ReplayedLine {
  readonly changed: ReplayedOrder;
  /** Plain text. */
  readonly title: string;
  readonly requester: string;
  readonly askedAt: Date;
}

const CHANGES: Readonly<Record<ReplayChange, string>> = {
  stricter: 'stricter',
  looser: 'looser',
  other: 'other people',
};

export interface ShownReplay {
  readonly days: number;
  readonly replay: Replay;
  readonly changed: readonly ReplayedLine[];
  /** Only the newest orders were replayed. */
  readonly isCut: boolean;
  readonly notice?: string | undefined;
}

/** Requirements of past orders under the draft. */
export function replayMessage({ days, replay, changed, isCut, notice }: ShownReplay): Message {
  const { total, unchanged, counts } = replay;
  const parts = dropMissing([
    `${counts.stricter} *stricter*`,
    `${counts.looser} *looser*`,
    counts.other !== 0 && `${counts.other} by *other people*`,
  ]);
  const summary =
    total === 0
      ? 'There were no orders in this period.'
      : `${count(total, 'order')}: ${unchanged} the same, ${parts.join(', ')}.`;
  const shown = changed.slice(0, SHOWN_ORDERS);
  return message('Past orders under the draft', [
    notice !== undefined && section(notice),
    section(
      `:rewind: *The last ${count(days, 'day')} under the draft*, compared with what each order needed when requested\n${summary}`,
    ),
    ...lines(
      shown.map(
        ({ changed: { orderId, before, after, change }, title, requester }) =>
          `• ${code(orderId)} *${escapeText(title)}*, requested by ${mention(requester)}: ${CHANGES[change]}. It ${demandText(before)} now; under the draft it ${demandText(after)}.`,
      ),
    ),
    changed.length > shown.length &&
      context(`${count(changed.length - shown.length, 'more order')} in the file.`),
    context(
      `Under the draft: prices as known when each order was requested; groups, tags and settings as of now.${isCut ? ' Only the newest orders are compared: there are too many.' : ''}`,
    ),
  ]);
}

/** Whether the message omits orders, so that a file is needed. */
export function needsFile(changed: readonly ReplayedLine[]): boolean {
  return changed.length > SHOWN_ORDERS;
}

export const REPLAY_COLUMNS = [
  'order',
  'asked_utc',
  'asked_by',
  'title',
  'change',
  'before',
  'draft',
] as const;

/** In the order of {@link REPLAY_COLUMNS}. */
export function replayCells({ changed, title, requester, askedAt }: ReplayedLine): string[] {
  return [
    changed.orderId,
    askedAt.toISOString(),
    requester,
    title,
    changed.change,
    demandCell(changed.before),
    demandCell(changed.after),
  ];
}

function demandCell({ outcome, list }: Requirements): string {
  return outcome === 'approve'
    ? list.map(({ needed, approvers }) => `${needed} of ${approvers.join(' ')}`).join(' and ')
    : outcome;
}

const EXAMPLE = 'such as `/domain policy test renew cafe.rest 2 by @anna`';

export const TRIAL = {
  noTask: (given: string, near: string | undefined) => {
    const meant = near === undefined ? '' : ` Did you mean ${code(near)}?`;
    return given === ''
      ? `Give a line to test, ${EXAMPLE}.`
      : `${code(given)} isn’t a task that the policy covers.${meant} Give a line ${EXAMPLE}.`;
  },
  noPerson: (given: string) =>
    `I can’t tell the requester from ${code(given)}. End the line with ${code('by')} and the person’s member id, ${EXAMPLE}.`,
  unreadable: (given: string) => `I can’t read ${code(given)}. Write it as in the form, ${EXAMPLE}.`,
  noName: `Give a name too, ${EXAMPLE}.`,
} as const;

export const REPLAY = {
  forAdmins:
    'A replay lists other people’s orders, so only admins can see it. Ask a workspace admin or owner.',
  noDays: (given: string, most: number) =>
    `${code(given)} isn’t a number of days. Use 1 to ${most}, such as \`/domain policy replay 90\`.`,
  noDraft: 'There’s no draft to test. Use `/domain policy` and change something first.',
  going: 'I’m checking the orders of that period and will post the result.',
} as const;
