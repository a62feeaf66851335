import { createHash } from 'node:crypto';
import { type SandboxDns, type SandboxService, startSandboxDns } from '@domain-steward/sandbox-service';
import { computeDsDigest, computeKeyTag } from '#src/registry/dns/ds.ts';
import type { DnskeyRecord } from '#src/registry/dns/records.ts';

export interface DemoDns {
  /** The address for `DNS_SERVERS`. */
  readonly resolver: string;
  /** The scripted DNS; undefined if this machine can't run one. */
  readonly sandbox: SandboxDns | undefined;
  /** Applies the service's changes of delegations since the last call, and keeps other changes of the sandbox's DNS. */
  syncDelegations(): void;
  close(): Promise<void>;
}

/** The keys sign nothing, because only their match with the DS record is checked. */
function createKey(name: string): DnskeyRecord {
  return { flags: 257, algorithm: 13, key: createHash('sha512').update(name).digest() };
}

function formatDnskey(name: string): string {
  const { flags, algorithm, key } = createKey(name);
  return `@ DNSKEY ${flags} 3 ${algorithm} ${key.toString('base64')}`;
}

function formatDs(name: string, key: DnskeyRecord): string {
  return `${computeKeyTag(key)} ${key.algorithm} 2 ${computeDsDigest(name, key, 2)}`;
}

/** The records of names in use. All others are delegated and empty. */
const RECORDS: Readonly<Record<string, readonly string[]>> = {
  'cafe.rest': [
    '@ A 198.51.100.7',
    'www A 198.51.100.7',
    '@ MX 10 mail.cafe.rest',
    'mail A 198.51.100.25',
    '@ TXT "v=spf1 mx -all"',
    '_dmarc TXT "v=DMARC1; p=reject"',
    '@ CAA 0 issue "letsencrypt.org"',
    formatDnskey('cafe.rest'),
  ],
  'pantry.rest': [formatDnskey('pantry.rest')],
  'bar.rest': ['@ A 198.51.100.8', 'www A 198.51.100.8', '@ MX 10 mail.cafe.rest'],
  'menu.example': ['@ A 198.51.100.9', '@ MX 10 mail.cafe.rest'],
  'deli.rest': ['@ A 198.51.100.10'],
};
/** DS records of signed names. */
const DS_RECORDS: Readonly<Record<string, readonly string[]>> = {
  'cafe.rest': [formatDs('cafe.rest', createKey('cafe.rest'))],
  // The key was replaced, but not the DS record.
  'pantry.rest': [formatDs('pantry.rest', createKey('former key'))],
};
/** Nothing listens on this port. */
const UNUSED_ADDRESS = '127.0.0.1:9';

/** The nameservers need addresses in 127.0.0.0/8, which are available by default on Linux. */
export async function startDemoDns(
  service: SandboxService,
  contexts: readonly number[],
  rude?: number,
): Promise<DemoDns> {
  const sandbox = await startSandboxDns({ rude }).catch(() => undefined);
  if (sandbox === undefined) {
    return {
      resolver: UNUSED_ADDRESS,
      sandbox,
      syncDelegations: () => undefined,
      close: async () => undefined,
    };
  }
  // A registry removes a deleted name from its zone at once.
  const listDomains = () =>
    contexts
      .flatMap((context) => service.state.listDomains(context))
      .filter(({ status }) => status === 'registered' || status === 'auto_renew_grace');
  const initialDomains = listDomains();
  for (const host of new Set(initialDomains.flatMap(({ nameServers }) => nameServers))) {
    await sandbox.addNameserver(host);
  }
  for (const { name, nameServers } of initialDomains) {
    const hosts = nameServers.filter((host) => sandbox.world.getAddress(host) !== undefined);
    sandbox.world.serve(name, hosts, RECORDS[name] ?? []);
  }
  let delegated = new Map<string, string>();
  const syncDelegations = () => {
    const previous = delegated;
    const current = listDomains();
    delegated = new Map(current.map(({ name, nameServers }) => [name, nameServers.join()]));
    for (const { name, nameServers } of current)
      if (previous.get(name) !== delegated.get(name))
        sandbox.world.delegate(name, nameServers, DS_RECORDS[name]);
    for (const name of previous.keys()) if (!delegated.has(name)) sandbox.world.undelegate(name);
  };
  syncDelegations();
  return { resolver: sandbox.resolver, sandbox, syncDelegations, close: () => sandbox.close() };
}
