import type { TeamSettings } from '../config.ts';
import type { Policy, PolicyInForce } from '../policy/policy.ts';
import { hashOf } from '../signing/assertion.ts';

/*
 * The charter: the policy and the settings that decide, signed as one. While keys are in use it counts only when somebody whose key
 * counts has signed it; else whoever writes into the database would change the rule instead of the order. Pure.
 */

/** The settings that decide about orders. */
export type DecidingSettings = Pick<
  TeamSettings,
  'approvers' | 'approvalsRequired' | 'approvalTasks' | 'allowSelfApproval'
>;

/** A policy and settings as they are signed. */
export function charterOf({ version, rules }: Policy, settings: DecidingSettings) {
  return {
    policy: { version, rules },
    settings: {
      approvers: settings.approvers,
      approvals_required: settings.approvalsRequired,
      approval_tasks: settings.approvalTasks,
      allow_self_approval: settings.allowSelfApproval,
    },
  };
}

/** What is signed for a charter. */
export function charterHash(policy: Policy, settings: DecidingSettings): string {
  return hashOf(charterOf(policy, settings));
}

/** The policy and the settings that decide at one moment. */
export interface Deciding {
  readonly settings: TeamSettings;
  readonly policy: PolicyInForce;
}

/** What decides where no key is in use. */
export function decidingWithoutKeys(policy: Policy, settings: TeamSettings): Deciding {
  return { settings, policy: { ...policy, signsSettings: false } };
}

/**
 * What decides where keys are in use. Without a charter that counts it is what the operator has set, and whatever that lets wait is
 * to be signed.
 * @param start the settings of the environment
 */
export function decidingWithKeys(
  { policy, settings }: { readonly policy: Policy; readonly settings: TeamSettings },
  start: DecidingSettings,
  isSigned: boolean,
): Deciding {
  if (isSigned) return decidingWithoutKeys(policy, settings);
  const { approvers, approvalsRequired, approvalTasks, allowSelfApproval } = start;
  return {
    settings: { ...settings, approvers, approvalsRequired, approvalTasks, allowSelfApproval },
    policy: { version: 0, rules: [], signsSettings: true },
  };
}
