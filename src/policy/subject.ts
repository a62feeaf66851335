/*
 * The subject of a question to the policy: what an order touches under each of its names. Rules, budgets and tags are
 * compared with a subject and with nothing else. Pure.
 */

/** The kind of names in a task's orders. An id, of a contact or a user, touches no host even where it looks like one. */
export type NameKind = 'host' | 'id';

/** Hosts that an order's name touches. */
export interface Subject {
  /** As the order has it: a domain, a redirect's source, an SSL contact's id or a user's name. */
  readonly name: string;
  /** The host that the name stands for, then every parent of it, in ASCII. A zone alone is none. */
  readonly hosts: readonly string[];
}

/**
 * Says what a name touches.
 * @param name as a form has read it: a host, a host with a path, or an email address
 */
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

/** The tags of watched names, by host; a host without an entry is one whose tags are not known. */
type TagsByHost = ReadonlyMap<string, readonly string[]>;

/**
 * The tags that a subject touches: those of its host and of every parent.
 * @returns undefined for a host whose tags are not known
 */
export function tagsTouched({ hosts }: Subject, tags: TagsByHost): readonly string[] | undefined {
  const found = hosts.map((host) => tags.get(host));
  return found.includes(undefined) ? undefined : [...new Set(found.flatMap((each) => each ?? []))];
}

/** Reads the tags that hosts touch. @param tagsOf reads the tags of the names themselves */
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
