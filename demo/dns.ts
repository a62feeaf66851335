import { createHash } from 'node:crypto';
import { type SandboxDns, type SandboxService, startSandboxDns } from '@domain-steward/sandbox-service';
import { computeDsDigest, computeKeyTag } from '#src/registry/dns/ds.ts';
import type { DnskeyRecord } from '#src/registry/dns/records.ts';

/** The DNS of the demo: the delegations of the sandbox's names, and their records. */
export interface DemoDns {
  /** The address for `DNS_SERVERS`. */
  readonly resolver: string;
  /** The scripted DNS; undefined if this machine can't run one. */
  readonly sandbox: SandboxDns | undefined;
  /** Delegates names as the service has changed them since the last call. Other changes of the sandbox's DNS stay. */
  follow(): void;
  close(): Promise<void>;
}

/** Nothing is signed with these keys: only their match with the DS record is checked. */
function keyOf(name: string): DnskeyRecord {
  return { flags: 257, algorithm: 13, key: createHash('sha512').update(name).digest() };
}

function dnskeyOf(name: string): string {
  const { flags, algorithm, key } = keyOf(name);
  return `@ DNSKEY ${flags} 3 ${algorithm} ${key.toString('base64')}`;
}

function dsOf(name: string, key: DnskeyRecord): string {
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
    dnskeyOf('cafe.rest'),
  ],
  'pantry.rest': [dnskeyOf('pantry.rest')],
  'bar.rest': ['@ A 198.51.100.8', 'www A 198.51.100.8', '@ MX 10 mail.cafe.rest'],
  'menu.example': ['@ A 198.51.100.9', '@ MX 10 mail.cafe.rest'],
  'deli.rest': ['@ A 198.51.100.10'],
};
/** DS records of signed names, in their registry's zone. */
const SIGNED: Readonly<Record<string, readonly string[]>> = {
  'cafe.rest': [dsOf('cafe.rest', keyOf('cafe.rest'))],
  // Its key was changed without its DS record.
  'pantry.rest': [dsOf('pantry.rest', keyOf('former key'))],
};
/** Nothing listens there. */
const NOBODY = '127.0.0.1:9';

/**
 * Starts the demo's DNS. Its nameservers need addresses in 127.0.0.0/8, which Linux has by default.
 */
export async function startDemoDns(
  service: SandboxService,
  contexts: readonly number[],
  rude?: number,
): Promise<DemoDns> {
  const sandbox = await startSandboxDns({ rude }).catch(() => undefined);
  if (sandbox === undefined) {
    return { resolver: NOBODY, sandbox, follow: () => undefined, close: async () => undefined };
  }
  // A registry removes a deleted name from its zone at once.
  const domains = () =>
    contexts
      .flatMap((context) => service.state.domains(context))
      .filter(({ status }) => status === 'registered' || status === 'auto_renew_grace');
  const first = domains();
  for (const host of new Set(first.flatMap(({ nameServers }) => nameServers))) {
    await sandbox.addNameserver(host);
  }
  for (const { name, nameServers } of first) {
    const served = nameServers.filter((host) => sandbox.world.addressOf(host) !== undefined);
    sandbox.world.serve(name, served, RECORDS[name] ?? []);
  }
  let delegated = new Map<string, string>();
  const follow = () => {
    const before = delegated;
    const now = domains();
    delegated = new Map(now.map(({ name, nameServers }) => [name, nameServers.join()]));
    for (const { name, nameServers } of now)
      if (before.get(name) !== delegated.get(name)) sandbox.world.delegate(name, nameServers, SIGNED[name]);
    for (const name of before.keys()) if (!delegated.has(name)) sandbox.world.undelegate(name);
  };
  follow();
  return { resolver: sandbox.resolver, sandbox, follow, close: () => sandbox.close() };
}
