import type { DnsFailure, NameserverAnswer } from '../registry/dns/client.ts';
import { type DsMatch, matchDs } from '../registry/dns/ds.ts';
import type { RecordData, RecordType } from '../registry/dns/records.ts';
import {
  createUnknownFact,
  type Fact,
  type FactName,
  type Facts,
  type FactValue,
  getFactValue,
  isSameValue,
} from './facts.ts';
import { findAddresses, lookUpUsageFacts, type QueryClient, toFact } from './observe.ts';

export interface NameserverCheck {
  readonly host: string;
  readonly state:
    | /** Answers authoritatively for the name. */ 'authoritative'
    | /** Answers, but doesn't know the name, so resolvers would get no data. */ 'not_authoritative'
    | 'no_answer'
    | 'no_address'
    | /** Can't be queried from the bot's network, or its address is unknown. */ 'unseen';
  /** Differences from the current DNS records. */
  readonly differences: readonly RecordDifference[];
  /** Facts that couldn't be compared. */
  readonly uncomparedFacts: readonly FactName[];
  /** Whether the server's keys match the DS records in the parent zone. */
  readonly ds: DsMatch | 'unsigned';
}

export interface RecordDifference {
  readonly fact: FactName;
  readonly now: FactValue;
  readonly onNewServer: FactValue;
}

const COMPARED_FACTS = ['a', 'aaaa', 'www_a', 'www_aaaa', 'mx', 'caa', 'spf', 'dmarc'] as const;
type ComparedFact = (typeof COMPARED_FACTS)[number];

const MAX_ADDRESSES = 2;
const MAX_ALIASES = 4;

export interface CheckedName {
  readonly name: string;
  readonly currentFacts: Facts | Promise<Facts>;
}

/**
 * Asks nameservers about a name before it is moved to them.
 * @throws only the signal's reason
 */
export async function checkNameservers(
  dns: QueryClient,
  checkedName: CheckedName,
  hosts: readonly string[],
  signal?: AbortSignal,
): Promise<NameserverCheck[]> {
  return Promise.all(hosts.map((host) => checkNameserver(dns, checkedName, host, signal)));
}

async function checkNameserver(
  dns: QueryClient,
  checkedName: CheckedName,
  host: string,
  signal: AbortSignal | undefined,
): Promise<NameserverCheck> {
  const result = await findAuthoritativeAddress(dns, checkedName.name, host, signal);
  if ('state' in result) {
    return {
      host,
      state: result.state,
      differences: [],
      uncomparedFacts: [...COMPARED_FACTS],
      ds: 'unknown',
    };
  }
  const queryHost = <Type extends RecordType>(name: string, type: Type) =>
    dns.queryNameserver(result.address, name, type, signal);
  const [records, ds] = await Promise.all([
    queryRecords(dns, queryHost, checkedName.name, signal),
    checkDs(dns, queryHost, checkedName.name, signal),
  ]);
  const currentFacts = await checkedName.currentFacts;
  const comparisons = COMPARED_FACTS.map((fact) => ({
    fact,
    now: getFactValue(currentFacts[fact]),
    onNewServer: getFactValue(records[fact]),
  }));
  return {
    host,
    state: 'authoritative',
    differences: comparisons.flatMap(({ fact, now, onNewServer }) =>
      now === undefined || onNewServer === undefined || isSameValue(fact, now, onNewServer)
        ? []
        : { fact, now, onNewServer },
    ),
    uncomparedFacts: comparisons.flatMap(({ fact, now, onNewServer }) =>
      now === undefined || onNewServer === undefined ? fact : [],
    ),
    ds,
  };
}

/**
 * Like {@link checkNameservers}, but doesn't compare records.
 * @throws only the signal's reason
 */
export async function checkServerAuthority(
  dns: QueryClient,
  name: string,
  host: string,
  signal: AbortSignal | undefined,
): Promise<Pick<NameserverCheck, 'host' | 'state' | 'ds'>> {
  const result = await findAuthoritativeAddress(dns, name, host, signal);
  if ('state' in result) return { host, state: result.state, ds: 'unknown' };
  const queryHost = <Type extends RecordType>(queryName: string, type: Type) =>
    dns.queryNameserver(result.address, queryName, type, signal);
  return { host, state: 'authoritative', ds: await checkDs(dns, queryHost, name, signal) };
}

type Query = <Type extends RecordType>(
  name: string,
  type: Type,
) => Promise<NameserverAnswer<RecordData[Type]>>;

/** Finds an address that answers authoritatively, or else the state of the host. */
async function findAuthoritativeAddress(
  dns: QueryClient,
  name: string,
  host: string,
  signal: AbortSignal | undefined,
): Promise<
  { readonly address: string } | { readonly state: Exclude<NameserverCheck['state'], 'authoritative'> }
> {
  const addresses = (await findAddresses(dns, [host], signal)).slice(0, MAX_ADDRESSES);
  if (addresses.length === 0) {
    const answers = await Promise.all([dns.query(host, 'A', signal), dns.query(host, 'AAAA', signal)]);
    const hasNoAddress = answers.every(({ kind }) => kind === 'no_data' || kind === 'no_such_name');
    return { state: hasNoAddress ? 'no_address' : 'unseen' };
  }
  let state: 'not_authoritative' | 'no_answer' | 'unseen' = 'no_answer';
  for (const address of addresses) {
    const answer = await dns.queryNameserver(address, name, 'SOA', signal);
    if (answer.kind === 'records' && answer.authoritative) return { address };
    if (answer.kind !== 'unanswered' || NEGATIVE_ANSWERS.has(answer.failure)) state = 'not_authoritative';
    else if (answer.failure === 'private_address') state = 'unseen';
  }
  return { state };
}

const NEGATIVE_ANSWERS: ReadonlySet<DnsFailure> = new Set(['refused', 'server_failure', 'unexpected_code']);

async function queryRecords(
  dns: QueryClient,
  queryHost: Query,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Record<ComparedFact, Fact>> {
  const lookUp = async <Type extends RecordType>(
    host: string,
    type: Type,
    toTexts: (records: readonly RecordData[Type][]) => readonly string[],
  ): Promise<Fact> => {
    let currentHost = host;
    for (let aliasCount = 0; aliasCount <= MAX_ALIASES; aliasCount += 1) {
      const isInZone = currentHost === name || currentHost.endsWith(`.${name}`);
      const answer = isInZone
        ? await queryHost(currentHost, type)
        : await dns.query(currentHost, type, signal);
      if (answer.kind === 'referral') return createUnknownFact('referral');
      if (answer.kind !== 'alias') return toFact(answer, toTexts);
      currentHost = answer.target;
    }
    return createUnknownFact('alias_loop');
  };
  return lookUpUsageFacts(name, lookUp);
}

/** Without a matching key, validating resolvers can't resolve the name. */
async function checkDs(
  dns: QueryClient,
  queryHost: Query,
  name: string,
  signal: AbortSignal | undefined,
): Promise<NameserverCheck['ds']> {
  const ds = await dns.query(name, 'DS', signal);
  if (ds.kind === 'unanswered') return 'unknown';
  if (ds.kind !== 'records') return 'unsigned';
  const answer = await queryHost(name, 'DNSKEY');
  if (answer.kind === 'unanswered' || answer.kind === 'referral') return 'unknown';
  const keys = answer.kind === 'records' ? answer.records : [];
  const matches = ds.records.map((record) => matchDs(name, record, keys));
  return (['match', 'unknown'] as const).find((match) => matches.includes(match)) ?? 'mismatch';
}
