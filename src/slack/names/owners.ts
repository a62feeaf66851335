import type { SlackContext } from '../context.ts';
import type { OwnersIssue } from './portfolio.view.ts';

/** Each new owner needs a Slack API call, and Slack limits their rate. */
const MAX_NEW_OWNERS = 30;

/**
 * Finds out why people can't become owners. Doesn't check current owners who haven't left.
 * @param changedOwners for each name: a user ID, null to remove the owner, undefined to keep it
 */
export async function findNewOwnersIssue(
  { portfolio, directory }: SlackContext,
  changedOwners: readonly (string | null | undefined)[],
): Promise<OwnersIssue | undefined> {
  const people = new Set(changedOwners.flatMap((owner) => owner ?? []));
  if (people.size === 0) return undefined;
  const currentOwnerIds = new Set(
    (await portfolio.listOwners()).flatMap(({ id, hasLeft }) => (hasLeft ? [] : id)),
  );
  const addedOwners = [...people].filter((person) => !currentOwnerIds.has(person));
  if (addedOwners.length > MAX_NEW_OWNERS) return { code: 'too_many_new', limit: MAX_NEW_OWNERS };
  const profiles = await Promise.all(
    addedOwners.map(async (owner) => ({ owner, profile: await directory.lookUpProfile(owner) })),
  );
  const nonMembers = profiles.filter(({ profile }) => profile?.isMember === false).map(({ owner }) => owner);
  if (nonMembers.length > 0) return { code: 'not_members', owners: nonMembers };
  return profiles.some(({ profile }) => profile === undefined) ? { code: 'unconfirmed' } : undefined;
}

/** Finds out why the selected person can't become an owner. Checks current owners too. */
export async function findOwnerIssue(
  { directory }: SlackContext,
  owner: string | undefined,
): Promise<OwnersIssue | undefined> {
  if (owner === undefined) return undefined;
  const membership = await directory.findMembership(owner);
  if (membership === 'member') return undefined;
  return membership === 'left' ? { code: 'not_members', owners: [owner] } : { code: 'unconfirmed' };
}
