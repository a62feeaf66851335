/* Rules, budgets and tags are matched against the hosts that an order affects. */

/** The kind of a task's names. The id of a contact or user affects no host, even if it looks like one. */
export type NameKind = 'host' | 'id';

export interface AffectedName {
  /** As in the order: a domain, a redirect's source, an SSL contact's id or a user's name. */
  readonly name: string;
  /** The name's host, followed by all its parents except the top-level domain, in ASCII. */
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
  // The last label alone is the top-level domain, which is left out.
  return { name, hosts: labels.slice(0, -1).map((_, index) => labels.slice(index).join('.')) };
}

/** Tags of watched names, keyed by host. Hosts without an entry have unknown tags. */
type TagsByHost = ReadonlyMap<string, readonly string[]>;

/** Returns the tags of all affected hosts, or undefined if the tags of any host are unknown. */
export function findAffectedTags({ hosts }: AffectedName, tags: TagsByHost): readonly string[] | undefined {
  const tagLists = hosts.map((host) => tags.get(host));
  return tagLists.includes(undefined) ? undefined : [...new Set(tagLists.flatMap((list) => list ?? []))];
}

/** @param loadTags loads the hosts' own tags, without their parents' tags */
export function createTagLoader(
  loadTags: (hosts: readonly string[]) => Promise<TagsByHost>,
): (names: readonly string[]) => Promise<TagsByHost> {
  return async (names) => {
    const affectedNames = names.map((name) => toAffectedName(name, 'host'));
    return mapTagsByName(
      affectedNames,
      await loadTags([...new Set(affectedNames.flatMap(({ hosts }) => hosts))]),
    );
  };
}

export function mapTagsByName(names: readonly AffectedName[], tags: TagsByHost): TagsByHost {
  return new Map(
    names.map((affectedName) => [affectedName.name, findAffectedTags(affectedName, tags) ?? []]),
  );
}
