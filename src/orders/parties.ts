import type { Order } from './order.ts';
import type { Directory, FindAccount } from './ports.ts';
import type { PlainSummary } from './summary.ts';

/** The people an order depends on. If one of them leaves the workspace, the order sends nothing more. */

export interface Party {
  readonly userId: string;
  /** The result of the order if this person has left. */
  readonly summary: PlainSummary;
}

export interface Parties {
  /** The requester, and the owner of a personal account. */
  readonly people: readonly Party[];
  /** Whether the order's account is still linked. */
  readonly isLinked: boolean;
}

export async function findParties(findAccount: FindAccount, order: Order): Promise<Parties> {
  const account = await findAccount(order.account.id);
  const requester = { userId: order.requesterId, summary: { code: 'requester_left' } } as const;
  // The team's account has no owner: if the person who linked it leaves, the order depends only on the requester.
  const ownerId = account?.userId;
  const isOtherPerson = ownerId !== undefined && ownerId !== order.requesterId;
  return {
    people: isOtherPerson ? [requester, { userId: ownerId, summary: { code: 'owner_left' } }] : [requester],
    isLinked: account !== undefined,
  };
}

/** The result of an order whose account is no longer linked. */
export function summarizeMissingAccount({ account }: Order): PlainSummary {
  return { code: account.isTeamAccount === true ? 'team_account_gone' : 'account_gone' };
}

export type MemberCheck =
  | { readonly kind: 'members' }
  | ({ readonly kind: 'left' } & Party)
  /** Slack can't look up a person: nothing may be sent, but the order isn't stopped either. */
  | ({ readonly kind: 'unknown' } & Party);

/** Whether all of an order's people are still full members of the workspace. */
export async function checkMembers(directory: Directory, parties: readonly Party[]): Promise<MemberCheck> {
  const checks = await Promise.all(
    parties.map(async (party) => ({ party, membership: await directory.findMembership(party.userId) })),
  );
  for (const kind of ['left', 'unknown'] as const) {
    const match = checks.find(({ membership }) => membership === kind);
    if (match !== undefined) return { kind, ...match.party };
  }
  return { kind: 'members' };
}
