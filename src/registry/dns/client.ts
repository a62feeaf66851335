import type { Answer } from 'dns-packet';
import { type Question, RESPONSE_CODES, type Response } from './message.ts';
import { dnsName, type RecordData, type RecordType, readRecord } from './records.ts';
import { EXCHANGE_FAILURES, exchange } from './server-exchange.ts';
import { DNS_PORT, type DnsServer, isLoopback } from './servers.ts';
import { createUdpSockets } from './udp-sockets.ts';

/** Why a question got no answer. It says nothing about the name. */
export const DNS_FAILURES = [
  ...EXCHANGE_FAILURES,
  /** The server could not find out (SERVFAIL). */
  'server_failure',
  /** The server does not answer such questions (REFUSED). */
  'refused',
  /** The server named other servers in place of an answer. */
  'referral',
  'alias_loop',
  'private_address',
  'no_servers',
  /** The name is too long to be asked for, or has characters that no host name has. */
  'invalid_name',
  /** Any other code of the server. */
  'unexpected_code',
] as const;
export type DnsFailure = (typeof DNS_FAILURES)[number];

/** What the DNS says about a name. Only `no_data` and `no_such_name` say that something is not there. */
export type DnsAnswer<Data> =
  /** Records of the name that was asked for, or of what it is an alias of. */
  | {
      readonly kind: 'records';
      readonly records: readonly Data[];
      readonly authoritative: boolean;
      /** How long they may be kept, in seconds. */
      readonly ttl: number;
    }
  /** The name is there and has no such record; or there is no such name. */
  | { readonly kind: 'no_data' | 'no_such_name'; readonly authoritative: boolean }
  /** Nobody knows whether there is a record. */
  | { readonly kind: 'unanswered'; readonly failure: DnsFailure };

/** A nameserver says that others are responsible. */
interface Referral {
  readonly kind: 'referral';
  readonly nameServers: readonly string[];
}

/** What one nameserver says of itself. */
export type NameserverAnswer<Data> =
  | DnsAnswer<Data>
  | Referral
  /** The name is an alias of another one, whose records the nameserver did not give. */
  | { readonly kind: 'alias'; readonly target: string; readonly authoritative: boolean };

/** What a server of the zone above says of the delegation of a name. */
export type DelegationAnswer =
  | {
      readonly kind: 'delegated';
      readonly nameServers: readonly string[];
      /** Undefined where the server did not tell. */
      readonly ds: readonly RecordData['DS'][] | undefined;
    }
  | { readonly kind: 'not_delegated' }
  | { readonly kind: 'unanswered'; readonly failure: DnsFailure };

/** Settings of a {@link DnsClient}. */
export interface DnsClientOptions {
  /** Resolvers, in the order in which they are asked. */
  readonly servers: readonly DnsServer[];
  /** Whether a nameserver that a public record names may be asked at this address. */
  readonly mayConnect: (address: string) => boolean;
  /** How long one server may take to answer, in milliseconds. */
  readonly timeoutMs?: number;
  /** How often each server is asked before the question stays unanswered. */
  readonly rounds?: number;
}

/** Asks the DNS. It throws nothing but the signal's reason. */
export interface DnsClient {
  /** Asks the resolvers, one after the other until one answers. */
  query<Type extends RecordType>(
    name: string,
    type: Type,
    signal?: AbortSignal,
  ): Promise<DnsAnswer<RecordData[Type]>>;
  /** Asks one nameserver for what it knows itself. Aliases are followed as far as it tells. */
  queryNameserver<Type extends RecordType>(
    address: string,
    name: string,
    type: Type,
    signal?: AbortSignal,
  ): Promise<NameserverAnswer<RecordData[Type]>>;
  /**
   * Asks a server of the zone above for the delegation of a name: one question, where the server tells the DS with it.
   * @param wants without the DS, no further question is asked for it
   */
  queryDelegation(
    address: string,
    name: string,
    wants: 'nameservers' | 'nameservers and ds',
    signal?: AbortSignal,
  ): Promise<DelegationAnswer>;
}

const DEFAULT_TIMEOUT_MS = 2_000;
const DEFAULT_ROUNDS = 2;
const MAX_ALIASES = 8;
/** RFC 1035, 2.3.4. */
const MAX_NAME = 253;
const LABEL = /^[a-z0-9_-]{1,63}$/;
/** No name needs more records of one type; an answer with more is not used. */
const MAX_RECORDS = 200;

/** Makes a client. It remembers nothing of what it was answered. */
export function createDnsClient(options: DnsClientOptions): DnsClient {
  const { servers, mayConnect, timeoutMs = DEFAULT_TIMEOUT_MS, rounds = DEFAULT_ROUNDS } = options;

  const sockets = createUdpSockets();

  return {
    async query(name, type, signal) {
      let current = dnsName(name);
      const seen = new Set<string>();
      while (seen.size <= MAX_ALIASES && !seen.has(current)) {
        if (!isAskable(current)) return { kind: 'unanswered', failure: 'invalid_name' };
        seen.add(current);
        const question = { name: current, type, recursive: true, dnssec: false };
        const asked = await askInTurn(question, servers, signal);
        if ('failure' in asked) return { kind: 'unanswered', failure: asked.failure };
        const read = readAnswer(asked.response, current, type, seen);
        if (read.kind === 'referral') return { kind: 'unanswered', failure: 'referral' };
        if (read.kind !== 'alias') return read;
        current = read.target;
      }
      return { kind: 'unanswered', failure: 'alias_loop' };
    },
    async queryNameserver(address, name, type, signal) {
      const asked = await askNameserver(address, { name: dnsName(name), type, dnssec: false }, signal);
      if ('failure' in asked) return { kind: 'unanswered', failure: asked.failure };
      return readAnswer(asked.response, dnsName(name), type, new Set());
    },
    async queryDelegation(address, name, wants, signal) {
      const dnssec = wants === 'nameservers and ds';
      const asked = await askNameserver(address, { name: dnsName(name), type: 'NS', dnssec }, signal);
      if ('failure' in asked) return { kind: 'unanswered', failure: asked.failure };
      const read = readDelegation(asked.response, dnsName(name));
      if (!dnssec || read.kind !== 'delegated' || read.ds !== undefined) return read;
      const ds = await askNameserver(address, { name: dnsName(name), type: 'DS', dnssec: false }, signal);
      return { ...read, ds: 'failure' in ds ? undefined : readDs(ds.response, dnsName(name)) };
    },
  };

  async function askNameserver(
    address: string,
    question: Omit<Question, 'recursive'>,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly response: Response } | { readonly failure: DnsFailure }> {
    if (!isAskable(question.name)) return { failure: 'invalid_name' };
    if (!mayConnect(address)) return { failure: 'private_address' };
    const server = { address, port: nameserverPort(address, servers) };
    return askInTurn({ ...question, recursive: false }, [server], signal);
  }

  async function askInTurn(
    question: Question,
    asked: readonly DnsServer[],
    signal: AbortSignal | undefined,
  ): Promise<{ readonly response: Response } | { readonly failure: DnsFailure }> {
    let failure: DnsFailure = 'no_servers';
    for (let round = 0; round < rounds; round += 1) {
      for (const server of asked) {
        const result = await ask(server, question, signal);
        if ('response' in result) return result;
        failure = result.failure;
      }
    }
    return { failure };
  }

  async function ask(server: DnsServer, question: Question, signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    let result = await exchange(server, question, { timeoutMs, edns: true, signal, sockets });
    if (result.ok && mayLackEdns(result.response)) {
      result = await exchange(server, question, { timeoutMs, edns: false, signal, sockets });
    }
    if (!result.ok) return { failure: result.failure };
    const failure = failureOf(result.response.code);
    return failure === undefined ? { response: result.response } : { failure };
  }
}

/** Whether a response to a question with EDNS may come from a server that doesn't know it (RFC 6891, section 7). */
function mayLackEdns({ code, isBareError }: Response): boolean {
  switch (code) {
    case RESPONSE_CODES.formatError:
    case RESPONSE_CODES.notImplemented:
    case RESPONSE_CODES.badVersion:
      return true;
    default:
      return isBareError;
  }
}

/** Aliases and hosts come from records of others, where a label may hold anything. */
function isAskable(name: string): boolean {
  const labels = name.split('.');
  return name.length <= MAX_NAME && labels.every((label) => LABEL.test(label));
}

/**
 * Nameservers listen on port 53. Those of a sandbox run on one machine with its resolver, on the port that the operator
 * set for the resolver.
 */
function nameserverPort(address: string, servers: readonly DnsServer[]): number {
  const beside = servers.find(
    (server) => server.address === address || (isLoopback(server.address) && isLoopback(address)),
  );
  return beside?.port ?? DNS_PORT;
}

function failureOf(code: number): DnsFailure | undefined {
  switch (code) {
    case RESPONSE_CODES.ok:
    case RESPONSE_CODES.noSuchName:
      return undefined;
    case RESPONSE_CODES.serverFailure:
      return 'server_failure';
    case RESPONSE_CODES.refused:
      return 'refused';
    default:
      return 'unexpected_code';
  }
}

/**
 * Reads the records of one name and of its aliases. Whatever else a response holds is ignored, because nobody asked for
 * it.
 */
function readAnswer<Type extends RecordType>(
  response: Response,
  name: string,
  type: Type,
  seen: Set<string>,
): NameserverAnswer<RecordData[Type]> {
  const { authoritative, answers } = response;
  let current = name;
  for (let aliases = 0; aliases <= MAX_ALIASES; aliases += 1) {
    const own = answers.filter((record) => isOf(record, current));
    const records = own.flatMap((record) => readRecord(type, record) ?? []);
    if (records.length > MAX_RECORDS) return { kind: 'unanswered', failure: 'too_large' };
    if (records.length > 0) return { kind: 'records', records, authoritative, ttl: ttlOf(own) };
    const target = own.flatMap((record) => (record.type === 'CNAME' ? dnsName(record.data) : []))[0];
    if (target === undefined) break;
    if (current !== name) seen.add(current);
    if (seen.has(target)) return { kind: 'unanswered', failure: 'alias_loop' };
    current = target;
  }
  if (response.code === RESPONSE_CODES.noSuchName) return { kind: 'no_such_name', authoritative };
  if (current !== name) return { kind: 'alias', target: current, authoritative };
  return readReferral(response) ?? { kind: 'no_data', authoritative };
}

/** A response without an answer that names other servers and is none of the zone itself (RFC 2308, 2.2). */
function readReferral({ authoritative, authorities }: Response): Referral | undefined {
  const hasSoa = authorities.some((record) => record.type === 'SOA');
  const nameServers = authorities.flatMap((record) => readRecord('NS', record) ?? []);
  if (authoritative || hasSoa || nameServers.length === 0) return undefined;
  return { kind: 'referral', nameServers };
}

/**
 * Reads what a server of the zone above answers. Only records of the name itself count: servers of other names, or of a
 * zone further up, say nothing about it.
 */
function readDelegation(response: Response, name: string): DelegationAnswer {
  const { authoritative, answers, authorities } = response;
  const own = [...answers, ...authorities].filter((record) => isOf(record, name));
  const nameServers = own.flatMap((record) => readRecord('NS', record) ?? []);
  const ds = own.flatMap((record) => readRecord('DS', record) ?? []);
  if (nameServers.length > MAX_RECORDS || ds.length > MAX_RECORDS)
    return { kind: 'unanswered', failure: 'too_large' };
  if (nameServers.length > 0) {
    const isDsDenied = authorities.some(({ type }) => type === 'NSEC' || type === 'NSEC3');
    return { kind: 'delegated', nameServers, ds: ds.length > 0 || isDsDenied ? ds : undefined };
  }
  // There is no delegation only where the zone says so with its own authority.
  return authoritative ? { kind: 'not_delegated' } : { kind: 'unanswered', failure: 'referral' };
}

/** The DS of a name as its parent zone has it; undefined where the answer is not the zone's own. */
function readDs(response: Response, name: string): readonly RecordData['DS'][] | undefined {
  const read = readAnswer(response, name, 'DS', new Set());
  if (read.kind === 'records') return read.records;
  return (read.kind === 'no_data' || read.kind === 'no_such_name') && read.authoritative ? [] : undefined;
}

/** The shortest of the records' times. */
function ttlOf(records: readonly Answer[]): number {
  return Math.min(...records.flatMap((record) => ('ttl' in record ? (record.ttl ?? 0) : [])));
}

function isOf(record: Answer, name: string): boolean {
  return 'class' in record && record.class === 'IN' && dnsName(record.name) === name;
}
