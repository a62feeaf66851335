import { createHash } from 'node:crypto';
import type { DnsAnswer, DnsClient } from '../registry/dns/client.ts';
import { computeDsRecords, computeKeyTag } from '../registry/dns/ds.ts';
import type { ParentZones } from '../registry/dns/parent-zones.ts';
import type { DnskeyRecord, DsRecord, RecordData, RecordType } from '../registry/dns/records.ts';
import {
  ABSENT,
  createFact,
  createUnknownFact,
  type Fact,
  type Facts,
  getFactValue,
  NO_DS,
  type Observation,
} from './facts.ts';
import { toSignaturesFact } from './signatures.ts';

export interface DnsObserver {
  /**
   * @param includesDailyFacts whether to read certificates and signatures too
   * @throws only the signal's `reason`, if it is aborted
   */
  observe(name: string, signal?: AbortSignal, includesDailyFacts?: boolean): Promise<Observation>;
  /**
   * Reads the delegation from the parent zone.
   * @throws only the signal's `reason`, if it is aborted
   */
  observeParent(name: string, signal?: AbortSignal): Promise<Fact>;
}

const MAX_PARENT_SERVERS = 2;
const KEY_DIGEST_LENGTH = 16;

export type QueryClient = Pick<DnsClient, 'query' | 'queryNameserver'>;

export type CertificateReader = (
  name: string,
  addresses: readonly string[],
  signal: AbortSignal | undefined,
) => Promise<Fact>;

export function createDnsObserver(
  dns: DnsClient,
  parentZones: ParentZones,
  readCertificate: CertificateReader,
  now: () => Date,
): DnsObserver {
  let serverIndex = 0;

  return {
    async observe(name, signal, includesDailyFacts = true) {
      const at = now();
      const [records, parentNameservers] = await Promise.all([
        observeRecords(dns, name, signal),
        observeParent(name, signal),
      ]);
      const facts = { ...records, parent_nameservers: parentNameservers };
      if (!includesDailyFacts) return { name, at, facts };
      const [certificate, wwwCertificate, signatures] = await Promise.all([
        observeCertificate(name, records.a, records.aaaa, signal),
        observeCertificate(`www.${name}`, records.www_a, records.www_aaaa, signal),
        records.ds?.state === 'seen' ? observeSignatures(dns, name, at, signal) : undefined,
      ]);
      const dailyFacts = { certificate, www_certificate: wwwCertificate, ...(signatures && { signatures }) };
      return { name, at, facts: { ...facts, ...dailyFacts } };
    },
    observeParent,
  };

  function observeCertificate(
    host: string,
    a: Fact | undefined,
    aaaa: Fact | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Fact> | Fact {
    const addresses = [getFactValue(a), getFactValue(aaaa)].flatMap((value) => value ?? []);
    if (addresses.length > 0) return readCertificate(host, addresses, signal);
    return [a, aaaa].find((fact) => fact?.state === 'unseen') ?? ABSENT;
  }

  /** Asks the parent zone's servers, because a resolver returns the data of the name's own zone. */
  async function observeParent(name: string, signal: AbortSignal | undefined): Promise<Fact> {
    let fact = createUnknownFact('no_parent');
    const addresses = await parentZones.findServers(name, signal);
    serverIndex += 1;
    for (let offset = 0; offset < Math.min(MAX_PARENT_SERVERS, addresses.length); offset += 1) {
      const address = addresses[(serverIndex + offset) % addresses.length] ?? '';
      const answer = await dns.queryDelegation(address, name, 'nameservers', signal);
      if (answer.kind === 'delegated') return createFact(answer.nameservers);
      if (answer.kind === 'not_delegated') return ABSENT;
      fact = createUnknownFact(answer.failure);
    }
    return fact;
  }
}

async function observeSignatures(
  dns: DnsClient,
  name: string,
  at: Date,
  signal: AbortSignal | undefined,
): Promise<Fact> {
  const [keys, soa] = await Promise.all([
    dns.querySignatures(name, 'DNSKEY', signal),
    dns.querySignatures(name, 'SOA', signal),
  ]);
  if (typeof keys === 'string') return createUnknownFact(keys);
  if (typeof soa === 'string') return createUnknownFact(soa);
  return toSignaturesFact([keys, soa], at);
}

/** Prefers IPv4. Hosts without addresses are left out. */
export async function findAddresses(
  dns: QueryClient,
  hosts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const addresses = await Promise.all(
    hosts.map(async (host) => {
      const v4 = await dns.query(host, 'A', signal);
      if (v4.kind === 'records') return v4.records;
      const v6 = await dns.query(host, 'AAAA', signal);
      return v6.kind === 'records' ? v6.records : [];
    }),
  );
  return addresses.flat();
}

async function observeRecords(
  dns: QueryClient,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Facts> {
  const lookUp: RecordLookup = async (host, type, toTexts) =>
    toFact(await dns.query(host, type, signal), toTexts);
  const [soa, cname, wwwCname, impactFacts, dnskey] = await Promise.all([
    lookUp(name, 'SOA', (records) => records.map(({ primary, contact }) => `${primary} ${contact}`)),
    lookUp(name, 'CNAME', (records) => records),
    lookUp(`www.${name}`, 'CNAME', (records) => records),
    lookUpImpactFacts(name, lookUp),
    lookUp(name, 'DNSKEY', (records) => records.map(formatDnskey)),
  ]);
  const facts = { soa, cname, www_cname: wwwCname, ...impactFacts, dnskey };
  if (dnskey.state !== 'seen') return facts;
  const requestedDs = await Promise.all([
    lookUp(name, 'CDS', (records) => records.map(formatDs)),
    lookUp(name, 'CDNSKEY', (records) => records.flatMap((key) => listRequestedDs(name, key))),
  ]);
  const texts = requestedDs.flatMap((fact) => getFactValue(fact) ?? []);
  const unknownFact = requestedDs.find(({ state }) => state === 'unseen');
  return { ...facts, requested_ds: (texts.length === 0 && unknownFact) || createFact(texts) };
}

/** Algorithm 0 requests the removal of the DS records (RFC 8078, section 4). */
function listRequestedDs(name: string, key: DnskeyRecord): string[] {
  return key.algorithm === 0 ? [NO_DS] : computeDsRecords(name, key).map(formatDs);
}

async function lookUpImpactFacts(name: string, lookUp: RecordLookup): Promise<Facts> {
  const [nameservers, usage, ds] = await Promise.all([
    lookUp(name, 'NS', (records) => records),
    lookUpUsageFacts(name, lookUp),
    lookUp(name, 'DS', (records) => records.map(formatDs)),
  ]);
  return { nameservers, ...usage, ds };
}

/** Used while a person waits. Answers after the signal aborts count as missing. */
export function observeImpactFacts(dns: QueryClient, name: string, signal: AbortSignal): Promise<Facts> {
  return lookUpImpactFacts(name, async (host, type, toTexts) => {
    try {
      return toFact(await dns.query(host, type, signal), toTexts);
    } catch (error) {
      if (!signal.aborted) throw error;
      return createUnknownFact('timeout');
    }
  });
}

export type RecordLookup = <Type extends RecordType>(
  host: string,
  type: Type,
  toTexts: (records: readonly RecordData[Type][]) => readonly string[],
) => Promise<Fact>;

export async function lookUpUsageFacts(name: string, lookUp: RecordLookup) {
  const keepTexts = (records: readonly string[]) => records;
  const [a, aaaa, wwwA, wwwAaaa, mx, caa, spf, dmarc] = await Promise.all([
    lookUp(name, 'A', keepTexts),
    lookUp(name, 'AAAA', keepTexts),
    lookUp(`www.${name}`, 'A', keepTexts),
    lookUp(`www.${name}`, 'AAAA', keepTexts),
    lookUp(name, 'MX', formatMx),
    lookUp(name, 'CAA', formatCaa),
    lookUp(name, 'TXT', (records) => filterPolicies(records, 'v=spf1')),
    lookUp(`_dmarc.${name}`, 'TXT', (records) => filterPolicies(records, 'v=dmarc1')),
  ]);
  return { a, aaaa, www_a: wwwA, www_aaaa: wwwAaaa, mx, caa, spf, dmarc };
}

export function toFact<Data>(
  answer: DnsAnswer<Data>,
  toTexts: (records: readonly Data[]) => readonly string[],
): Fact {
  switch (answer.kind) {
    case 'records':
      return createFact(toTexts(answer.records));
    case 'no_data':
    case 'no_such_name':
      return ABSENT;
    case 'unanswered':
      return createUnknownFact(answer.failure);
  }
}

function formatMx(records: readonly RecordData['MX'][]): string[] {
  return records.map(({ preference, exchange }) => `${preference} ${exchange}`);
}

function formatCaa(records: readonly RecordData['CAA'][]): string[] {
  return records.map(({ critical, tag, value }) => `${critical ? 128 : 0} ${tag} ${value.trim()}`);
}

/** A host's TXT records can also serve other purposes. */
function filterPolicies(records: readonly string[], version: string): string[] {
  return records
    .map((record) => record.trim().replace(/\s+/g, ' '))
    .filter((record) => record.toLowerCase().startsWith(version));
}

export function formatDs({ keyTag, algorithm, digestType, digest }: DsRecord): string {
  return `${keyTag} ${algorithm} ${digestType} ${digest.toLowerCase()}`;
}

function formatDnskey(record: DnskeyRecord): string {
  const digest = createHash('sha256').update(record.key).digest('hex').slice(0, KEY_DIGEST_LENGTH);
  return `${record.flags} ${record.algorithm} ${computeKeyTag(record)} ${digest}`;
}
