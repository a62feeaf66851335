import { dropMissing } from '../../lib/collections.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/duration.ts';
import { formatAmount } from '../../money/amount.ts';
import { ORDER_TASK_NAMES } from '../../orders/order.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import type { LoggedChange } from '../../policy/change-log.ts';
import type { PolicySettings } from '../../policy/evaluate.ts';
import { mergeApprovers, type PolicyRule, type RuleReference } from '../../policy/policy.ts';
import {
  describeRule,
  type NamePart,
  type PersonPart,
  type RuleDescription,
} from '../../policy/rule-parts.ts';
import type { RuleField } from '../../policy/rule-text.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  capitalize,
  code,
  escapeLine,
  formatCount,
  joinWords,
  mentionAnyApprover,
  mentionApprover,
} from '../kit/blocks.ts';

/*
 * Rules as sentences: “*Transfers* of `*.rest` over *€500.00* requested by *members of @marketing* need *2 approvals
 * from members of @finance*.”
 */

const SELECTOR_TEXTS = {
  charge: 'paid tasks',
  risk: 'tasks that can lose a name or take it down',
  all: 'all tasks',
} as const;

const MAX_LISTED_ITEMS = 8;

/** Returns a plural noun, or the name of an unknown task. */
export function taskNoun(task: string): string {
  const knownTask = ORDER_TASK_NAMES.find((name) => name === task);
  return knownTask === undefined ? code(task) : getOrderTask(knownTask).words.plural;
}

function joinFirstParts(parts: readonly string[]): string {
  const omittedCount = parts.length - MAX_LISTED_ITEMS;
  return joinWords(omittedCount > 1 ? [...parts.slice(0, MAX_LISTED_ITEMS), `${omittedCount} more`] : parts);
}

function namePartText(part: NamePart): string {
  switch (part.kind) {
    case 'all':
      return 'every name';
    case 'under':
      return code(`*.${formatDomainName(part.parent)}`);
    case 'name':
      return code(formatDomainName(part.name));
    case 'tag':
      return `names tagged ${code(part.tag)}`;
  }
}

const DURATION_UNITS = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
  ['second', 1_000],
] as const;

/** In the largest unit that needs no fraction: `2 days`, `36 hours`. */
function durationText(ms: number): string {
  const [noun, unitMs] = DURATION_UNITS.find(([, size]) => ms >= size && ms % size === 0) ?? [
    'second',
    1_000,
  ];
  return formatCount(Math.ceil(ms / unitMs), noun);
}

const peopleText = (people: readonly PersonPart[]) =>
  joinFirstParts(people.map(({ id }) => mentionApprover(id)));

/** `approval from @cfo or a member of @finance`, `2 approvals from members of @finance`. */
export function neededApprovalsText(needed: number, approvers: readonly string[]): string {
  const people = mentionAnyApprover(approvers, needed, MAX_LISTED_ITEMS);
  return needed === 1 ? `approval from ${people}` : `${needed} approvals from ${people}`;
}

function decisionText(rule: RuleDescription): string {
  switch (rule.decision) {
    case 'free':
      return 'need *no approval*';
    case 'refuse':
      return 'are *refused*';
    case 'approve':
      return `need *${neededApprovalsText(
        rule.needed,
        rule.approvers.map(({ id }) => id),
      )}*`;
  }
}

function optionsText(rule: RuleDescription): string {
  const { silent, ttlMs, remindAfterMs, escalateAfterMs, escalateTo, breakGlass, signed } = rule;
  const parts = dropMissing([
    silent.length > 0 && `${peopleText(silent)} can also approve without being notified`,
    signed && 'signed with passkeys',
    ttlMs !== undefined && `expires after ${durationText(ttlMs)}`,
    remindAfterMs !== undefined && `reminder after ${durationText(remindAfterMs)}`,
    (escalateAfterMs !== undefined || escalateTo.length !== 0) &&
      `escalation${escalateTo.length === 0 ? '' : ` to ${peopleText(escalateTo)}`}${escalateAfterMs === undefined ? '' : ` after ${durationText(escalateAfterMs)}`}`,
    breakGlass && 'break glass allowed',
  ]);
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
}

/**
 * One sentence, as mrkdwn.
 * @param locale for amounts
 */
export function ruleSentence(rule: PolicyRule, locale: string): string {
  const description = describeRule(rule);
  const { tasks, names, by, over } = description;
  const taskTexts = tasks.map((part) =>
    part.kind === 'task' ? taskNoun(part.task) : SELECTOR_TEXTS[part.kind],
  );
  return [
    `*${capitalize(joinFirstParts(taskTexts))}* ${tasks.every(({ kind }) => kind === 'task') ? 'of' : 'for'} ${joinFirstParts(names.map(namePartText))}`,
    over === undefined ? '' : ` over *${formatAmount(over, locale)}*`,
    by.length === 0
      ? ''
      : ` requested by *${mentionAnyApprover(
          by.map(({ id }) => id),
          2,
          MAX_LISTED_ITEMS,
        )}*`,
    ` ${decisionText(description)}${optionsText(description)}.`,
  ].join('');
}

/** The built-in rules that come after all others and follow from the settings. */
export function implicitRuleSentences(settings: PolicySettings): string[] {
  const { approvalTasks, approvalsRequired } = settings;
  const { approvers } = mergeApprovers(settings.approvers, settings.silentApprovers);
  const taskList = joinFirstParts(approvalTasks.map(taskNoun));
  return dropMissing([
    approvalTasks.length > 0 &&
      `*${capitalize(taskList)}* of every name need *${neededApprovalsText(approvalsRequired, approvers)}*.`,
    '*Everything else* needs *no approval*.',
  ]);
}

export function referenceText(reference: RuleReference): string {
  switch (reference.kind) {
    case 'rule':
      return `rule ${reference.index + 1}, “${escapeLine(reference.name, 80)}”`;
    case 'approval_tasks':
      return 'the setting “Tasks that need approval”';
    case 'rest':
      return 'the last rule, “Everything else needs no approval”';
    case 'team_account':
      return 'the rule that only approved orders use the team’s account';
    case 'mandate':
      return 'the rule that another person must approve mandates';
    case 'environment':
      return 'the environment variables, because there’s no valid signed policy';
  }
}

const FIELD_LABELS: Readonly<Partial<Record<string, string>>> = {
  rule_name: 'name',
  tasks: 'tasks',
  names: 'names',
  by: 'requester',
  over: 'minimum amount',
  decision: 'decision',
  approvers: 'approvers',
  silent: 'silent approvers',
  needed: 'approvals needed',
  ttl: 'time until expiry',
  remind_after: 'time until reminder',
  escalate_after: 'time until escalation',
  escalate_to: 'escalation contacts',
  signed: 'signed approvals',
  break_glass: 'break glass',
} satisfies Record<RuleField, string>;

/** Fields whose values are IDs of people or groups. */
export const PEOPLE_FIELDS: ReadonlySet<string> = new Set<RuleField>([
  'by',
  'approvers',
  'silent',
  'escalate_to',
]);

function valuesText(field: string, values: readonly string[]): string {
  if (values.length === 0) return 'empty';
  return joinFirstParts(
    values.map((value) => (PEOPLE_FIELDS.has(field) ? mentionApprover(value) : code(value))),
  );
}

export function ruleChangeLine(change: LoggedChange, rules: readonly PolicyRule[], locale: string): string {
  const name = `“${escapeLine(change.rule, 80)}”`;
  const rule = rules.find((candidate) => candidate.name === change.rule);
  const sentence = rule === undefined ? '' : `: ${ruleSentence(rule, locale)}`;
  switch (change.kind) {
    case 'added':
      return `• Added ${name} as rule ${change.to}${sentence}`;
    case 'removed':
      return `• Removed ${name}, rule ${change.from}`;
    case 'moved':
      return `• Moved ${name} from position ${change.from} to ${change.to}`;
    case 'changed':
      return `• Changed ${name}: ${change.fields
        .map(
          ({ field, before, after }) =>
            `${FIELD_LABELS[field] ?? code(field)} from ${valuesText(field, before)} to ${valuesText(field, after)}`,
        )
        .join('; ')}`;
  }
}
