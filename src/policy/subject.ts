/* The hosts that an order affects under each of its names. Rules, budgets and tags are compared only with this. Pure. */

/** The kind of a task's names. An id of a contact or a user affects no host, even if it looks like one. */
export type NameKind = 'host' | 'id';

export interface Subject {
  /** As in the order: a domain, a redirect's source, an SSL contact's id or a user's name. */
  readonly name: string;
  /** The name's host, then all its parents, in ASCII, without the zone. */
  readonly hosts: readonly string[];
}

/** @param name as read from a form: a host, a host with a path, or an email address */
export function subjectOf(name: string, kind: NameKind): Subject {
  if (kind === 'id') return { name, hosts: [] };
  const [authority = ''] = name.split('/');
  const labels = authority
    .slice(authority.lastIndexOf('@') + 1)
    .toLowerCase()
    .split('.');
  // The last label alone is a zone, not a name.
  return { name, hosts: labels.slice(0, -1).map((_, index) => labels.slice(index).join('.')) };
}

/** The tags of watched names, by host; a host without an entry has unknown tags. */
type TagsByHost = ReadonlyMap<string, readonly string[]>;

/**
 * The tags of a host and all its parents.
 * @returns undefined for a host with unknown tags
 */
export function tagsTouched({ hosts }: Subject, tags: TagsByHost): readonly string[] | undefined {
  const found = hosts.map((host) => tags.get(host));
  return found.includes(undefined) ? undefined : [...new Set(found.flatMap((each) => each ?? []))];
}

/** @param tagsOf reads the tags of the names themselves */
export function readTagsTouched(
  tagsOf: (hosts: readonly string[]) => Promise<TagsByHost>,
): (hosts: readonly string[]) => Promise<TagsByHost> {
  return async (names) => {
    const subjects = names.map((name) => subjectOf(name, 'host'));
    return tagsByName(subjects, await tagsOf([...new Set(subjects.flatMap(({ hosts }) => hosts))]));
  };
}

export function tagsByName(subjects: readonly Subject[], tags: TagsByHost): TagsByHost {
  return new Map(subjects.map((subject) => [subject.name, tagsTouched(subject, tags) ?? []]));
}
