import type { z } from 'zod';
import type { CharterProblem } from '../approvals/signing/difference.ts';
import type { Amount } from '../money/amount.ts';
import type { storedRule } from './stored-requirements.ts';

/**
 * A policy is an ordered list of rules. `evaluate.ts` evaluates it; `rule-text.ts` reads and writes rules with
 * people's field names.
 */

export const DECISIONS = ['free', 'approve', 'refuse'] as const;
export type Decision = (typeof DECISIONS)[number];

/** Values of `tasks` besides task names. */
export const TASK_SELECTORS = ['charge', 'risk', 'all'] as const;

/** Matches a name when all of `tasks`, `names`, `by` and `over` do. */
export interface PolicyRule {
  readonly name: string;
  /** Task names, or `charge`, `risk`, `all`. */
  readonly tasks: readonly string[];
  /** `*`, `*.rest`, `cafe.rest` or `tag:brand`, in lower case and ASCII. */
  readonly names: readonly string[];
  /** People and groups who request; empty: everyone allowed. */
  readonly by: readonly string[];
  /** Only orders above this amount; undefined: any amount. */
  readonly over: Amount | undefined;
  readonly decision: Decision;
  /** People and groups; empty unless the decision is `approve`. */
  readonly approvers: readonly string[];
  /** People and groups who count as well, and are never called. */
  readonly silent: readonly string[];
  readonly needed: number;
  /** Undefined: the setting, as for the next three. */
  readonly ttlMs: number | undefined;
  readonly remindAfterMs: number | undefined;
  readonly escalateAfterMs: number | undefined;
  /** People and groups; empty: the setting. */
  readonly escalateTo: readonly string[];
  /** One admin may carry out a pending order, with a reason; another admin signs it off afterwards. */
  readonly breakGlass: boolean;
  /** Approvals must be passkey signatures. */
  readonly signed: boolean;
}

/** Immutable; an order stores the number of the version that decided it. */
export interface Policy {
  readonly version: number;
  readonly rules: readonly PolicyRule[];
}

export interface PolicyInForce extends Policy {
  /** Approvals by the settings must be signed: passkeys are set up, and no charter was signed yet. */
  readonly signsSettings: boolean;
  /** Tags that affect decisions about orders. */
  readonly tags: readonly string[];
  /**
   * A charter was signed, but none is valid: the environment's settings apply too, and every order needs a signed
   * approval.
   */
  readonly lapsed:
    | {
        readonly problem: CharterProblem;
        readonly environment: Asked & {
          readonly needed: number;
          readonly tasks: readonly string[];
        };
      }
    | undefined;
}

/** The people and groups of a requirement. */
export interface Asked {
  /** Everyone who counts. */
  readonly approvers: readonly string[];
  /** Those of them who are never mentioned, messaged or reminded; undefined: none. */
  readonly silent?: readonly string[];
}

export function askedOf(approvers: readonly string[], silent: readonly string[]): Asked {
  return silent.length === 0 ? { approvers } : { approvers: [...new Set([...approvers, ...silent])], silent };
}

/** The people and groups whom at least one requirement calls. */
export function calledOf(requirements: readonly Asked[]): readonly string[] {
  const called = requirements.flatMap(({ approvers, silent }) =>
    approvers.filter((id) => silent?.includes(id) !== true),
  );
  return [...new Set(called)];
}

/** The people and groups who may approve without being called. */
export function silentOf(requirements: readonly Asked[]): readonly string[] {
  const called = calledOf(requirements);
  return [...new Set(requirements.flatMap(({ silent = [] }) => silent))].filter((id) => !called.includes(id));
}

/**
 * The policy version that approvals are signed for; 0 while no charter is valid, so that earlier approvals are signed
 * again.
 */
export function versionToSign({ version, lapsed }: PolicyInForce): number {
  return lapsed === undefined ? version : 0;
}

/** The rules that decided at the request, by the log. */
export function loggedRules(history: readonly Decided[]): readonly RuleReference[] {
  const decided = history.findLast(({ decidedBy }) => decidedBy !== undefined);
  return decided?.decidedBy ?? [];
}
interface Decided {
  readonly kind: string;
  readonly decidedBy?: readonly RuleReference[] | undefined;
}

/** Drops rules that are only in the order's row. */
export function dropUnknownRules(
  rules: readonly RuleReference[],
  known: readonly RuleReference[],
): readonly RuleReference[] {
  const keyOf = (rule: RuleReference) =>
    rule.kind === 'rule' ? JSON.stringify([rule.version, rule.index, rule.name]) : rule.kind;
  const keys = new Set(known.map(keyOf));
  return rules.filter((rule) => rule.kind !== 'rule' || keys.has(keyOf(rule)));
}

/** The vocabulary for reading a rule. */
export interface PolicyVocabulary {
  readonly tasks: readonly string[];
  /** ISO 4217 code for amounts without one. */
  readonly currency: string;
}

export type RuleReference = Readonly<z.output<typeof storedRule>>;

/** Whether an order needs signed approvals. */
export function needsSignatures({
  requirements,
}: {
  readonly requirements: readonly { readonly signed: boolean }[];
}): boolean {
  return requirements.some(({ signed }) => signed);
}

/** Whether a click can give a part of what an order needs. */
export function takesClicks({ requirements }: Parameters<typeof needsSignatures>[0]): boolean {
  return requirements.length === 0 || requirements.some(({ signed }) => !signed);
}

/** Whether an id is a Slack user group's. */
export function isGroup(id: string): boolean {
  return id.startsWith('S');
}

/** The prefix of a tag pattern. */
const TAG = 'tag:';

/** The tag in a pattern of a rule's names; undefined for a pattern of names. */
export function tagOfPattern(pattern: string): string | undefined {
  return pattern.startsWith(TAG) ? pattern.slice(TAG.length) : undefined;
}
