import { dropMissing } from '../../lib/collections.ts';
import type { OrderCost } from '../../money/prices.ts';
import type { OrderTaskName } from '../../orders/order.ts';
import type {
  DecidingRule,
  NameEvaluation,
  PolicyEvaluation,
  Requirements,
  RuleCondition,
  SkippedRule,
  UnknownFact,
} from '../../policy/evaluate.ts';
import type { RuleReference } from '../../policy/policy.ts';
import type { Replay, ReplayChange, ReplayedOrder } from '../../policy/replay.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  capitalize,
  code,
  context,
  escapeText,
  formatCount,
  joinAtMost,
  lineSections,
  type Message,
  mention,
  mentionApprover,
  message,
  section,
  sectionFields,
} from '../kit/blocks.ts';
import { formatCost } from '../money/price.view.ts';
import { formatItemName } from '../orders/order.view.ts';
import { neededApprovalsText, referenceText, taskNoun } from './policy-rule.view.ts';

export interface TestedRequest {
  readonly task: OrderTaskName;
  readonly names: readonly string[];
  readonly requester: string;
  /** Whether the draft was tested instead of the version in force. */
  readonly isDraft: boolean;
  readonly version: number;
  /** Undefined for tasks without a price. */
  readonly cost: OrderCost | undefined;
  /** Why no signed policy is in force. Undefined if one is, or if none is needed. */
  readonly charterNotice?: string | undefined;
}

const MAX_SHOWN_NAMES = 5;
const MAX_SHOWN_UNKNOWN_FACTS = 2;
/** Skipped rules that are shown for a request about a single name. */
const MAX_SKIPPED_RULES = 40;
/** Skipped rules that are shown per name for a request about several names. */
const MAX_SKIPPED_RULES_PER_NAME = 3;
const MAX_SHOWN_ORDERS = 12;

const MISMATCH_TEXTS: Readonly<Record<RuleCondition, string>> = {
  tasks: 'doesn’t apply to this task',
  by: 'doesn’t apply to this requester',
  over: 'applies only to larger amounts',
  names: 'doesn’t apply to this name',
};

function requirementsText({ outcome, list, refusedBy }: Requirements, isPlural: boolean): string {
  const verb = isPlural ? 'need' : 'needs';
  switch (outcome) {
    case 'free':
      return `${verb} *no approval*`;
    case 'refuse':
      return `${isPlural ? 'are' : 'is'} *refused* by ${refusedBy.map(referenceText).join(' and ')}`;
    case 'approve':
      return `${verb} ${list.map(({ needed, approvers }) => `*${neededApprovalsText(needed, approvers)}*`).join(' and ')}`;
  }
}

function unknownFactText(fact: UnknownFact): string {
  switch (fact.kind) {
    case 'group':
      return `the members of ${mentionApprover(fact.group)}`;
    case 'tags':
      return `the tags of ${code(formatDomainName(fact.name))}`;
    case 'price':
      return `the price of ${code(formatDomainName(fact.name))}`;
  }
}

const unknownFactsText = (facts: readonly UnknownFact[]) =>
  joinAtMost(facts.map(unknownFactText), MAX_SHOWN_UNKNOWN_FACTS);

function decidingRuleText({ rule, unknowns }: DecidingRule): string {
  const assumption =
    unknowns.length === 0 ? '' : `. I don’t know ${unknownFactsText(unknowns)}, so I assume the rule applies`;
  return `:point_right: Decided by ${referenceText(rule)}${assumption}.`;
}

function skippedRuleText({ rule, reason, unknowns }: SkippedRule): string {
  const reasonText =
    reason === 'unknown'
      ? `doesn’t apply, because I don’t know ${unknownFactsText(unknowns)}`
      : MISMATCH_TEXTS[reason];
  return `• ${capitalize(referenceText(rule))}, ${reasonText}.`;
}

/**
 * Deciding rules come first, so that they are never left out.
 * @param addedRule a rule outside the policy that requires approval even if no policy rule does
 */
function nameLines(
  { name, decidingRules, skippedRules }: NameEvaluation,
  isOnlyName: boolean,
  addedRule: RuleReference | undefined,
): string[] {
  const shownRules = skippedRules.slice(0, isOnlyName ? MAX_SKIPPED_RULES : MAX_SKIPPED_RULES_PER_NAME);
  const omittedCount = skippedRules.length - shownRules.length;
  return dropMissing([
    !isOnlyName && `*${escapeText(formatDomainName(name))}*`,
    ...decidingRules.map((entry) =>
      decidingRuleText(
        entry.rule.kind === 'rest' && addedRule !== undefined ? { ...entry, rule: addedRule } : entry,
      ),
    ),
    ...shownRules.map(skippedRuleText),
    omittedCount !== 0 &&
      `• … and ${formatCount(omittedCount, 'more rule')} that ${omittedCount === 1 ? 'doesn’t' : 'don’t'} apply.`,
  ]);
}

function requestTitle({ task, names }: TestedRequest): string {
  const [onlyName] = names;
  const subject =
    names.length === 1 && onlyName !== undefined
      ? code(formatItemName({ task }, onlyName))
      : formatCount(names.length, 'name');
  return `${capitalize(taskNoun(task))} ${names.length === 0 ? 'without a name' : `of ${subject}`}`;
}

/** Shows which rule decides a request, and why earlier rules don't apply. */
export function policyTestMessage(
  request: TestedRequest,
  { requirements, nameEvaluations, unknowns }: PolicyEvaluation,
): Message {
  const source = request.isDraft
    ? 'Under the *draft* (not in force yet)'
    : request.version === 0
      ? 'Under the settings, because there are no rules yet'
      : `Under version ${request.version}, which is in force`;
  const shownEvaluations = nameEvaluations.slice(0, MAX_SHOWN_NAMES);
  const addedRule = requirements.list.find(
    ({ rule }) => rule.kind === 'environment' || rule.kind === 'team_account',
  )?.rule;
  return message('Requirements for this request', [
    request.charterNotice !== undefined && section(request.charterNotice),
    section(
      `:mag: ${source}:\n*${requestTitle(request)}* requested by ${mention(request.requester)} ${requirementsText(requirements, true)}.`,
    ),
    ...sectionFields([['Price', request.cost && formatCost(request.cost, undefined)]]),
    ...lineSections(
      shownEvaluations.flatMap((evaluation) =>
        nameLines(evaluation, nameEvaluations.length === 1, addedRule),
      ),
    ),
    nameEvaluations.length > shownEvaluations.length &&
      context(`${formatCount(nameEvaluations.length - shownEvaluations.length, 'more name')}.`),
    unknowns.length > 0 &&
      context(`I couldn’t find out ${unknownFactsText(unknowns)}, so I assumed the stricter case.`),
    requirements.list.some(({ rule }) => rule.kind === 'team_account') &&
      context('This order would use the team’s account, so it always needs approval.'),
    context('This is a test. Nothing was ordered.'),
  ]);
}

export interface ReplayRow {
  readonly order: ReplayedOrder;
  /** Plain text. */
  readonly title: string;
  readonly requester: string;
  readonly requestedAt: Date;
}

const CHANGE_TEXTS: Readonly<Record<ReplayChange, string>> = {
  stricter: 'stricter',
  looser: 'looser',
  other: 'other approvers',
};

export interface ReplayView {
  readonly days: number;
  readonly replay: Replay;
  readonly changedRows: readonly ReplayRow[];
  /** Only the newest orders were replayed. */
  readonly isTruncated: boolean;
  readonly charterNotice?: string | undefined;
}

/** Shows what the draft would require for past orders. */
export function policyReplayMessage({
  days,
  replay,
  changedRows,
  isTruncated,
  charterNotice,
}: ReplayView): Message {
  const { totalCount, unchangedCount, changeCounts } = replay;
  const parts = dropMissing([
    `${changeCounts.stricter} *stricter*`,
    `${changeCounts.looser} *looser*`,
    changeCounts.other !== 0 && `${changeCounts.other} with *other approvers*`,
  ]);
  const summary =
    totalCount === 0
      ? 'There were no orders in this period.'
      : `${formatCount(totalCount, 'order')}: ${unchangedCount} unchanged, ${parts.join(', ')}.`;
  const shownRows = changedRows.slice(0, MAX_SHOWN_ORDERS);
  return message('Past orders under the draft', [
    charterNotice !== undefined && section(charterNotice),
    section(
      `:rewind: *Orders from the last ${formatCount(days, 'day')} under the draft*, compared with their original requirements\n${summary}`,
    ),
    ...lineSections(
      shownRows.map(
        ({ order: { orderId, before, after, change }, title, requester }) =>
          `• ${code(orderId)} *${escapeText(title)}*, requested by ${mention(requester)}: ${CHANGE_TEXTS[change]}. It ${requirementsText(before, false)}. Under the draft, it ${requirementsText(after, false)}.`,
      ),
    ),
    changedRows.length > shownRows.length &&
      context(`The file has ${formatCount(changedRows.length - shownRows.length, 'more order')}.`),
    context(
      `I used each order’s price at the time, and today’s groups, tags and settings.${isTruncated ? ' There are too many orders, so I compared only the newest.' : ''}`,
    ),
  ]);
}

/** Whether there are orders that the message doesn't show. */
export function hasOmittedRows(changedRows: readonly ReplayRow[]): boolean {
  return changedRows.length > MAX_SHOWN_ORDERS;
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
export function replayCells({ order, title, requester, requestedAt }: ReplayRow): string[] {
  return [
    order.orderId,
    requestedAt.toISOString(),
    requester,
    title,
    order.change,
    requirementsCell(order.before),
    requirementsCell(order.after),
  ];
}

function requirementsCell({ outcome, list }: Requirements): string {
  return outcome === 'approve'
    ? list.map(({ needed, approvers }) => `${needed} of ${approvers.join(' ')}`).join(' and ')
    : outcome;
}

const EXAMPLE_TEXT = 'such as `/domain policy test renew cafe.rest 2 by @anna`';

export const POLICY_TEST_TEXTS = {
  unknownTask: (input: string, nearestTask: string | undefined) => {
    const suggestionText = nearestTask === undefined ? '' : ` Did you mean ${code(nearestTask)}?`;
    return input === ''
      ? `Enter a request to test, ${EXAMPLE_TEXT}.`
      : `${code(input)} isn’t a task.${suggestionText} Enter a request ${EXAMPLE_TEXT}.`;
  },
  unknownPerson: (input: string) =>
    `${code(input)} isn’t a person. End the request with ${code('by')} and a mention or member ID, ${EXAMPLE_TEXT}.`,
  unreadableInput: (input: string) =>
    `I can’t read ${code(input)}. Write it as in the form, ${EXAMPLE_TEXT}.`,
  missingName: `The name is missing. Enter a request ${EXAMPLE_TEXT}.`,
} as const;

export const REPLAY_TEXTS = {
  adminsOnly:
    'A replay lists other people’s orders, so only admins can see it. Ask a workspace admin or owner.',
  invalidDays: (input: string, max: number) =>
    `${code(input)} isn’t a number of days. Use 1 to ${max}, such as \`/domain policy replay 90\`.`,
  noDraft: 'There’s no draft to test. Change a rule with `/domain policy` first.',
  inProgress: 'I’m checking the orders of that period. I’ll post the result here.',
} as const;
