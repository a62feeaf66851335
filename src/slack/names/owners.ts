import type { SlackContext } from '../context.ts';
import type { OwnersIssue } from './portfolio.view.ts';

/** Each new owner needs a lookup, and Slack limits lookups. */
const MAX_NEW_OWNERS = 30;

/**
 * Finds out why people can't become owners. Doesn't check current owners who haven't left.
 * @param given the new owner of each name: a person, null for none, undefined for no change
 */
export async function findOwnersIssue(
  { portfolio, directory }: SlackContext,
  given: readonly (string | null | undefined)[],
): Promise<OwnersIssue | undefined> {
  const named = new Set(given.flatMap((owner) => owner ?? []));
  if (named.size === 0) return undefined;
  const known = new Set((await portfolio.listOwners()).flatMap(({ id, hasLeft }) => (hasLeft ? [] : id)));
  const added = [...named].filter((owner) => !known.has(owner));
  if (added.length > MAX_NEW_OWNERS) return { code: 'too_many_new', limit: MAX_NEW_OWNERS };
  const found = await Promise.all(
    added.map(async (owner) => ({ owner, profile: await directory.lookUp(owner) })),
  );
  const strangers = found.filter(({ profile }) => profile?.isMember === false).map(({ owner }) => owner);
  if (strangers.length > 0) return { code: 'no_members', owners: strangers };
  return found.some(({ profile }) => profile === undefined) ? { code: 'unconfirmed' } : undefined;
}

/** Finds out why the selected person can't become an owner. Checks current owners too. */
export async function findOwnerIssue(
  { directory }: SlackContext,
  owner: string | undefined,
): Promise<OwnersIssue | undefined> {
  if (owner === undefined) return undefined;
  const membership = await directory.findMembership(owner);
  if (membership === 'member') return undefined;
  return membership === 'left' ? { code: 'no_members', owners: [owner] } : { code: 'unconfirmed' };
}
