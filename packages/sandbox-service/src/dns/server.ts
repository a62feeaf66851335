import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import {
  AUTHORITATIVE_ANSWER,
  type DecodedPacket,
  decode,
  encode,
  RECURSION_AVAILABLE,
  TRUNCATED_RESPONSE,
} from 'dns-packet';
import { createSeededRandom, type Rudeness } from '../rude.ts';
import { type DnsFault, DnsFaults, type RecordedQuestion } from './faults.ts';
import { type DnsReply, DnsWorld } from './world.ts';
import type { SandboxRecord } from './zone.ts';

export interface SandboxDnsOptions {
  /** Default: 0, for any free port. */
  readonly port?: number;
  readonly registries?: readonly string[];
  /** Number of nameservers per registry, called `a.nic.ZONE` and so on. Default: 1. */
  readonly serversPerRegistry?: number;
  /**
   * Seeds a mode in which half of the nameservers, except those of registries, don't support EDNS and send only a
   * header when they refuse a query.
   */
  readonly rude?: number | undefined;
}

/** A resolver, the registries' nameservers, and scripted nameservers. */
export interface SandboxDns {
  /** The resolver in the format of `DNS_SERVERS`: `127.0.0.1:PORT`. */
  readonly resolver: string;
  /** The port of all servers. Each server has its own address in 127.0.0.0/8, which Linux provides without setup. */
  readonly port: number;
  readonly world: DnsWorld;
  readonly faults: DnsFaults;
  readonly rude: Rudeness;
  /** Oldest first. */
  readonly questions: readonly RecordedQuestion[];
  /**
   * Empties {@link SandboxDns.questions}, for runs with millions of questions.
   * @returns the number of questions removed
   */
  clearQuestions(): number;
  /**
   * Starts a nameserver.
   * @returns its address
   */
  addNameserver(host: string): Promise<string>;
  close(): Promise<void>;
}

interface Endpoint {
  readonly udp: UdpSocket;
  readonly tcp: Server;
  readonly connections: Set<Socket>;
}

const RCODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const MAX_PLAIN_UDP_BYTES = 512;
const HUGE_RECORD_COUNT = 2_000;
const FIRST_LETTER_CODE = 97;
const MAX_PORT_ATTEMPTS = 20;

export async function startSandboxDns(options: SandboxDnsOptions = {}): Promise<SandboxDns> {
  const world = new DnsWorld();
  const faults = new DnsFaults();
  const questions: RecordedQuestion[] = [];
  const endpoints: Endpoint[] = [];
  const context: DnsContext = { world, faults, questions, rudeness: { seed: options.rude } };
  const port = await listenOnUdpAndTcp(context, 'resolver', '127.0.0.1', options.port ?? 0, endpoints);
  let lastAddressByte = 9;

  async function addNameserver(host: string): Promise<string> {
    const existing = world.getAddress(host);
    if (existing !== undefined) return existing;
    lastAddressByte += 1;
    const address = `127.0.0.${lastAddressByte}`;
    world.addHost(host, address);
    await listenOnUdpAndTcp(context, host, address, port, endpoints);
    return address;
  }

  for (const zone of options.registries ?? ['rest', 'example']) {
    for (let serverIndex = 0; serverIndex < (options.serversPerRegistry ?? 1); serverIndex += 1) {
      const host = `${String.fromCharCode(FIRST_LETTER_CODE + serverIndex)}.nic.${zone}`;
      await addNameserver(host);
      world.addRegistry(zone, host);
    }
  }
  return {
    resolver: `127.0.0.1:${port}`,
    port,
    world,
    faults,
    rude: context.rudeness,
    questions,
    clearQuestions: () => questions.splice(0).length,
    addNameserver,
    close: async () => {
      await Promise.all(endpoints.map(closeEndpoint));
    },
  };
}

interface DnsContext {
  readonly world: DnsWorld;
  readonly faults: DnsFaults;
  readonly questions: RecordedQuestion[];
  readonly rudeness: Rudeness;
}

/** Uses the same port for UDP and TCP. If the port is free for UDP but not for TCP, tries another one. */
async function listenOnUdpAndTcp(
  context: DnsContext,
  server: string,
  address: string,
  port: number,
  endpoints: Endpoint[],
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const udp = createSocket('udp4');
    await new Promise<void>((resolve, reject) => {
      udp.once('error', reject);
      udp.bind(port, address, resolve);
    });
    const connections = new Set<Socket>();
    const tcp = createServer((socket) => {
      connections.add(socket);
      socket.on('close', () => connections.delete(socket));
      serveTcp(context, server, socket);
    });
    const boundPort = udp.address().port;
    try {
      await new Promise<void>((resolve, reject) => {
        tcp.once('error', reject);
        tcp.listen(boundPort, address, resolve);
      });
    } catch (error) {
      udp.close();
      if (port !== 0 || attempt === MAX_PORT_ATTEMPTS) throw error;
      continue;
    }
    udp.on('message', (message, from) => serveUdp(context, server, udp, message, from));
    endpoints.push({ udp, tcp, connections });
    return boundPort;
  }
}

async function closeEndpoint({ udp, tcp, connections }: Endpoint): Promise<void> {
  for (const socket of connections) socket.destroy();
  await Promise.all([
    new Promise<void>((resolve) => udp.close(resolve)),
    new Promise<void>((resolve) => tcp.close(() => resolve())),
  ]);
}

function serveUdp(
  context: DnsContext,
  server: string,
  udp: UdpSocket,
  message: Buffer,
  from: RemoteInfo,
): void {
  const query = decodeQuery(message);
  if (query === undefined) return;
  const question = recordQuestion(context, server, 'udp', query, from.port);
  const fault = context.faults.take(question);
  const correctPacket = encodeAnswer(context, question, query);
  const maxUdpBytes = question.udpPayloadSize ?? MAX_PLAIN_UDP_BYTES;
  const send = (packet: Buffer) => udp.send(packet, from.port, from.address);
  const udpPacket = correctPacket.length <= maxUdpBytes ? correctPacket : encodeTruncated(query);
  if (fault?.kind === 'wrong_source') {
    const otherSocket = createSocket('udp4');
    otherSocket.bind(0, '127.0.0.1', () => {
      otherSocket.send(encodeForgedAnswer(question, query), from.port, from.address, () => {
        otherSocket.close();
        if (fault.correctResponseFollows) send(udpPacket);
      });
    });
    return;
  }
  for (const packet of buildPackets(context, fault, question, query, udpPacket)) send(packet);
}

function serveTcp(context: DnsContext, server: string, socket: Socket): void {
  let receivedBytes = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    receivedBytes = Buffer.concat([receivedBytes, chunk]);
    if (receivedBytes.length < 2 || receivedBytes.length < receivedBytes.readUInt16BE(0) + 2) return;
    const query = decodeQuery(receivedBytes.subarray(2));
    if (query === undefined) {
      socket.destroy();
      return;
    }
    const question = recordQuestion(context, server, 'tcp', query, socket.remotePort ?? 0);
    const fault = context.faults.take(question);
    const correctPacket = encodeAnswer(context, question, query);
    for (const packet of buildPackets(context, fault, question, query, correctPacket)) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(packet.length);
      if (fault?.kind === 'cut') {
        socket.end(Buffer.concat([length, packet.subarray(0, packet.length / 2)]));
        return;
      }
      // Sent in two parts, because a long message may also arrive in parts over a network.
      socket.write(length);
      socket.write(packet);
    }
  });
}

function decodeQuery(message: Buffer): DecodedPacket | undefined {
  try {
    return decode(message);
  } catch {
    return undefined;
  }
}

function recordQuestion(
  context: DnsContext,
  server: string,
  transport: 'udp' | 'tcp',
  query: DecodedPacket,
  clientPort: number,
): RecordedQuestion {
  const [firstQuestion] = query.questions ?? [];
  const edns = query.additionals?.find((entry) => entry.type === 'OPT');
  const question = {
    server,
    transport,
    id: query.id ?? 0,
    name: firstQuestion?.name.toLowerCase() ?? '',
    type: firstQuestion?.type ?? '',
    recursionDesired: query.flag_rd,
    isDnssecRequested: edns?.flag_do === true,
    udpPayloadSize: edns?.udpPayloadSize,
    clientPort,
  };
  context.questions.push(question);
  return question;
}

function buildPackets(
  context: DnsContext,
  fault: DnsFault | undefined,
  question: RecordedQuestion,
  query: DecodedPacket,
  correctPacket: Buffer,
): Buffer[] {
  const followingPackets = fault?.correctResponseFollows ? [correctPacket] : [];
  switch (fault?.kind) {
    case undefined:
      return [applyRudeness(context, question, correctPacket)];
    case 'cut':
    case 'wrong_source':
      return [correctPacket];
    case 'silence':
      return [];
    case 'servfail':
      return [encodeReply(query, question, { ...EMPTY_REPLY, code: 'SERVFAIL' })];
    case 'refused':
      return [encodeReply(query, question, { ...EMPTY_REPLY, code: 'REFUSED' })];
    case 'wrong_id': {
      const forgedPacket = encodeForgedAnswer(question, query);
      forgedPacket.writeUInt16BE((question.id + 1) % 65_536, 0);
      return [forgedPacket, ...followingPackets];
    }
    case 'wrong_question': {
      const otherQuery = { ...query, questions: [{ name: 'other.example', type: 'A' as const }] };
      return [encodeForgedAnswer(question, otherQuery), ...followingPackets];
    }
    case 'not_authoritative':
      return [encodeReply(query, question, { ...findReply(context, question), authoritative: false })];
    case 'truncate':
      return question.transport === 'udp' ? [encodeTruncated(query)] : [correctPacket];
    case 'garbage':
      return [Buffer.concat([correctPacket.subarray(0, 12), Buffer.from([0xff, 0xff, 0xff])])];
    case 'upper_case': {
      const questions = (query.questions ?? []).map((entry) => ({
        ...entry,
        name: entry.name.toUpperCase(),
      }));
      const { answers, ...rest } = findReply(context, question);
      const upperCaseAnswers = answers.map((entry) => ({ ...entry, name: entry.name.toUpperCase() }));
      return [encodeReply({ ...query, questions }, question, { ...rest, answers: upperCaseAnswers })];
    }
    case 'no_dnssec':
      return [encodeReply(query, question, findReply(context, { ...question, isDnssecRequested: false }))];
    case 'no_edns':
      return [
        question.udpPayloadSize === undefined
          ? correctPacket
          : encodeReply(query, question, { ...EMPTY_REPLY, code: 'FORMERR' }),
      ];
    case 'huge':
      return [
        encodeReply(query, question, { ...EMPTY_REPLY, answers: createManyAddressRecords(question.name) }),
      ];
  }
}

/** Half of the nameservers don't support EDNS, and don't repeat the question when they refuse. */
function applyRudeness(
  { rudeness: { seed } }: DnsContext,
  question: RecordedQuestion,
  correctPacket: Buffer,
): Buffer {
  const { server, id } = question;
  const isAlwaysPolite = server === 'resolver' || server.includes('.nic.');
  if (isAlwaysPolite || seed === undefined || createSeededRandom(seed, server)() >= 0.5) return correctPacket;
  if (question.udpPayloadSize !== undefined) return encodeHeader(id, RCODES.FORMERR);
  const rcode = correctPacket.readUInt8(3) & 0x0f;
  return rcode === RCODES.REFUSED ? encodeHeader(id, rcode) : correctPacket;
}

function encodeHeader(id: number, rcode: number): Buffer {
  return encode({ type: 'response', id, flags: rcode });
}

const EMPTY_REPLY: DnsReply = {
  code: 'NOERROR',
  authoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
};

function createManyAddressRecords(name: string): SandboxRecord[] {
  return Array.from({ length: HUGE_RECORD_COUNT }, (_, index) => ({
    name,
    type: 'A' as const,
    class: 'IN' as const,
    ttl: 60,
    data: `198.51.${Math.floor(index / 250)}.${index % 250}`,
  }));
}

function findReply(
  context: DnsContext,
  { server, name, type, isDnssecRequested }: RecordedQuestion,
): DnsReply {
  const reply =
    server === 'resolver'
      ? context.world.resolve(name, type)
      : context.world.queryNameserver(server, name, type);
  if (isDnssecRequested) return reply;
  // Proofs and signatures are included only if the query asks for them.
  const isProof = (record: SandboxRecord) => record.type === 'DS' || record.type === 'NSEC';
  const answers = reply.answers.filter((record) => record.type === type || record.type !== 'RRSIG');
  return { ...reply, answers, authorities: reply.authorities.filter((record) => !isProof(record)) };
}

function encodeAnswer(context: DnsContext, question: RecordedQuestion, query: DecodedPacket): Buffer {
  return encodeReply(query, question, findReply(context, question));
}

/** Encodes an answer that a client might trust, because only its address is wrong. */
function encodeForgedAnswer(question: RecordedQuestion, query: DecodedPacket): Buffer {
  const data = '203.0.113.66';
  const answers = [{ name: question.name, type: 'A' as const, class: 'IN' as const, ttl: 60, data }];
  return encodeReply(query, question, { ...EMPTY_REPLY, authoritative: true, answers });
}

function encodeReply(query: DecodedPacket, { server }: RecordedQuestion, reply: DnsReply): Buffer {
  return encode({
    type: 'response',
    id: query.id ?? 0,
    flags:
      RCODES[reply.code] |
      (reply.authoritative ? AUTHORITATIVE_ANSWER : 0) |
      (server === 'resolver' ? RECURSION_AVAILABLE : 0),
    questions: query.questions ?? [],
    answers: [...reply.answers],
    authorities: [...reply.authorities],
    additionals: [...reply.additionals],
  });
}

function encodeTruncated(query: DecodedPacket): Buffer {
  return encode({
    type: 'response',
    id: query.id ?? 0,
    flags: TRUNCATED_RESPONSE,
    questions: query.questions ?? [],
  });
}
