import {
  createAddressRecord,
  createDefaultSignatures,
  createDefaultSoa,
  createMissingDsProof,
  createNsRecord,
  isWithin,
  parseRecord,
  type SandboxRecord,
  type SandboxRecordType,
} from './zone.ts';

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

/** The scripted content of the DNS: the delegations of names, and the zones on each nameserver. */
export class DnsWorld {
  readonly #addresses = new Map<string, string>();
  readonly #zones = new Map<string, Map<string, Zone>>();
  readonly #delegations = new Map<string, Delegation>();
  readonly #registries = new Map<string, readonly string[]>();
  /** Delegations that differ on a single nameserver of a registry, keyed by its host name and then by name. */
  readonly #deviations = new Map<string, Map<string, Delegation | undefined>>();

  addHost(host: string, address: string): void {
    this.#addresses.set(host, address);
    this.#zones.set(host, new Map());
  }

  getAddress(host: string): string | undefined {
    return this.#addresses.get(host);
  }

  addRegistry(zone: string, host: string): void {
    this.#registries.set(zone, [...(this.#registries.get(zone) ?? []), host]);
  }

  /**
   * Puts a zone on nameservers, replacing its previous version there.
   * @param lines records for {@link parseRecord}; SOA and NS, and RRSIG if there is a DNSKEY, are added if missing
   */
  serve(zone: string, hosts: readonly string[], lines: readonly string[]): void {
    const parsedRecords = lines.map((line) => parseRecord(zone, line));
    const hasApexRecord = (type: SandboxRecordType) =>
      parsedRecords.some((record) => record.type === type && record.name === zone);
    const records = [
      ...parsedRecords,
      ...(hasApexRecord('SOA') ? [] : [createDefaultSoa(zone, hosts[0] ?? zone)]),
      ...(hasApexRecord('DNSKEY') && !hasApexRecord('RRSIG') ? createDefaultSignatures(zone) : []),
      ...(hasApexRecord('NS') ? [] : hosts.map((host) => createNsRecord(zone, host))),
    ];
    for (const host of hosts) this.#getZones(host).set(zone, { name: zone, records });
  }

  /** Removes a zone from nameservers, which then refuse queries for it. */
  drop(zone: string, hosts: readonly string[]): void {
    for (const host of hosts) this.#getZones(host).delete(zone);
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

  /** Undoes {@link delegateAt}, so that all nameservers of a registry are consistent again. */
  clearDeviations(): void {
    this.#deviations.clear();
  }

  /** Replies like a resolver, which follows delegations and aliases. */
  resolve(name: string, type: string): DnsReply {
    const answers: SandboxRecord[] = [];
    let currentName = name;
    for (let aliasCount = 0; aliasCount < MAX_ALIASES; aliasCount += 1) {
      const reply = this.#resolveOnce(currentName, type);
      answers.push(...reply.answers);
      const alias = reply.answers.find((record) => record.type === 'CNAME');
      if (type === 'CNAME' || alias === undefined) return { ...reply, authoritative: false, answers };
      currentName = String(alias.data).toLowerCase();
    }
    return createReply('SERVFAIL');
  }

  /** Replies like a nameserver, from its own zones. */
  queryNameserver(host: string, name: string, type: string): DnsReply {
    for (const [zone, hosts] of this.#registries) {
      if (hosts.includes(host) && isWithin(name, zone))
        return this.#replyFromRegistry(zone, name, type, host);
    }
    const zones = this.#zones.get(host);
    for (let cut = name; cut !== ''; cut = cut.slice(cut.indexOf('.') + 1 || cut.length)) {
      const zone = zones?.get(cut);
      if (zone !== undefined) return replyFromZone(zone, name, type);
    }
    return createReply('REFUSED');
  }

  #resolveOnce(name: string, type: string): DnsReply {
    const address = this.#addresses.get(name);
    if (address !== undefined && !this.#isDelegated(name)) {
      return type === 'A'
        ? createReply('NOERROR', { answers: [createAddressRecord(name, address)] })
        : createNoDataReply(name);
    }
    const cut = this.#findZoneCut(name);
    const zone = [...this.#registries.keys()].find((registry) => isWithin(name, registry));
    if (cut === undefined || (type === 'DS' && cut === name)) {
      return zone === undefined
        ? createReply('NXDOMAIN', { authorities: [createDefaultSoa('.', '.')] })
        : this.#replyFromRegistry(zone, name, type);
    }
    const hosts = this.#delegations.get(cut)?.hosts ?? [];
    const host = hosts.find((candidate) => this.#zones.get(candidate)?.has(cut));
    return host === undefined ? createReply('SERVFAIL') : this.queryNameserver(host, name, type);
  }

  #replyFromRegistry(zone: string, name: string, type: string, server?: string): DnsReply {
    const hosts = this.#registries.get(zone) ?? [];
    const soa = createDefaultSoa(zone, hosts[0] ?? zone);
    const deviations = server === undefined ? undefined : this.#deviations.get(server);
    const isDeviating = deviations?.has(name) === true;
    const cut = isDeviating ? name : this.#findZoneCut(name);
    const delegation = isDeviating ? deviations.get(name) : this.#delegations.get(cut ?? '');
    if (cut !== undefined && delegation !== undefined && !(type === 'DS' && cut === name)) {
      return createReply('NOERROR', {
        authorities: [
          ...delegation.hosts.map((host) => createNsRecord(cut, host)),
          ...(delegation.ds.length > 0 ? delegation.ds : [createMissingDsProof(cut)]),
        ],
        additionals: delegation.hosts.flatMap((host) => {
          const address = this.#addresses.get(host);
          return address === undefined ? [] : [createAddressRecord(host, address)];
        }),
      });
    }
    if (delegation !== undefined) {
      return createReply('NOERROR', {
        authoritative: true,
        answers: delegation.ds,
        authorities: delegation.ds.length > 0 ? [] : [soa],
      });
    }
    return replyFromZone(
      { name: zone, records: [soa, ...hosts.map((host) => createNsRecord(zone, host))] },
      name,
      type,
    );
  }

  #findZoneCut(name: string): string | undefined {
    for (let cut = name; cut !== ''; cut = cut.slice(cut.indexOf('.') + 1 || cut.length))
      if (this.#delegations.has(cut)) return cut;
    return undefined;
  }

  #isDelegated(name: string): boolean {
    return this.#findZoneCut(name) !== undefined;
  }

  #getZones(host: string): Map<string, Zone> {
    const zones = this.#zones.get(host);
    if (zones === undefined) throw new Error(`sandbox DNS: unknown nameserver ${host}`);
    return zones;
  }
}

function replyFromZone(zone: Zone, name: string, type: string): DnsReply {
  const soaRecords = zone.records.filter((record) => record.type === 'SOA' && record.name === zone.name);
  const recordsOfName = zone.records.filter((record) => record.name === name);
  const alias = recordsOfName.find((record) => record.type === 'CNAME');
  const answers = alias === undefined ? recordsOfName.filter((record) => record.type === type) : [alias];
  const signatures = recordsOfName.filter(
    (record) => record.type === 'RRSIG' && record.data.typeCovered === type,
  );
  if (answers.length > 0)
    return createReply('NOERROR', { authoritative: true, answers: [...answers, ...signatures] });
  const nameExists = zone.records.some((record) => isWithin(record.name, name));
  return createReply(nameExists ? 'NOERROR' : 'NXDOMAIN', { authoritative: true, authorities: soaRecords });
}

function createNoDataReply(name: string): DnsReply {
  return createReply('NOERROR', { authorities: [createDefaultSoa(name, name)] });
}

function createReply(code: DnsReply['code'], otherFields: Partial<DnsReply> = {}): DnsReply {
  return { code, authoritative: false, answers: [], authorities: [], additionals: [], ...otherFields };
}
