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
import { numbersOf, type Rudeness } from '../rude.ts';
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
   * Seed for a mode in which half of the nameservers, except those of registries, don't support EDNS and refuse with
   * only a header.
   */
  readonly rude?: number | undefined;
}

/** A running DNS: a resolver, the registries' nameservers, and scripted nameservers. */
export interface SandboxDns {
  /** The resolver in the format of `DNS_SERVERS`: `127.0.0.1:PORT`. */
  readonly resolver: string;
  /** The port of all servers. Each has its own address in 127.0.0.0/8, which Linux has by default. */
  readonly port: number;
  readonly world: DnsWorld;
  readonly faults: DnsFaults;
  readonly rude: Rudeness;
  /** Oldest first. */
  readonly questions: readonly RecordedQuestion[];
  /**
   * Empties {@link SandboxDns.questions}, for runs with millions of questions.
   * @returns how many there were
   */
  forgetQuestions(): number;
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
const PLAIN_UDP_BYTES = 512;
const HUGE_RECORDS = 2_000;
const FIRST_LETTER = 97;
const ATTEMPTS_FOR_A_PORT = 20;

/** Starts a DNS on the loopback interface, over UDP and TCP. */
export async function startSandboxDns(options: SandboxDnsOptions = {}): Promise<SandboxDns> {
  const world = new DnsWorld();
  const faults = new DnsFaults();
  const questions: RecordedQuestion[] = [];
  const endpoints: Endpoint[] = [];
  const context: DnsContext = { world, faults, questions, rude: { seed: options.rude } };
  const port = await listenAtBoth(context, 'resolver', '127.0.0.1', options.port ?? 0, endpoints);
  let lastByte = 9;

  async function addNameserver(host: string): Promise<string> {
    const known = world.addressOf(host);
    if (known !== undefined) return known;
    lastByte += 1;
    const address = `127.0.0.${lastByte}`;
    world.addHost(host, address);
    await listenAtBoth(context, host, address, port, endpoints);
    return address;
  }

  for (const zone of options.registries ?? ['rest', 'example']) {
    for (let n = 0; n < (options.serversPerRegistry ?? 1); n += 1) {
      const host = `${String.fromCharCode(FIRST_LETTER + n)}.nic.${zone}`;
      await addNameserver(host);
      world.addRegistry(zone, host);
    }
  }
  return {
    resolver: `127.0.0.1:${port}`,
    port,
    world,
    faults,
    rude: context.rude,
    questions,
    forgetQuestions: () => questions.splice(0).length,
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
  readonly rude: Rudeness;
}

/** Listens on the same port over UDP and TCP. If the port is free for UDP but not for TCP, tries another one. */
async function listenAtBoth(
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
    const taken = udp.address().port;
    try {
      await new Promise<void>((resolve, reject) => {
        tcp.once('error', reject);
        tcp.listen(taken, address, resolve);
      });
    } catch (error) {
      udp.close();
      if (port !== 0 || attempt === ATTEMPTS_FOR_A_PORT) throw error;
      continue;
    }
    udp.on('message', (message, from) => serveUdp(context, server, udp, message, from));
    endpoints.push({ udp, tcp, connections });
    return taken;
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
  const query = read(message);
  if (query === undefined) return;
  const question = record(context, server, 'udp', query, from.port);
  const fault = context.faults.strike(question);
  const right = answer(context, question, query);
  const limit = question.udpPayloadSize ?? PLAIN_UDP_BYTES;
  const send = (packet: Buffer) => udp.send(packet, from.port, from.address);
  const fitting = right.length <= limit ? right : truncated(query);
  if (fault?.kind === 'wrong_source') {
    const stranger = createSocket('udp4');
    stranger.bind(0, '127.0.0.1', () => {
      stranger.send(answer(context, question, query, 'forged'), from.port, from.address, () => {
        stranger.close();
        if (fault.thenRight) send(fitting);
      });
    });
    return;
  }
  for (const packet of spoiled(context, fault, question, query, fitting)) send(packet);
}

function serveTcp(context: DnsContext, server: string, socket: Socket): void {
  let received = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (received.length < 2 || received.length < received.readUInt16BE(0) + 2) return;
    const query = read(received.subarray(2));
    if (query === undefined) {
      socket.destroy();
      return;
    }
    const question = record(context, server, 'tcp', query, socket.remotePort ?? 0);
    const fault = context.faults.strike(question);
    const right = answer(context, question, query);
    for (const packet of spoiled(context, fault, question, query, right)) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(packet.length);
      if (fault?.kind === 'cut') {
        socket.end(Buffer.concat([length, packet.subarray(0, packet.length / 2)]));
        return;
      }
      // In two parts, as long messages arrive over a network.
      socket.write(length);
      socket.write(packet);
    }
  });
}

function read(message: Buffer): DecodedPacket | undefined {
  try {
    return decode(message);
  } catch {
    return undefined;
  }
}

function record(
  context: DnsContext,
  server: string,
  transport: 'udp' | 'tcp',
  query: DecodedPacket,
  fromPort: number,
): RecordedQuestion {
  const [asked] = query.questions ?? [];
  const edns = query.additionals?.find((each) => each.type === 'OPT');
  const question = {
    server,
    transport,
    id: query.id ?? 0,
    name: asked?.name.toLowerCase() ?? '',
    type: asked?.type ?? '',
    recursionDesired: query.flag_rd,
    dnssec: edns?.flag_do === true,
    udpPayloadSize: edns?.udpPayloadSize,
    fromPort,
  };
  context.questions.push(question);
  return question;
}

/** The packets to send instead of the correct one. */
function spoiled(
  context: DnsContext,
  fault: DnsFault | undefined,
  question: RecordedQuestion,
  query: DecodedPacket,
  right: Buffer,
): Buffer[] {
  const then = fault?.thenRight ? [right] : [];
  switch (fault?.kind) {
    case undefined:
      return [rudelyAnswered(context, question, right)];
    case 'cut':
    case 'wrong_source':
      return [right];
    case 'silence':
      return [];
    case 'servfail':
      return [packetOf(query, question, { ...EMPTY, code: 'SERVFAIL' })];
    case 'refused':
      return [packetOf(query, question, { ...EMPTY, code: 'REFUSED' })];
    case 'wrong_id': {
      const forged = answer(context, question, query, 'forged');
      forged.writeUInt16BE((question.id + 1) % 65_536, 0);
      return [forged, ...then];
    }
    case 'wrong_question': {
      const other = { ...query, questions: [{ name: 'other.example', type: 'A' as const }] };
      return [answer(context, question, other, 'forged'), ...then];
    }
    case 'not_authoritative':
      return [packetOf(query, question, { ...replyTo(context, question), authoritative: false })];
    case 'truncate':
      return question.transport === 'udp' ? [truncated(query)] : [right];
    case 'garbage':
      return [Buffer.concat([right.subarray(0, 12), Buffer.from([0xff, 0xff, 0xff])])];
    case 'other_case': {
      const questions = (query.questions ?? []).map((each) => ({ ...each, name: each.name.toUpperCase() }));
      const { answers, ...rest } = replyTo(context, question);
      const shouted = answers.map((each) => ({ ...each, name: each.name.toUpperCase() }));
      return [packetOf({ ...query, questions }, question, { ...rest, answers: shouted })];
    }
    case 'no_dnssec':
      return [packetOf(query, question, replyTo(context, { ...question, dnssec: false }))];
    case 'no_edns':
      return [
        question.udpPayloadSize === undefined
          ? right
          : packetOf(query, question, { ...EMPTY, code: 'FORMERR' }),
      ];
    case 'huge':
      return [packetOf(query, question, { ...EMPTY, answers: manyAddresses(question.name) })];
  }
}

/** A server in this mode doesn't support EDNS, and refuses without repeating the question. */
function rudelyAnswered({ rude: { seed } }: DnsContext, question: RecordedQuestion, right: Buffer): Buffer {
  const { server, id } = question;
  const isPolite = server === 'resolver' || server.includes('.nic.');
  if (isPolite || seed === undefined || numbersOf(seed, server)() >= 0.5) return right;
  if (question.udpPayloadSize !== undefined) return headerOf(id, RCODES.FORMERR);
  const code = right.readUInt8(3) & 0x0f;
  return code === RCODES.REFUSED ? headerOf(id, code) : right;
}

/** A response of only twelve bytes, which doesn't repeat the question. */
function headerOf(id: number, code: number): Buffer {
  return encode({ type: 'response', id, flags: code });
}

const EMPTY: DnsReply = {
  code: 'NOERROR',
  authoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
};

function manyAddresses(name: string): SandboxRecord[] {
  return Array.from({ length: HUGE_RECORDS }, (_, n) => ({
    name,
    type: 'A' as const,
    class: 'IN' as const,
    ttl: 60,
    data: `198.51.${Math.floor(n / 250)}.${n % 250}`,
  }));
}

function replyTo(context: DnsContext, { server, name, type, dnssec }: RecordedQuestion): DnsReply {
  const reply =
    server === 'resolver' ? context.world.resolve(name, type) : context.world.ask(server, name, type);
  if (dnssec) return reply;
  // Proofs and signatures are included only if the query asks for them.
  const isProof = (record: SandboxRecord) => record.type === 'DS' || record.type === 'NSEC';
  const answers = reply.answers.filter((record) => record.type === type || record.type !== 'RRSIG');
  return { ...reply, answers, authorities: reply.authorities.filter((record) => !isProof(record)) };
}

/** @param forged everything is correct except the data, which must not be trusted */
function answer(
  context: DnsContext,
  question: RecordedQuestion,
  query: DecodedPacket,
  forged?: 'forged',
): Buffer {
  if (forged === undefined) return packetOf(query, question, replyTo(context, question));
  const data = '203.0.113.66';
  const answers = [{ name: question.name, type: 'A' as const, class: 'IN' as const, ttl: 60, data }];
  return packetOf(query, question, { ...EMPTY, authoritative: true, answers });
}

function packetOf(query: DecodedPacket, { server }: RecordedQuestion, reply: DnsReply): Buffer {
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

function truncated(query: DecodedPacket): Buffer {
  return encode({
    type: 'response',
    id: query.id ?? 0,
    flags: TRUNCATED_RESPONSE,
    questions: query.questions ?? [],
  });
}
