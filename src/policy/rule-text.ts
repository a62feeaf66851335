import { z } from 'zod';
import { formatDuration, parseDuration } from '../lib/duration.ts';
import { type Amount, type AmountIssue, formatDecimal, parseAmount } from '../money/amount.ts';
import { normalizePattern } from './name-patterns.ts';
import {
  isGroupId,
  mergeApprovers,
  type PolicyRule,
  type PolicyVocabulary,
  RULE_DECISIONS,
  type RuleDecision,
  TASK_SELECTORS,
} from './policy.ts';

/** In the order in which YAML files list them. */
export const RULE_FIELDS = [
  'rule_name',
  'tasks',
  'names',
  'by',
  'over',
  'decision',
  'approvers',
  'silent',
  'needed',
  'ttl',
  'remind_after',
  'escalate_after',
  'escalate_to',
  'break_glass',
  'signed',
] as const;
export type RuleField = (typeof RULE_FIELDS)[number];

/** A rule as text, as in a YAML file, a submitted form or a stored policy version. */
export type SerializedRule = Readonly<Partial<Record<RuleField, string | readonly string[]>>>;

export const MAX_RULES = 500;
const MAX_LIST_ITEMS = 100;
const MAX_NAME_LENGTH = 80;
const MAX_NEEDED_APPROVALS = 20;

export type PolicyIssueCode =
  | 'not_a_list_of_rules'
  | 'too_many_rules'
  | 'not_a_rule'
  | 'not_text'
  | 'unknown_field'
  | 'missing'
  | 'multiple_values'
  | 'too_many_items'
  | 'name_too_long'
  | 'name_taken'
  | 'invalid_name'
  | 'unknown_task'
  | 'unreadable_pattern'
  | 'not_an_id'
  | AmountIssue
  | 'unknown_decision'
  | 'not_for_this_decision'
  | 'invalid_count'
  | 'more_than_approvers'
  | 'not_a_duration'
  | 'not_before_ttl'
  | 'not_true_or_false'
  | 'conflicts_with_signed';

export interface PolicyIssue {
  readonly code: PolicyIssueCode;
  /** The rule's index, the field, and the item's index if the field is a list. Empty for the whole policy. */
  readonly path: readonly (string | number)[];
  readonly ruleName: string | undefined;
  readonly field: string | undefined;
  /** The rejected text or number. */
  readonly given: string | undefined;
  readonly suggestions: readonly string[];
}

export type ParsedRules =
  | { readonly ok: true; readonly rules: readonly PolicyRule[] }
  | { readonly ok: false; readonly issues: readonly PolicyIssue[] };

const ruleSchema = z.record(z.string(), z.union([z.string(), z.array(z.string())]));
const rulesSchema = z.array(z.unknown());

/** Returns the issues of all rules. @param input untrusted; should be a list of {@link SerializedRule} */
export function parseRules(input: unknown, vocabulary: PolicyVocabulary): ParsedRules {
  const parsedList = rulesSchema.safeParse(input);
  const wholePolicyIssue = { path: [], ruleName: undefined, field: undefined, given: undefined };
  if (!parsedList.success) {
    return {
      ok: false,
      issues: [{ ...wholePolicyIssue, code: 'not_a_list_of_rules', suggestions: ['- rule_name: …'] }],
    };
  }
  if (parsedList.data.length > MAX_RULES) {
    const given = String(parsedList.data.length);
    return {
      ok: false,
      issues: [{ ...wholePolicyIssue, code: 'too_many_rules', given, suggestions: [String(MAX_RULES)] }],
    };
  }
  const issues: PolicyIssue[] = [];
  const takenNames = new Set<string>();
  const rules = parsedList.data.flatMap((rawRule, index) => {
    const reader = new RuleReader(rawRule, index, vocabulary, issues);
    const rule = reader.read();
    if (rule === undefined) return [];
    const key = rule.name.toLowerCase();
    if (takenNames.has(key)) reader.addFieldIssue('rule_name', 'name_taken', rule.name, []);
    if (key !== '') takenNames.add(key);
    return [rule];
  });
  return issues.length === 0 ? { ok: true, rules } : { ok: false, issues };
}

/** Reads one rule and collects its issues. Invalid parts are omitted from the rule. */
class RuleReader {
  readonly #fields: Readonly<Record<string, string | readonly string[]>>;
  readonly #isRule: boolean;
  readonly #index: number;
  readonly #vocabulary: PolicyVocabulary;
  readonly #issues: PolicyIssue[];

  constructor(rawRule: unknown, index: number, vocabulary: PolicyVocabulary, issues: PolicyIssue[]) {
    this.#index = index;
    this.#vocabulary = vocabulary;
    this.#issues = issues;
    const parsed = ruleSchema.safeParse(rawRule);
    this.#fields = parsed.data ?? {};
    this.#isRule = parsed.success;
    for (const issue of parsed.error?.issues ?? []) {
      const [field] = issue.path;
      if (field === undefined) this.#addIssue([], undefined, 'not_a_rule', undefined, ['rule_name: …']);
      else this.#addIssue([String(field)], String(field), 'not_text', undefined, []);
    }
  }

  get #tasks(): readonly string[] {
    return [...this.#vocabulary.tasks, ...TASK_SELECTORS];
  }

  /** @returns undefined if the input isn't a rule */
  read(): PolicyRule | undefined {
    // Without this check, every field would also be reported as missing.
    if (!this.#isRule) return undefined;
    this.#reportUnknownFields();
    const decision = this.#readDecision();
    const rule: PolicyRule = {
      name: this.#readName(),
      tasks: this.#requireList('tasks', 'all', (text) => this.#parseTask(text)),
      names: this.#requireList('names', '*', normalizePattern),
      by: this.#readList('by', parseSlackId),
      over: this.#readOver(),
      decision: decision ?? 'refuse',
      approvers: decision === 'approve' ? this.#requireList('approvers', 'S0MANAGERS', parseSlackId) : [],
      silent: this.#readList('silent', parseSlackId),
      needed: this.#readNeeded(),
      ttlMs: this.#readDuration('ttl'),
      remindAfterMs: this.#readDuration('remind_after'),
      escalateAfterMs: this.#readDuration('escalate_after'),
      escalateTo: this.#readList('escalate_to', parseSlackId),
      breakGlass: this.#readFlag('break_glass'),
      signed: this.#readFlag('signed'),
    };
    if (decision === 'approve') this.#checkApprovalFields(rule);
    else if (decision !== undefined) this.#rejectApprovalFields(decision);
    return rule;
  }

  addFieldIssue(
    field: RuleField,
    code: PolicyIssueCode,
    given: string | undefined,
    suggestions: readonly string[],
  ) {
    this.#addIssue([field], field, code, given, suggestions);
  }

  #addIssue(
    path: readonly (string | number)[],
    field: string | undefined,
    code: PolicyIssueCode,
    given: string | undefined,
    suggestions: readonly string[],
  ) {
    const name = this.#fields['rule_name'];
    const ruleName = typeof name === 'string' && name.trim() !== '' ? name.trim() : undefined;
    this.#issues.push({ code, path: [this.#index, ...path], ruleName, field, given, suggestions });
  }

  #reportUnknownFields() {
    for (const field of Object.keys(this.#fields)) {
      if (RULE_FIELDS.some((known) => known === field)) continue;
      this.#addIssue([field], field, 'unknown_field', field, RULE_FIELDS);
    }
  }

  #readText(field: RuleField): string | undefined {
    const value = this.#fields[field];
    const [first, ...others] = value === undefined || typeof value === 'string' ? [value] : value;
    if (others.length > 0)
      this.addFieldIssue(field, 'multiple_values', [first, ...others].join(', '), [first ?? '']);
    const text = first?.trim();
    return text === '' ? undefined : text;
  }

  /**
   * Accepts a list, or text whose items are separated by commas or spaces.
   * @param parse returns undefined for an invalid item
   */
  #readList(field: RuleField, parse: (text: string) => string | undefined): string[] {
    const value = this.#fields[field] ?? [];
    const isText = typeof value === 'string';
    const items = isText ? value.split(/[\s,]+/).filter((item) => item !== '') : value;
    if (items.length > MAX_LIST_ITEMS) {
      this.addFieldIssue(field, 'too_many_items', String(items.length), [String(MAX_LIST_ITEMS)]);
      return [];
    }
    const parsedItems = items.flatMap((item, position) => {
      const parsed = parse(item.trim());
      if (parsed !== undefined) return [parsed];
      const { code, suggestions } = this.#describeInvalidItem(field);
      this.#addIssue(isText ? [field] : [field, position], field, code, item.trim(), suggestions);
      return [];
    });
    return [...new Set(parsedItems)];
  }

  #requireList(field: RuleField, example: string, parse: (text: string) => string | undefined): string[] {
    const issueCount = this.#issues.length;
    const items = this.#readList(field, parse);
    if (items.length === 0 && this.#issues.length === issueCount) {
      this.addFieldIssue(field, 'missing', undefined, [example]);
    }
    return items;
  }

  #describeInvalidItem(field: RuleField): Pick<PolicyIssue, 'code' | 'suggestions'> {
    if (field === 'tasks') return { code: 'unknown_task', suggestions: this.#tasks };
    return field === 'names'
      ? { code: 'unreadable_pattern', suggestions: ['*', '*.rest', 'cafe.rest', 'tag:brand'] }
      : { code: 'not_an_id', suggestions: ['U…', 'S…'] };
  }

  #readName(): string {
    const name = this.#readText('rule_name');
    if (name === undefined) this.addFieldIssue('rule_name', 'missing', undefined, ['transfers of the brand']);
    else if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name))
      this.addFieldIssue('rule_name', 'invalid_name', undefined, []);
    else if ([...name].length > MAX_NAME_LENGTH) {
      this.addFieldIssue('rule_name', 'name_too_long', String([...name].length), [String(MAX_NAME_LENGTH)]);
    }
    return name ?? '';
  }

  #parseTask(text: string): string | undefined {
    return this.#tasks.find((task) => task === text.toLowerCase());
  }

  #readDecision(): RuleDecision | undefined {
    const text = this.#readText('decision');
    const decision = RULE_DECISIONS.find((known) => known === text?.toLowerCase());
    if (text === undefined) this.addFieldIssue('decision', 'missing', undefined, RULE_DECISIONS);
    else if (decision === undefined) this.addFieldIssue('decision', 'unknown_decision', text, RULE_DECISIONS);
    return decision;
  }

  #readOver(): Amount | undefined {
    const text = this.#readText('over');
    if (text === undefined) return undefined;
    const [, number = text, code] = /^(\S+)\s+([A-Za-z]{3})$/.exec(text) ?? [];
    const currency = code?.toUpperCase() ?? this.#vocabulary.currency;
    const parsed = parseAmount(number, currency);
    if (parsed.ok) return parsed.amount;
    const hundred = parseAmount('100', currency);
    const example = hundred.ok ? formatDecimal(hundred.amount) : '100.00';
    this.addFieldIssue('over', parsed.issue, text, [example]);
    return undefined;
  }

  #readNeeded(): number {
    const text = this.#readText('needed');
    if (text === undefined) return 1;
    const needed = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    if (needed >= 1 && needed <= MAX_NEEDED_APPROVALS) return needed;
    this.addFieldIssue('needed', 'invalid_count', text, ['1', String(MAX_NEEDED_APPROVALS)]);
    return 1;
  }

  #readDuration(field: RuleField): number | undefined {
    const text = this.#readText(field);
    if (text === undefined) return undefined;
    const ms = parseDuration(text);
    if (ms === undefined) this.addFieldIssue(field, 'not_a_duration', text, ['90s', '15m', '48h', '7d']);
    return ms;
  }

  #readFlag(field: 'break_glass' | 'signed'): boolean {
    const text = this.#readText(field)?.toLowerCase();
    if (text !== undefined && text !== 'true' && text !== 'false') {
      this.addFieldIssue(field, 'not_true_or_false', text, ['true', 'false']);
    }
    return text === 'true';
  }

  /** Reports contradictory fields of a rule that requires approval. */
  #checkApprovalFields(rule: PolicyRule) {
    const { needed, ttlMs, remindAfterMs, escalateAfterMs, breakGlass, signed } = rule;
    const { approvers } = mergeApprovers(rule.approvers, rule.silent);
    if (breakGlass && signed) this.addFieldIssue('break_glass', 'conflicts_with_signed', 'true', ['false']);
    const approverCount = approvers.length;
    if (approverCount > 0 && needed > approverCount && !approvers.some(isGroupId)) {
      this.addFieldIssue('needed', 'more_than_approvers', String(needed), [String(approverCount)]);
    }
    for (const [field, ms] of [
      ['remind_after', remindAfterMs],
      ['escalate_after', escalateAfterMs],
    ] as const) {
      if (ttlMs !== undefined && ms !== undefined && ms >= ttlMs) {
        this.addFieldIssue(field, 'not_before_ttl', formatDuration(ms), [formatDuration(ttlMs)]);
      }
    }
  }

  /** Reports approval fields in a rule that doesn't require approval. */
  #rejectApprovalFields(decision: RuleDecision) {
    const approvalFields = RULE_FIELDS.slice(RULE_FIELDS.indexOf('approvers'));
    for (const field of approvalFields) {
      const value = this.#fields[field];
      const isEmpty = value === undefined || value.length === 0 || value === 'false';
      if (!isEmpty) this.addFieldIssue(field, 'not_for_this_decision', decision, ['approve']);
    }
  }
}

/** Accepts a Slack id, or a pasted mention such as `<@U0CFO|anna>` or `<!subteam^S0LEGAL|@legal>`. */
function parseSlackId(text: string): string | undefined {
  const [, id] = /^(?:<@|<!subteam\^)?([UWS][A-Z0-9]{2,})(?:\|[^<>]*)?>?$/.exec(text) ?? [];
  return id;
}

/** The inverse of {@link parseRules} for one rule. Omits empty fields and default values. */
export function serializeRule(rule: PolicyRule, currency: string): SerializedRule {
  const { over } = rule;
  const formatOptionalDuration = (ms: number | undefined) =>
    ms === undefined ? undefined : formatDuration(ms);
  const isApproval = rule.decision === 'approve';
  const fields: Readonly<Record<RuleField, string | readonly string[] | undefined>> = {
    rule_name: rule.name,
    tasks: rule.tasks,
    names: rule.names,
    by: rule.by,
    over: over && formatDecimal(over) + (over.currency === currency ? '' : ` ${over.currency}`),
    decision: rule.decision,
    approvers: rule.approvers,
    silent: rule.silent,
    needed: isApproval && rule.needed !== 1 ? String(rule.needed) : undefined,
    ttl: formatOptionalDuration(rule.ttlMs),
    remind_after: formatOptionalDuration(rule.remindAfterMs),
    escalate_after: formatOptionalDuration(rule.escalateAfterMs),
    escalate_to: rule.escalateTo,
    break_glass: rule.breakGlass ? 'true' : undefined,
    signed: rule.signed ? 'true' : undefined,
  };
  return Object.fromEntries(
    RULE_FIELDS.flatMap((field) => {
      const value = fields[field];
      return value === undefined || value.length === 0 ? [] : [[field, value] as const];
    }),
  );
}
