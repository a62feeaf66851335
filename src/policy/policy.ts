import type { z } from 'zod';
import type { CharterProblem } from '../approvals/signing/difference.ts';
import type { Amount } from '../money/amount.ts';
import type { storedRuleSchema } from './stored-requirements.ts';

/**
 * A policy is an ordered list of rules. `evaluate.ts` evaluates the policy; `rule-text.ts` parses and formats rules
 * with the field names of the form.
 */

export const RULE_DECISIONS = ['free', 'approve', 'refuse'] as const;
export type RuleDecision = (typeof RULE_DECISIONS)[number];

/** Values of `tasks` besides task names. */
export const TASK_SELECTORS = ['charge', 'risk', 'all'] as const;

/** Matches a name if `tasks`, `names`, `by` and `over` all match. */
export interface PolicyRule {
  readonly name: string;
  /** Task names, or `charge`, `risk`, `all`. */
  readonly tasks: readonly string[];
  /** `*`, `*.rest`, `cafe.rest` or `tag:brand`, in lowercase ASCII. */
  readonly names: readonly string[];
  /** Requesters: people and groups. Empty: everyone who may request. */
  readonly by: readonly string[];
  /** Only orders above this amount; undefined: any amount. */
  readonly over: Amount | undefined;
  readonly decision: RuleDecision;
  /** People and groups; empty unless the decision is `approve`. */
  readonly approvers: readonly string[];
  /** Approvers (people and groups) who are never notified. */
  readonly silent: readonly string[];
  readonly needed: number;
  /** Undefined uses the setting. The same applies to the next two. */
  readonly ttlMs: number | undefined;
  readonly remindAfterMs: number | undefined;
  readonly escalateAfterMs: number | undefined;
  /** People and groups; empty: the setting. */
  readonly escalateTo: readonly string[];
  /** An admin may approve a pending order alone, with a reason. Another admin signs it off afterwards. */
  readonly breakGlass: boolean;
  /** Approvals must be passkey signatures. */
  readonly signed: boolean;
}

/** Immutable. An order stores the version number that applied to it. */
export interface Policy {
  readonly version: number;
  readonly rules: readonly PolicyRule[];
}

export interface EffectivePolicy extends Policy {
  /** Approvals that the settings require must be signed: passkeys are set up, and no charter has been signed yet. */
  readonly isCharterMissing: boolean;
  /** Tags that affect decisions about orders. */
  readonly tags: readonly string[];
  /**
   * A charter was signed, but none is valid. The environment's settings then apply too, and every order needs a signed
   * approval.
   */
  readonly charterProblem:
    | {
        readonly problem: CharterProblem;
        readonly environment: RequirementPeople & {
          readonly needed: number;
          readonly tasks: readonly string[];
        };
      }
    | undefined;
}

export interface RequirementPeople {
  readonly approvers: readonly string[];
  /** Approvers who are never mentioned, messaged or reminded. */
  readonly silent: readonly string[];
}

export function mergeApprovers(approvers: readonly string[], silent: readonly string[]): RequirementPeople {
  return { approvers: [...new Set([...approvers, ...silent])], silent };
}

/** The people and groups that at least one requirement notifies. */
export function findNotifiedIds(requirements: readonly RequirementPeople[]): readonly string[] {
  const notified = requirements.flatMap(({ approvers, silent }) =>
    approvers.filter((id) => !silent.includes(id)),
  );
  return [...new Set(notified)];
}

/** The people and groups who may approve without being notified. */
export function findSilentIds(requirements: readonly RequirementPeople[]): readonly string[] {
  const notified = findNotifiedIds(requirements);
  return [...new Set(requirements.flatMap(({ silent }) => silent))].filter((id) => !notified.includes(id));
}

/** The policy version for signed approvals: 0 while no charter is valid, so that earlier approvals must be repeated. */
export function getSignedVersion({ version, charterProblem }: EffectivePolicy): number {
  return charterProblem === undefined ? version : 0;
}

/** The rules that applied when the order was requested, from the log. */
export function findLoggedRules(history: readonly EntryWithRules[]): readonly RuleReference[] {
  const decided = history.findLast(({ decidedBy }) => decidedBy !== undefined);
  return decided?.decidedBy ?? [];
}

interface EntryWithRules {
  readonly kind: string;
  readonly decidedBy?: readonly RuleReference[] | undefined;
}

/** Drops rules that appear only in the order's row. */
export function dropUnknownRules(
  rules: readonly RuleReference[],
  known: readonly RuleReference[],
): readonly RuleReference[] {
  const formatKey = (rule: RuleReference) =>
    rule.kind === 'rule' ? JSON.stringify([rule.version, rule.index, rule.name]) : rule.kind;
  const keys = new Set(known.map(formatKey));
  return rules.filter((rule) => rule.kind !== 'rule' || keys.has(formatKey(rule)));
}

/** Values that the rule parser accepts. */
export interface PolicyVocabulary {
  readonly tasks: readonly string[];
  /** ISO 4217 code for amounts without one. */
  readonly currency: string;
}

export type RuleReference = Readonly<z.output<typeof storedRuleSchema>>;

export function needsSignatures({
  list,
}: {
  readonly list: readonly { readonly signed: boolean }[];
}): boolean {
  return list.some(({ signed }) => signed);
}

/** Whether at least one requirement accepts unsigned approvals. */
export function acceptsClicks({ list }: Parameters<typeof needsSignatures>[0]): boolean {
  return list.length === 0 || list.some(({ signed }) => !signed);
}

/** Whether an id belongs to a Slack user group. */
export function isGroup(id: string): boolean {
  return id.startsWith('S');
}

const TAG = 'tag:';

/** @returns undefined for a name pattern */
export function parseTagPattern(pattern: string): string | undefined {
  return pattern.startsWith(TAG) ? pattern.slice(TAG.length) : undefined;
}
