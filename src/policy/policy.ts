import type { z } from 'zod';
import type { CharterProblem } from '../approvals/signing/difference.ts';
import type { Amount } from '../money/amount.ts';
import type { storedRuleSchema } from './stored-requirements.ts';

export const RULE_DECISIONS = ['free', 'approve', 'refuse'] as const;
export type RuleDecision = (typeof RULE_DECISIONS)[number];

/** Values of a rule's `tasks` that aren't task names. */
export const TASK_SELECTORS = ['charge', 'risk', 'all'] as const;

/** A rule applies to a name of an order if `tasks`, `names`, `by` and `over` all match. */
export interface PolicyRule {
  readonly name: string;
  /** Task names, or `charge`, `risk`, `all`. */
  readonly tasks: readonly string[];
  /** `*`, `*.rest`, `cafe.rest` or `tag:brand`, in lowercase ASCII. */
  readonly names: readonly string[];
  /** Requesters (people and groups); empty for everyone who may request orders. */
  readonly by: readonly string[];
  /** Only matches orders above this amount. */
  readonly over: Amount | undefined;
  readonly decision: RuleDecision;
  /** People and groups; empty unless the decision is `approve`. */
  readonly approvers: readonly string[];
  /** Approvers (people and groups) who are never notified. */
  readonly silent: readonly string[];
  readonly needed: number;
  /** If undefined, the setting applies. The same goes for the next two fields. */
  readonly ttlMs: number | undefined;
  readonly remindAfterMs: number | undefined;
  readonly escalateAfterMs: number | undefined;
  /** People and groups. If empty, the setting applies. */
  readonly escalateTo: readonly string[];
  /** Whether an admin may approve alone, with a reason. Another admin signs off the approval afterwards. */
  readonly breakGlass: boolean;
  /** Whether approvals must be passkey signatures. */
  readonly signed: boolean;
}

/** Immutable. An order stores the number of the version that it was evaluated under. */
export interface Policy {
  readonly version: number;
  readonly rules: readonly PolicyRule[];
}

export interface EffectivePolicy extends Policy {
  /** Whether signing is on, but no charter was ever signed. Settings then require signed approvals. */
  readonly isCharterMissing: boolean;
  /** Tags that affect decisions about orders. */
  readonly tags: readonly string[];
  /**
   * Set if a charter was signed, but none is valid. The environment variables then also apply, and every order needs
   * a signed approval.
   */
  readonly charterProblem:
    | {
        readonly problem: CharterProblem;
        readonly environment: RequirementApprovers & {
          readonly needed: number;
          readonly tasks: readonly string[];
        };
      }
    | undefined;
}

export interface RequirementApprovers {
  readonly approvers: readonly string[];
  /** Approvers who are never mentioned, messaged or reminded. */
  readonly silent: readonly string[];
}

export function mergeApprovers(
  approvers: readonly string[],
  silent: readonly string[],
): RequirementApprovers {
  return { approvers: [...new Set([...approvers, ...silent])], silent };
}

/** Finds the people and groups that at least one requirement notifies. */
export function findNotifiedIds(requirements: readonly RequirementApprovers[]): readonly string[] {
  const notifiedIds = requirements.flatMap(({ approvers, silent }) =>
    approvers.filter((id) => !silent.includes(id)),
  );
  return [...new Set(notifiedIds)];
}

export function findSilentIds(requirements: readonly RequirementApprovers[]): readonly string[] {
  const notifiedIds = findNotifiedIds(requirements);
  return [...new Set(requirements.flatMap(({ silent }) => silent))].filter((id) => !notifiedIds.includes(id));
}

/** Returns the policy version in signed approvals. A charter problem makes it 0: people must approve again. */
export function getSignedVersion({ version, charterProblem }: EffectivePolicy): number {
  return charterProblem === undefined ? version : 0;
}

/** Returns the rules of the last logged decision. */
export function findLoggedRules(history: readonly EntryWithRules[]): readonly RuleReference[] {
  return history.findLast(({ decidedBy }) => decidedBy !== undefined)?.decidedBy ?? [];
}

interface EntryWithRules {
  readonly kind: string;
  readonly decidedBy?: readonly RuleReference[] | undefined;
}

export function dropUnknownRules(
  rules: readonly RuleReference[],
  knownRules: readonly RuleReference[],
): readonly RuleReference[] {
  const formatKey = (rule: RuleReference) =>
    rule.kind === 'rule' ? JSON.stringify([rule.version, rule.index, rule.name]) : rule.kind;
  const knownKeys = new Set(knownRules.map(formatKey));
  return rules.filter((rule) => rule.kind !== 'rule' || knownKeys.has(formatKey(rule)));
}

/** Context for parsing rules. */
export interface PolicyVocabulary {
  readonly tasks: readonly string[];
  /** ISO 4217 code that applies to amounts without one. */
  readonly currency: string;
}

export type RuleReference = Readonly<z.output<typeof storedRuleSchema>>;

interface SignatureRequirements {
  readonly list: readonly { readonly signed: boolean }[];
}

export function needsSignatures({ list }: SignatureRequirements): boolean {
  return list.some(({ signed }) => signed);
}

/** Whether at least one requirement accepts unsigned approvals. */
export function acceptsUnsignedApprovals({ list }: SignatureRequirements): boolean {
  return list.length === 0 || list.some(({ signed }) => !signed);
}

/** Whether a Slack id belongs to a user group. */
export function isGroupId(id: string): boolean {
  return id.startsWith('S');
}

const TAG_PREFIX = 'tag:';

/** @returns the tag; undefined for a name pattern */
export function parseTagPattern(pattern: string): string | undefined {
  return pattern.startsWith(TAG_PREFIX) ? pattern.slice(TAG_PREFIX.length) : undefined;
}
