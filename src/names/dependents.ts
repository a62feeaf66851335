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
}

/** Names that depend on another one: how many, and the first of them. */
export type Dependents = {
  readonly [Kind in Dependency]: { readonly count: number; readonly names: readonly string[] };
};

const MAX_NAMES = 10;

/**
 * The names that stop working when a name does, because their nameservers, mail servers or redirect targets are below
 * it.
 */
export function findDependents(name: string, watched: Iterable<DependentName>): Dependents {
  const found = { nameservers: new Set<string>(), mail: new Set<string>(), redirects: new Set<string>() };
  for (const other of watched) {
    if (other.name === name) continue;
    const hosts: Readonly<Record<Dependency, readonly string[]>> = {
      nameservers: other.nameServers,
      mail: other.mailServers,
      redirects: other.redirectTargets.map(hostOfTarget),
    };
    for (const kind of DEPENDENCIES) {
      if (hosts[kind].some((host) => isUnder(host, name))) found[kind].add(other.name);
    }
  }
  const listOf = (names: ReadonlySet<string>) => ({
    count: names.size,
    names: [...names].slice(0, MAX_NAMES),
  });
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
