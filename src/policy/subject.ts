/* The hosts that an order affects. Rules, budgets and tags are matched only against them. Pure. */

/** The kind of a task's names. A contact's or user's id affects no host, even if it looks like one. */
export type NameKind = 'host' | 'id';

export interface AffectedName {
  /** The name as in the order: a domain, a redirect's source, an SSL contact's id or a user's name. */
  readonly name: string;
  /** The name's host, followed by all its parents except the zone, in ASCII. */
  readonly hosts: readonly string[];
}

/** @param name from a form: a host, a host with a path, or an email address */
export function toAffectedName(name: string, kind: NameKind): AffectedName {
  if (kind === 'id') return { name, hosts: [] };
  const [authority = ''] = name.split('/');
  const labels = authority
    .slice(authority.lastIndexOf('@') + 1)
    .toLowerCase()
    .split('.');
  // The last label alone is a zone, not a name.
  return { name, hosts: labels.slice(0, -1).map((_, index) => labels.slice(index).join('.')) };
}

/** Tags of watched names, keyed by host. Tags are unknown for hosts without an entry. */
type TagsByHost = ReadonlyMap<string, readonly string[]>;

/** The tags of a host and all its parents. @returns undefined if a tag list is unknown */
export function findAffectedTags({ hosts }: AffectedName, tags: TagsByHost): readonly string[] | undefined {
  const found = hosts.map((host) => tags.get(host));
  return found.includes(undefined) ? undefined : [...new Set(found.flatMap((each) => each ?? []))];
}

/** @param loadTags loads the names' own tags */
export function createTagReader(
  loadTags: (hosts: readonly string[]) => Promise<TagsByHost>,
): (hosts: readonly string[]) => Promise<TagsByHost> {
  return async (names) => {
    const affected = names.map((name) => toAffectedName(name, 'host'));
    return mapTagsByName(affected, await loadTags([...new Set(affected.flatMap(({ hosts }) => hosts))]));
  };
}

export function mapTagsByName(names: readonly AffectedName[], tags: TagsByHost): TagsByHost {
  return new Map(names.map((affected) => [affected.name, findAffectedTags(affected, tags) ?? []]));
}
