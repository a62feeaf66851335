import {
  addressRecord,
  defaultSignatures,
  defaultSoa,
  isWithin,
  nsRecord,
  parseRecord,
  type SandboxRecord,
  type SandboxRecordType,
  unsignedRecord,
} from './zone.ts';

/** The reply of a server to a query, before it is encoded. */
export interface DnsReply {
  readonly code: 'NOERROR' | 'FORMERR' | 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED';
  readonly authoritative: boolean;
  readonly answers: readonly SandboxRecord[];
  readonly authorities: readonly SandboxRecord[];
  readonly additionals: readonly SandboxRecord[];
}

interface Delegation {
  readonly hosts: readonly string[];
  readonly ds: readonly SandboxRecord[];
}

interface Zone {
  readonly name: string;
  readonly records: readonly SandboxRecord[];
}

const MAX_ALIASES = 16;

/** The scripted part of the DNS: the delegations of names, and the zones on each nameserver. */
export class DnsWorld {
  readonly #addresses = new Map<string, string>();
  readonly #zones = new Map<string, Map<string, Zone>>();
  readonly #delegations = new Map<string, Delegation>();
  readonly #registries = new Map<string, readonly string[]>();
  /** Data that differs on a single nameserver of a registry, by host name. */
  readonly #deviations = new Map<string, Map<string, Delegation | undefined>>();

  addHost(host: string, address: string): void {
    this.#addresses.set(host, address);
    this.#zones.set(host, new Map());
  }

  addressOf(host: string): string | undefined {
    return this.#addresses.get(host);
  }

  addRegistry(zone: string, host: string): void {
    this.#registries.set(zone, [...(this.#registries.get(zone) ?? []), host]);
  }

  /**
   * Puts a zone on nameservers, replacing its previous version there.
   * @param lines records for {@link parseRecord}; SOA, NS and the signatures of a key are added if missing
   */
  serve(zone: string, hosts: readonly string[], lines: readonly string[]): void {
    const given = lines.map((line) => parseRecord(zone, line));
    const has = (type: SandboxRecordType) =>
      given.some((record) => record.type === type && record.name === zone);
    const records = [
      ...given,
      ...(has('SOA') ? [] : [defaultSoa(zone, hosts[0] ?? zone)]),
      ...(has('DNSKEY') && !has('RRSIG') ? defaultSignatures(zone) : []),
      ...(has('NS') ? [] : hosts.map((host) => nsRecord(zone, host))),
    ];
    for (const host of hosts) this.#held(host).set(zone, { name: zone, records });
  }

  /** Removes a zone from nameservers, which then refuse queries for it. */
  drop(zone: string, hosts: readonly string[]): void {
    for (const host of hosts) this.#held(host).delete(zone);
  }

  /**
   * Makes the registry delegate a name.
   * @param ds values of DS records
   */
  delegate(name: string, hosts: readonly string[], ds: readonly string[] = []): void {
    this.#delegations.set(name, { hosts, ds: ds.map((value) => parseRecord(name, `@ DS ${value}`)) });
  }

  undelegate(name: string): void {
    this.#delegations.delete(name);
  }

  /**
   * Makes one nameserver of a registry differ from the others, as if it were outdated or poisoned.
   * @param hosts undefined: the name isn't delegated
   */
  delegateAt(server: string, name: string, hosts: readonly string[] | undefined): void {
    const deviations = this.#deviations.get(server) ?? new Map<string, Delegation | undefined>();
    this.#deviations.set(server, deviations.set(name, hosts && { hosts, ds: [] }));
  }

  /** Makes all nameservers of the registries consistent again. */
  agree(): void {
    this.#deviations.clear();
  }

  /** The reply of a resolver, which follows delegations and aliases. */
  resolve(name: string, type: string): DnsReply {
    const answers: SandboxRecord[] = [];
    let current = name;
    for (let aliases = 0; aliases < MAX_ALIASES; aliases += 1) {
      const reply = this.#resolveOnce(current, type);
      answers.push(...reply.answers);
      const alias = reply.answers.find((record) => record.type === 'CNAME');
      if (type === 'CNAME' || alias === undefined) return { ...reply, authoritative: false, answers };
      current = String(alias.data).toLowerCase();
    }
    return reply('SERVFAIL');
  }

  /** The reply of a nameserver, from its own zones. */
  ask(host: string, name: string, type: string): DnsReply {
    for (const [zone, hosts] of this.#registries) {
      if (hosts.includes(host) && isWithin(name, zone)) return this.#askRegistry(zone, name, type, host);
    }
    const held = this.#zones.get(host);
    for (let cut = name; cut !== ''; cut = cut.slice(cut.indexOf('.') + 1 || cut.length)) {
      const zone = held?.get(cut);
      if (zone !== undefined) return fromZone(zone, name, type);
    }
    return reply('REFUSED');
  }

  #resolveOnce(name: string, type: string): DnsReply {
    const address = this.#addresses.get(name);
    if (address !== undefined && !this.#isDelegated(name)) {
      return type === 'A' ? reply('NOERROR', { answers: [addressRecord(name, address)] }) : noData(name);
    }
    const cut = this.#delegationOf(name);
    const zone = [...this.#registries.keys()].find((each) => isWithin(name, each));
    if (cut === undefined || (type === 'DS' && cut === name)) {
      return zone === undefined
        ? reply('NXDOMAIN', { authorities: [defaultSoa('.', '.')] })
        : this.#askRegistry(zone, name, type);
    }
    const hosts = this.#delegations.get(cut)?.hosts ?? [];
    const host = hosts.find((each) => this.#zones.get(each)?.has(cut));
    return host === undefined ? reply('SERVFAIL') : this.ask(host, name, type);
  }

  #askRegistry(zone: string, name: string, type: string, server?: string): DnsReply {
    const hosts = this.#registries.get(zone) ?? [];
    const soa = defaultSoa(zone, hosts[0] ?? zone);
    const deviations = server === undefined ? undefined : this.#deviations.get(server);
    const deviates = deviations?.has(name) === true;
    const cut = deviates ? name : this.#delegationOf(name);
    const delegation = deviates ? deviations.get(name) : this.#delegations.get(cut ?? '');
    if (cut !== undefined && delegation !== undefined && !(type === 'DS' && cut === name)) {
      return reply('NOERROR', {
        authorities: [
          ...delegation.hosts.map((each) => nsRecord(cut, each)),
          ...(delegation.ds.length > 0 ? delegation.ds : [unsignedRecord(cut)]),
        ],
        additionals: delegation.hosts.flatMap((each) => {
          const address = this.#addresses.get(each);
          return address === undefined ? [] : [addressRecord(each, address)];
        }),
      });
    }
    if (delegation !== undefined) {
      return reply('NOERROR', {
        authoritative: true,
        answers: delegation.ds,
        authorities: delegation.ds.length > 0 ? [] : [soa],
      });
    }
    return fromZone({ name: zone, records: [soa, ...hosts.map((host) => nsRecord(zone, host))] }, name, type);
  }

  #delegationOf(name: string): string | undefined {
    for (let cut = name; cut !== ''; cut = cut.slice(cut.indexOf('.') + 1 || cut.length))
      if (this.#delegations.has(cut)) return cut;
    return undefined;
  }

  #isDelegated(name: string): boolean {
    return this.#delegationOf(name) !== undefined;
  }

  #held(host: string): Map<string, Zone> {
    const held = this.#zones.get(host);
    if (held === undefined) throw new Error(`scripting the sandbox’s DNS: there is no nameserver ${host}`);
    return held;
  }
}

function fromZone(zone: Zone, name: string, type: string): DnsReply {
  const soa = zone.records.filter((record) => record.type === 'SOA' && record.name === zone.name);
  const own = zone.records.filter((record) => record.name === name);
  const alias = own.find((record) => record.type === 'CNAME');
  const answers = alias === undefined ? own.filter((record) => record.type === type) : [alias];
  const signatures = own.filter((record) => record.type === 'RRSIG' && record.data.typeCovered === type);
  if (answers.length > 0)
    return reply('NOERROR', { authoritative: true, answers: [...answers, ...signatures] });
  const exists = zone.records.some((record) => isWithin(record.name, name));
  return reply(exists ? 'NOERROR' : 'NXDOMAIN', { authoritative: true, authorities: soa });
}

function noData(name: string): DnsReply {
  return reply('NOERROR', { authorities: [defaultSoa(name, name)] });
}

/** A reply. It is empty by default. */
function reply(code: DnsReply['code'], rest: Partial<DnsReply> = {}): DnsReply {
  return { code, authoritative: false, answers: [], authorities: [], additionals: [], ...rest };
}
