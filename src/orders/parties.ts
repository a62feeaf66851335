import type { Order } from './order.ts';
import type { Directory, FindAccount } from './ports.ts';
import type { PlainSummary } from './summary.ts';

/** A person on whom an order depends. If the person leaves the workspace, the order sends nothing more. */

export interface Party {
  readonly userId: string;
  /** The order's result if the person has left. */
  readonly summary: PlainSummary;
}

export interface Parties {
  /** The requester, and the owner of a personal account. */
  readonly people: readonly Party[];
  readonly isLinked: boolean;
}

export async function findParties(findAccount: FindAccount, order: Order): Promise<Parties> {
  const account = await findAccount(order.account.id);
  const requester = { userId: order.requesterId, summary: { code: 'requester_left' } } as const;
  // The team's account has no owner. Orders don't depend on the person who linked it.
  const ownerId = account?.userId;
  const isOtherPerson = ownerId !== undefined && ownerId !== order.requesterId;
  return {
    people: isOtherPerson ? [requester, { userId: ownerId, summary: { code: 'owner_left' } }] : [requester],
    isLinked: account !== undefined,
  };
}

export function summarizeMissingAccount({ account }: Order): PlainSummary {
  return { code: account.isTeamAccount === true ? 'team_account_gone' : 'account_gone' };
}

export type MemberCheck =
  | { readonly kind: 'members' }
  | ({ readonly kind: 'left' } & Party)
  /** Slack can't look up a person. Nothing may be sent, but the order isn't stopped either. */
  | ({ readonly kind: 'unknown' } & Party);

/** Checks whether all parties are still full members of the workspace. */
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
