import type { SerializedRule } from './rule-text.ts';

/** Placeholders that an admin replaces with people and groups. */
export const ROLES = ['managers', 'finance', 'legal', 'brand_owners', 'security'] as const;
export type Role = (typeof ROLES)[number];

export const STARTING_POINT_NAMES = ['small_team', 'agency', 'company', 'regulated'] as const;
export type StartingPointName = (typeof STARTING_POINT_NAMES)[number];

/** A rule with roles in place of people and groups. */
interface StartingRule extends Omit<SerializedRule, 'by' | 'approvers' | 'escalate_to'> {
  readonly rule_name: string;
  readonly by?: readonly Role[];
  readonly approvers?: readonly Role[];
  readonly escalate_to?: readonly Role[];
}

export interface StartingPoint {
  readonly name: StartingPointName;
  readonly roles: readonly Role[];
  readonly rules: readonly StartingRule[];
}

const REDIRECTS_ARE_FREE: StartingRule = {
  rule_name: 'Redirects need no approval',
  tasks: ['redirect'],
  names: ['*'],
  decision: 'free',
};

const MANAGERS_SET_NAMESERVERS: StartingRule = {
  rule_name: 'Managers can change nameservers without approval',
  tasks: ['nameservers'],
  names: ['*'],
  by: ['managers'],
  decision: 'free',
};

const RULES: Readonly<Record<StartingPointName, readonly StartingRule[]>> = {
  small_team: [
    REDIRECTS_ARE_FREE,
    {
      rule_name: 'Risky tasks on guarded names need approval',
      tasks: ['risk', 'transfer'],
      names: ['tag:guarded'],
      decision: 'approve',
      approvers: ['managers'],
      break_glass: 'true',
    },
    MANAGERS_SET_NAMESERVERS,
    {
      rule_name: 'Other risky tasks need approval',
      tasks: ['risk', 'transfer'],
      names: ['*'],
      decision: 'approve',
      approvers: ['managers'],
      break_glass: 'true',
    },
  ],
  agency: [
    REDIRECTS_ARE_FREE,
    {
      rule_name: 'Risky tasks on our own and guarded names need approval',
      tasks: ['risk', 'transfer'],
      names: ['tag:own', 'tag:guarded'],
      decision: 'approve',
      approvers: ['managers'],
      needed: '2',
    },
    {
      rule_name: 'Large orders need approval',
      tasks: ['charge'],
      names: ['*'],
      over: '250',
      decision: 'approve',
      approvers: ['finance'],
    },
    MANAGERS_SET_NAMESERVERS,
    {
      rule_name: 'Risky tasks on clients’ names need approval',
      tasks: ['risk', 'transfer'],
      names: ['*'],
      decision: 'approve',
      approvers: ['managers'],
    },
  ],
  company: [
    {
      rule_name: 'Risky tasks on brand names need approval',
      tasks: ['risk', 'transfer'],
      names: ['tag:brand'],
      decision: 'approve',
      approvers: ['brand_owners'],
      needed: '2',
      ttl: '48h',
      escalate_after: '12h',
      escalate_to: ['legal'],
      signed: 'true',
    },
    REDIRECTS_ARE_FREE,
    {
      rule_name: 'Large orders need approval',
      tasks: ['charge'],
      names: ['*'],
      over: '500',
      decision: 'approve',
      approvers: ['finance'],
      needed: '2',
    },
    {
      rule_name: 'Other risky tasks need approval',
      tasks: ['risk', 'transfer'],
      names: ['*'],
      decision: 'approve',
      approvers: ['managers'],
      signed: 'true',
    },
  ],
  regulated: [
    {
      rule_name: 'Guarded names can’t be deleted',
      tasks: ['delete'],
      names: ['tag:guarded'],
      decision: 'refuse',
    },
    {
      rule_name: 'Other risky tasks need approval',
      tasks: ['risk', 'transfer'],
      names: ['*'],
      decision: 'approve',
      approvers: ['security', 'legal'],
      needed: '2',
      ttl: '48h',
      signed: 'true',
    },
    {
      rule_name: 'Paid tasks need approval',
      tasks: ['charge'],
      names: ['*'],
      decision: 'approve',
      approvers: ['finance'],
      needed: '2',
    },
    {
      rule_name: 'Everything else needs approval',
      tasks: ['all'],
      names: ['*'],
      decision: 'approve',
      approvers: ['managers'],
    },
  ],
};

export function getStartingPoint(name: StartingPointName): StartingPoint {
  const rules = RULES[name];
  const usedRoles = new Set(
    rules.flatMap(({ by = [], approvers = [], escalate_to = [] }) => [...by, ...approvers, ...escalate_to]),
  );
  return { name, roles: ROLES.filter((role) => usedRoles.has(role)), rules };
}

/**
 * Replaces roles with people and groups. If a role has none, the rule parser may report missing approvers.
 * @param idsByRole ids of people and groups for each role
 * @param options.canSign if false, no rule requires signatures
 */
export function fillStartingPoint(
  { rules }: StartingPoint,
  idsByRole: Readonly<Partial<Record<Role, readonly string[]>>>,
  { canSign }: { readonly canSign: boolean },
): SerializedRule[] {
  const resolveRoles = (roles: readonly Role[] | undefined) => [
    ...new Set((roles ?? []).flatMap((role) => idsByRole[role] ?? [])),
  ];
  return rules.map(({ by, approvers, escalate_to, signed, ...rule }) => ({
    ...rule,
    ...(signed !== undefined && canSign ? { signed } : {}),
    ...(by && { by: resolveRoles(by) }),
    ...(approvers && { approvers: resolveRoles(approvers) }),
    ...(escalate_to && { escalate_to: resolveRoles(escalate_to) }),
  }));
}
