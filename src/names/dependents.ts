export const DEPENDENCIES = ['nameservers', 'mail', 'redirects'] as const;
export type Dependency = (typeof DEPENDENCIES)[number];

/** A watched or redirected name and the hosts it uses. */
export interface DependentName {
  readonly name: string;
  readonly nameServers: readonly string[];
  readonly mailServers: readonly string[];
  /** Hosts, URLs or email addresses. */
  readonly redirectTargets: readonly string[];
  /** Whether a private order redirects the name, so that the name is counted but never shown. */
  readonly isPrivate: boolean;
}

/** Names that depend on another name, by kind of dependency. `names` lists the first few that aren't private. */
export type Dependents = {
  readonly [Kind in Dependency]: {
    readonly count: number;
    readonly privateCount: number;
    readonly names: readonly string[];
  };
};

const MAX_LISTED_NAMES = 10;

/** Finds names whose nameservers, mail servers or redirect targets are hosts in the given domain. */
export function findDependents(name: string, candidates: Iterable<DependentName>): Dependents {
  // For each dependent name, whether only private orders mention it.
  const isPrivateByName: Record<Dependency, Map<string, boolean>> = {
    nameservers: new Map(),
    mail: new Map(),
    redirects: new Map(),
  };
  for (const candidate of candidates) {
    if (candidate.name === name) continue;
    const hosts: Readonly<Record<Dependency, readonly string[]>> = {
      nameservers: candidate.nameServers,
      mail: candidate.mailServers,
      redirects: candidate.redirectTargets.map(parseTargetHost),
    };
    for (const kind of DEPENDENCIES) {
      if (hosts[kind].some((host) => isHostInDomain(host, name)))
        isPrivateByName[kind].set(
          candidate.name,
          candidate.isPrivate && isPrivateByName[kind].get(candidate.name) !== false,
        );
    }
  }
  const summarize = (kind: Dependency) => {
    const dependents = isPrivateByName[kind];
    const names = [...dependents].flatMap(([dependent, isPrivate]) => (isPrivate ? [] : [dependent]));
    const { size: count } = dependents;
    return { count, privateCount: count - names.length, names: names.slice(0, MAX_LISTED_NAMES) };
  };
  return {
    nameservers: summarize('nameservers'),
    mail: summarize('mail'),
    redirects: summarize('redirects'),
  };
}

export function isHostInDomain(host: string, name: string): boolean {
  return host === name || host.endsWith(`.${name}`);
}

/**
 * @param target a host, URL or email address
 * @returns an empty string if the target can't be parsed
 */
export function parseTargetHost(target: string): string {
  const text = target.trim().toLowerCase();
  const url = text.includes('://') ? text : `http://${text}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : '';
}
