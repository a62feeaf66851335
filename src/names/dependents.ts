/** How a name can depend on another one. */
export const DEPENDENCIES = ['nameservers', 'mail', 'redirects'] as const;
export type Dependency = (typeof DEPENDENCIES)[number];

/** A name that is watched, or that an order has redirected, with the hosts that it uses. */
export interface DependentName {
  /** In ASCII. */
  readonly name: string;
  readonly nameServers: readonly string[];
  readonly mailServers: readonly string[];
  /** Hosts, web addresses or e-mail addresses. */
  readonly redirectTargets: readonly string[];
  /** A private order has redirected it: it is counted and never named. */
  readonly isPrivate: boolean;
}

/** Names that depend on another one: how many, how many of these only private orders know, and the first of the rest. */
export type Dependents = {
  readonly [Kind in Dependency]: {
    readonly count: number;
    readonly privateCount: number;
    readonly names: readonly string[];
  };
};

const MAX_NAMES = 10;

/**
 * The names that stop working when a name does, because their nameservers, mail servers or redirect targets are below
 * it.
 */
export function findDependents(name: string, watched: Iterable<DependentName>): Dependents {
  // By name, whether only private orders know of it.
  const found: Record<Dependency, Map<string, boolean>> = {
    nameservers: new Map(),
    mail: new Map(),
    redirects: new Map(),
  };
  for (const other of watched) {
    if (other.name === name) continue;
    const hosts: Readonly<Record<Dependency, readonly string[]>> = {
      nameservers: other.nameServers,
      mail: other.mailServers,
      redirects: other.redirectTargets.map(hostOfTarget),
    };
    for (const kind of DEPENDENCIES) {
      if (hosts[kind].some((host) => isUnder(host, name)))
        found[kind].set(other.name, other.isPrivate && found[kind].get(other.name) !== false);
    }
  }
  const listOf = (all: ReadonlyMap<string, boolean>) => {
    const names = [...all].flatMap(([each, isPrivate]) => (isPrivate ? [] : [each]));
    return { count: all.size, privateCount: all.size - names.length, names: names.slice(0, MAX_NAMES) };
  };
  return {
    nameservers: listOf(found.nameservers),
    mail: listOf(found.mail),
    redirects: listOf(found.redirects),
  };
}

/** Whether a host is a name or stands below it. */
export function isUnder(host: string, name: string): boolean {
  return host === name || host.endsWith(`.${name}`);
}

/** The host of a web address, with or without its scheme, or of an e-mail address; empty where none can be read. */
export function hostOfTarget(target: string): string {
  const text = target.trim().toLowerCase();
  const address = text.includes('://') ? text : `http://${text}`;
  return URL.canParse(address) ? new URL(address).hostname.replace(/\.$/, '') : '';
}
