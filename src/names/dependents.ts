/** How one name depends on another. */
export const DEPENDENCIES = ['nameservers', 'mail', 'redirects'] as const;
export type Dependency = (typeof DEPENDENCIES)[number];

/** A watched or redirected name and the hosts it uses. */
export interface DependentName {
  readonly name: string;
  readonly nameServers: readonly string[];
  readonly mailServers: readonly string[];
  /** Hosts, URLs or email addresses. */
  readonly redirectTargets: readonly string[];
  /** Redirected by a private order: counted, but never shown by name. */
  readonly isPrivate: boolean;
}

/**
 * Names that depend on another name: how many in all, how many from private orders only, and the first of the others.
 */
export type Dependents = {
  readonly [Kind in Dependency]: {
    readonly count: number;
    readonly privateCount: number;
    readonly names: readonly string[];
  };
};

const MAX_NAMES = 10;

/**
 * Names that stop working together with this one, because their nameservers, mail servers or redirect targets are in
 * it.
 */
export function findDependents(name: string, candidates: Iterable<DependentName>): Dependents {
  // Keyed by name. True if only private orders mention it.
  const found: Record<Dependency, Map<string, boolean>> = {
    nameservers: new Map(),
    mail: new Map(),
    redirects: new Map(),
  };
  for (const other of candidates) {
    if (other.name === name) continue;
    const hosts: Readonly<Record<Dependency, readonly string[]>> = {
      nameservers: other.nameServers,
      mail: other.mailServers,
      redirects: other.redirectTargets.map(parseTargetHost),
    };
    for (const kind of DEPENDENCIES) {
      if (hosts[kind].some((host) => isHostInDomain(host, name)))
        found[kind].set(other.name, other.isPrivate && found[kind].get(other.name) !== false);
    }
  }
  const summarize = (all: ReadonlyMap<string, boolean>) => {
    const names = [...all].flatMap(([each, isPrivate]) => (isPrivate ? [] : [each]));
    return { count: all.size, privateCount: all.size - names.length, names: names.slice(0, MAX_NAMES) };
  };
  return {
    nameservers: summarize(found.nameservers),
    mail: summarize(found.mail),
    redirects: summarize(found.redirects),
  };
}

/** Whether the host is the name itself or below it. */
export function isHostInDomain(host: string, name: string): boolean {
  return host === name || host.endsWith(`.${name}`);
}

/** The host of a URL or email address; empty when unreadable. */
export function parseTargetHost(target: string): string {
  const text = target.trim().toLowerCase();
  const address = text.includes('://') ? text : `http://${text}`;
  return URL.canParse(address) ? new URL(address).hostname.replace(/\.$/, '') : '';
}
