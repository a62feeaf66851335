import type { Answer } from 'dns-packet';
import { type DnsResponse, type Question, RESPONSE_CODES } from './message.ts';
import {
  normalizeDnsName,
  type RecordData,
  type RecordType,
  readRecord,
  readSignature,
  type SignatureRecord,
} from './records.ts';
import { EXCHANGE_FAILURES, exchange } from './server-exchange.ts';
import { DNS_PORT, type DnsServer, isLoopback } from './servers.ts';
import { createUdpSockets, type UdpSockets } from './udp-sockets.ts';

/** Failures that leave open whether a record exists. */
export const DNS_FAILURES = [
  ...EXCHANGE_FAILURES,
  'server_failure',
  'refused',
  /** The server referred the client to other servers. */
  'referral',
  'alias_loop',
  'private_address',
  'no_servers',
  /** The name is too long or has characters that host names can't have. */
  'invalid_name',
  /** Any other response code. */
  'unexpected_code',
] as const;
export type DnsFailure = (typeof DNS_FAILURES)[number];

/** Only `no_data` and `no_such_name` mean that the record doesn't exist. */
export type DnsAnswer<Data> =
  /** Records of the name, or of its target if it is an alias. */
  | {
      readonly kind: 'records';
      readonly records: readonly Data[];
      readonly authoritative: boolean;
      readonly ttlSeconds: number;
    }
  /** `no_data`: the name exists but has no record of this type. */
  | { readonly kind: 'no_data' | 'no_such_name'; readonly authoritative: boolean }
  /** Whether the record exists is unknown. */
  | { readonly kind: 'unanswered'; readonly failure: DnsFailure };

interface Referral {
  readonly kind: 'referral';
  readonly nameservers: readonly string[];
}

export type NameserverAnswer<Data> =
  | DnsAnswer<Data>
  | Referral
  /** The nameserver returned an alias without the target's records. */
  | { readonly kind: 'alias'; readonly target: string; readonly authoritative: boolean };

/** The delegation of a name, according to a server of its parent zone. */
export type DelegationAnswer =
  | {
      readonly kind: 'delegated';
      readonly nameservers: readonly string[];
      /** Undefined if the response doesn't say whether there is a DS. */
      readonly ds: readonly RecordData['DS'][] | undefined;
    }
  | { readonly kind: 'not_delegated' }
  | { readonly kind: 'unanswered'; readonly failure: DnsFailure };

export interface DnsClientOptions {
  /** Resolvers, in the order in which they are asked. */
  readonly resolvers: readonly DnsServer[];
  /** Whether the client may connect to a nameserver's address, which comes from a public record. */
  readonly mayConnect: (address: string) => boolean;
  /** Per server. */
  readonly timeoutMs?: number;
  /** Maximum number of tries per server. A try may include a second query without EDNS. */
  readonly rounds?: number;
}

/** Throws only if the signal aborts. */
export interface DnsClient {
  /** Asks each resolver in turn until one answers. */
  query<Type extends RecordType>(
    name: string,
    type: Type,
    signal?: AbortSignal,
  ): Promise<DnsAnswer<RecordData[Type]>>;
  /** Returns the signatures of a name's records, whether valid or not. */
  querySignatures(
    name: string,
    type: RecordType,
    signal?: AbortSignal,
  ): Promise<readonly SignatureRecord[] | DnsFailure>;
  /** Asks one nameserver directly. Follows aliases within its response. */
  queryNameserver<Type extends RecordType>(
    address: string,
    name: string,
    type: Type,
    signal?: AbortSignal,
  ): Promise<NameserverAnswer<RecordData[Type]>>;
  /** Asks a server of the parent zone. Sends a second query if the response lacks the requested DS. */
  queryDelegation(
    address: string,
    name: string,
    records: 'nameservers' | 'nameservers and ds',
    signal?: AbortSignal,
  ): Promise<DelegationAnswer>;
}

const DEFAULT_TIMEOUT_MS = 2_000;
const DEFAULT_ROUNDS = 2;
const MAX_ALIASES = 8;
/** RFC 1035, section 2.3.4. */
const MAX_NAME_LENGTH = 253;
const LABEL = /^[a-z0-9_-]{1,63}$/;
/** Larger responses are rejected, because no name needs more records of one type. */
const MAX_RECORDS = 200;

interface DnsContext extends Required<DnsClientOptions> {
  readonly sockets: UdpSockets;
}

type Reply = { readonly response: DnsResponse } | { readonly failure: DnsFailure };

/** Creates a client without a cache. */
export function createDnsClient(options: DnsClientOptions): DnsClient {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, rounds = DEFAULT_ROUNDS } = options;
  const context: DnsContext = { ...options, timeoutMs, rounds, sockets: createUdpSockets() };
  return {
    async query(name, type, signal) {
      let currentName = normalizeDnsName(name);
      const seenNames = new Set<string>();
      while (seenNames.size <= MAX_ALIASES && !seenNames.has(currentName)) {
        if (!isValidName(currentName)) return { kind: 'unanswered', failure: 'invalid_name' };
        seenNames.add(currentName);
        const question = { name: currentName, type, recursive: true, dnssec: false };
        const reply = await queryServersInTurn(context, context.resolvers, question, signal);
        if ('failure' in reply) return { kind: 'unanswered', failure: reply.failure };
        const answer = readAnswer(reply.response, currentName, type, seenNames);
        if (answer.kind === 'referral') return { kind: 'unanswered', failure: 'referral' };
        if (answer.kind !== 'alias') return answer;
        currentName = answer.target;
      }
      return { kind: 'unanswered', failure: 'alias_loop' };
    },
    async querySignatures(name, type, signal) {
      const question = { name: normalizeDnsName(name), type, recursive: true, dnssec: true };
      if (!isValidName(question.name)) return 'invalid_name';
      const reply = await queryServersInTurn(context, context.resolvers, question, signal);
      if ('failure' in reply) return reply.failure;
      const ownRecords = reply.response.answers.filter((record) => isRecordFor(record, question.name));
      const signatures = ownRecords.flatMap((record) => readSignature(type, record) ?? []);
      return signatures.length > MAX_RECORDS ? 'too_large' : signatures;
    },
    async queryNameserver(address, name, type, signal) {
      const question = { name: normalizeDnsName(name), type, dnssec: false };
      const reply = await queryAddress(context, address, question, signal);
      if ('failure' in reply) return { kind: 'unanswered', failure: reply.failure };
      return readAnswer(reply.response, normalizeDnsName(name), type, new Set());
    },
    async queryDelegation(address, name, records, signal) {
      const dnssec = records === 'nameservers and ds';
      const question = { name: normalizeDnsName(name), type: 'NS', dnssec } as const;
      const reply = await queryAddress(context, address, question, signal);
      if ('failure' in reply) return { kind: 'unanswered', failure: reply.failure };
      const delegation = readDelegation(reply.response, normalizeDnsName(name));
      if (!dnssec || delegation.kind !== 'delegated' || delegation.ds !== undefined) return delegation;
      const dsReply = await queryAddress(
        context,
        address,
        { ...question, type: 'DS', dnssec: false },
        signal,
      );
      const ds = 'failure' in dsReply ? undefined : readDs(dsReply.response, normalizeDnsName(name));
      return { ...delegation, ds };
    },
  };
}

async function queryAddress(
  context: DnsContext,
  address: string,
  question: Omit<Question, 'recursive'>,
  signal: AbortSignal | undefined,
): Promise<Reply> {
  if (!isValidName(question.name)) return { failure: 'invalid_name' };
  if (!context.mayConnect(address)) return { failure: 'private_address' };
  const server = { address, port: findNameserverPort(address, context.resolvers) };
  return queryServersInTurn(context, [server], { ...question, recursive: false }, signal);
}

async function queryServersInTurn(
  context: DnsContext,
  servers: readonly DnsServer[],
  question: Question,
  signal: AbortSignal | undefined,
): Promise<Reply> {
  let failure: DnsFailure = 'no_servers';
  for (let round = 0; round < context.rounds; round += 1) {
    for (const server of servers) {
      const reply = await exchangeWithEdnsFallback(context, server, question, signal);
      if ('response' in reply) return reply;
      failure = reply.failure;
    }
  }
  return { failure };
}

async function exchangeWithEdnsFallback(
  { timeoutMs, sockets }: DnsContext,
  server: DnsServer,
  question: Question,
  signal: AbortSignal | undefined,
): Promise<Reply> {
  signal?.throwIfAborted();
  let result = await exchange(server, question, { timeoutMs, shouldUseEdns: true, signal, sockets });
  if (result.ok && mightLackEdns(result.response)) {
    result = await exchange(server, question, { timeoutMs, shouldUseEdns: false, signal, sockets });
  }
  if (!result.ok) return { failure: result.failure };
  const failure = toFailure(result.response.rcode);
  return failure === undefined ? { response: result.response } : { failure };
}

/** Whether the server might not support EDNS (RFC 6891, section 7). */
function mightLackEdns({ rcode, isErrorWithoutQuestion }: DnsResponse): boolean {
  switch (rcode) {
    case RESPONSE_CODES.formatError:
    case RESPONSE_CODES.notImplemented:
    case RESPONSE_CODES.badVersion:
      return true;
    default:
      return isErrorWithoutQuestion;
  }
}

/** Names from public records may contain any characters. */
function isValidName(name: string): boolean {
  const labels = name.split('.');
  return name.length <= MAX_NAME_LENGTH && labels.every((label) => LABEL.test(label));
}

/** Returns 53, except in a sandbox, where nameservers have the address and port of a configured resolver. */
function findNameserverPort(address: string, servers: readonly DnsServer[]): number {
  const configured = servers.find(
    (server) => server.address === address || (isLoopback(server.address) && isLoopback(address)),
  );
  return configured?.port ?? DNS_PORT;
}

function toFailure(rcode: number): DnsFailure | undefined {
  switch (rcode) {
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

/** Follows aliases within the response. Ignores records of other names. */
function readAnswer<Type extends RecordType>(
  response: DnsResponse,
  name: string,
  type: Type,
  seenNames: Set<string>,
): NameserverAnswer<RecordData[Type]> {
  const { authoritative, answers } = response;
  let currentName = name;
  for (let aliasCount = 0; aliasCount <= MAX_ALIASES; aliasCount += 1) {
    const ownRecords = answers.filter((record) => isRecordFor(record, currentName));
    const records = ownRecords.flatMap((record) => readRecord(type, record) ?? []);
    if (records.length > MAX_RECORDS) return { kind: 'unanswered', failure: 'too_large' };
    if (records.length > 0)
      return { kind: 'records', records, authoritative, ttlSeconds: getLowestTtl(ownRecords) };
    const [target] = ownRecords.flatMap((record) =>
      record.type === 'CNAME' ? normalizeDnsName(record.data) : [],
    );
    if (target === undefined) break;
    if (currentName !== name) seenNames.add(currentName);
    if (seenNames.has(target)) return { kind: 'unanswered', failure: 'alias_loop' };
    currentName = target;
  }
  if (response.rcode === RESPONSE_CODES.noSuchName) return { kind: 'no_such_name', authoritative };
  if (currentName !== name) return { kind: 'alias', target: currentName, authoritative };
  return readReferral(response) ?? { kind: 'no_data', authoritative };
}

/** A referral lists nameservers and isn't from the zone itself (RFC 2308, section 2.2). */
function readReferral({ authoritative, authorities }: DnsResponse): Referral | undefined {
  const hasSoa = authorities.some((record) => record.type === 'SOA');
  const nameservers = authorities.flatMap((record) => readRecord('NS', record) ?? []);
  if (authoritative || hasSoa || nameservers.length === 0) return undefined;
  return { kind: 'referral', nameservers };
}

/** Ignores records of other names and of parent zones. */
function readDelegation(response: DnsResponse, name: string): DelegationAnswer {
  const { authoritative, answers, authorities } = response;
  const ownRecords = [...answers, ...authorities].filter((record) => isRecordFor(record, name));
  const nameservers = ownRecords.flatMap((record) => readRecord('NS', record) ?? []);
  const ds = ownRecords.flatMap((record) => readRecord('DS', record) ?? []);
  if (nameservers.length > MAX_RECORDS || ds.length > MAX_RECORDS)
    return { kind: 'unanswered', failure: 'too_large' };
  if (nameservers.length > 0) {
    const isDsDenied = authorities.some(({ type }) => type === 'NSEC' || type === 'NSEC3');
    return { kind: 'delegated', nameservers, ds: ds.length > 0 || isDsDenied ? ds : undefined };
  }
  // Only an authoritative response proves that there is no delegation.
  return authoritative ? { kind: 'not_delegated' } : { kind: 'unanswered', failure: 'referral' };
}

function readDs(response: DnsResponse, name: string): readonly RecordData['DS'][] | undefined {
  const answer = readAnswer(response, name, 'DS', new Set());
  if (answer.kind === 'records') return answer.records;
  return (answer.kind === 'no_data' || answer.kind === 'no_such_name') && answer.authoritative
    ? []
    : undefined;
}

function getLowestTtl(records: readonly Answer[]): number {
  return Math.min(...records.flatMap((record) => ('ttl' in record ? (record.ttl ?? 0) : [])));
}

function isRecordFor(record: Answer, name: string): boolean {
  return 'class' in record && record.class === 'IN' && normalizeDnsName(record.name) === name;
}
