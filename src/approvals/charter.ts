import type { TeamSettings } from '../config/environment.ts';
import { type EffectivePolicy, mergeApprovers, type Policy, parseTagPattern } from '../policy/policy.ts';
import { type Assertion, type CharterChallenge, hashJson } from './signing/assertion.ts';
import type { CharterProblem } from './signing/difference.ts';
import {
  buildKeyRing,
  findSigningKey,
  getLogAtCharter,
  type KeyLog,
  type Trust,
} from './signing/key-ring.ts';

/**
 * The charter is the policy and the protected settings, signed together. Without it, someone with write access to the
 * database could change the rules. The newest charter in the log is authoritative, and rows that differ are ignored.
 */

export type ProtectedSettings = Pick<
  TeamSettings,
  'approvers' | 'silentApprovers' | 'approvalsRequired' | 'approvalTasks' | 'allowSelfApproval'
>;

export interface PolicyAndSettings {
  readonly policy: Policy;
  readonly settings: ProtectedSettings;
}

/** @param publisher the person who published the policy or changed the settings, if any */
export function buildCharter(
  { policy: { version, rules }, settings }: PolicyAndSettings,
  publisher: string | undefined,
) {
  return {
    policy: { version, rules },
    settings: {
      approvers: settings.approvers,
      silent_approvers: settings.silentApprovers,
      approvals_required: settings.approvalsRequired,
      approval_tasks: settings.approvalTasks,
      allow_self_approval: settings.allowSelfApproval,
    },
    published_by: publisher ?? null,
  };
}

export interface LoggedCharter {
  /** Index of the event among all events about keys and charters. */
  readonly eventIndex: number;
  /** Undefined if the charter's content can't be read. */
  readonly rules: PolicyAndSettings | undefined;
  readonly hash: string;
  readonly publisher: string | undefined;
  readonly signature: Assertion<CharterChallenge>;
  readonly botSignature: string | undefined;
}

export interface BotSigner {
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
}

/** The text that the bot signs to confirm that the signer was an admin, and not the publisher. */
export function formatCharterText(challenge: CharterChallenge): string {
  return `charter ${hashJson(challenge)}`;
}

/** The `previous` hash for the next charter. */
export function buildPreviousField(last: LoggedCharter | undefined): { readonly previous?: string } {
  return last === undefined ? {} : { previous: hashJson(last.signature.challenge) };
}

export type CharterStatus =
  | { readonly kind: 'none' }
  | { readonly kind: 'valid' }
  | {
      readonly kind: 'invalid';
      readonly problem: CharterProblem;
      /** From the last valid charter or, without one, from the newest charter or the database. */
      readonly lastRules: PolicyAndSettings;
    };

export interface SigningLog {
  readonly keys: KeyLog;
  /** Oldest first. */
  readonly charters: readonly LoggedCharter[];
}

/** @param lastValidCharter the result of {@link findLastValidCharter} */
export function evaluateCharter(
  { keys, charters }: SigningLog,
  rows: PolicyAndSettings,
  lastValidCharter: LoggedCharter | undefined,
): CharterStatus {
  const newestCharter = charters.at(-1);
  if (newestCharter === undefined && keys.isComplete) return { kind: 'none' };
  const lastRules = lastValidCharter?.rules ?? newestCharter?.rules ?? rows;
  if (!keys.isComplete) return { kind: 'invalid', problem: 'events_missing', lastRules };
  if (lastValidCharter !== newestCharter) return { kind: 'invalid', problem: 'not_signed', lastRules };
  const isSameAsRows =
    hashJson(buildCharter(lastRules, undefined)) === hashJson(buildCharter(rows, undefined));
  return isSameAsRows ? { kind: 'valid' } : { kind: 'invalid', problem: 'rows_differ', lastRules };
}

/** A charter stays valid even if its signer leaves or retires the key. */
export async function findLastValidCharter(
  { keys, charters }: SigningLog,
  { botSigner, ...trust }: Pick<Trust, 'roots' | 'verifier'> & { readonly botSigner: BotSigner | undefined },
): Promise<LoggedCharter | undefined> {
  for (let index = charters.length - 1; index >= 0; index -= 1) {
    const charter = charters[index];
    if (charter === undefined || charter.rules === undefined) continue;
    const { challenge } = charter.signature;
    if (challenge.charter !== charter.hash || challenge.by === charter.publisher) continue;
    if (challenge.previous !== buildPreviousField(charters[index - 1]).previous) continue;
    if (
      charter.botSignature === undefined ||
      botSigner?.verify(formatCharterText(challenge), charter.botSignature) !== true
    )
      continue;
    // `evaluateCharter` handles missing events.
    const log = { ...getLogAtCharter(keys, charter.eventIndex), isComplete: true };
    const ring = await buildKeyRing(log, { ...trust, departedIds: new Set() });
    if (findSigningKey(ring.validKeys, charter.signature, challenge.by) === undefined) continue;
    if ((await trust.verifier.verify(charter.signature)) !== undefined) return charter;
  }
  return undefined;
}

export interface EffectiveRules {
  readonly settings: TeamSettings;
  readonly policy: EffectivePolicy;
}

export function buildRulesWithoutSigning(policy: Policy, settings: TeamSettings): EffectiveRules {
  return {
    settings,
    policy: { ...policy, isCharterMissing: false, tags: findRuleTags(policy), charterProblem: undefined },
  };
}

export function buildRulesWithSigning(
  { policy, settings }: { readonly policy: Policy; readonly settings: TeamSettings },
  environmentSettings: ProtectedSettings,
  status: CharterStatus,
): EffectiveRules {
  if (status.kind === 'valid') return buildRulesWithoutSigning(policy, settings);
  if (status.kind === 'none') {
    const tags = findRuleTags(policy);
    return {
      settings: { ...settings, ...pickProtectedSettings(environmentSettings) },
      policy: { version: 0, rules: [], isCharterMissing: true, tags, charterProblem: undefined },
    };
  }
  const { lastRules, problem } = status;
  const allowSelfApproval = lastRules.settings.allowSelfApproval && environmentSettings.allowSelfApproval;
  const { approvalsRequired: needed, approvalTasks: tasks } = environmentSettings;
  const environmentApprovers = mergeApprovers(
    environmentSettings.approvers,
    environmentSettings.silentApprovers,
  );
  return {
    settings: { ...settings, ...pickProtectedSettings(lastRules.settings), allowSelfApproval },
    policy: {
      ...lastRules.policy,
      isCharterMissing: false,
      tags: [...new Set([...findRuleTags(lastRules.policy), ...findRuleTags(policy)])],
      charterProblem: { problem, environment: { ...environmentApprovers, needed, tasks } },
    },
  };
}

function pickProtectedSettings(settings: ProtectedSettings): ProtectedSettings {
  const { approvers, silentApprovers, approvalsRequired, approvalTasks, allowSelfApproval } = settings;
  return { approvers, silentApprovers, approvalsRequired, approvalTasks, allowSelfApproval };
}

function findRuleTags({ rules }: Policy): readonly string[] {
  return rules.flatMap(({ names }) => names.flatMap((name) => parseTagPattern(name) ?? []));
}
