import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { type DnsResponse, encodeQuery, parseDnsResponse, type Question } from './message.ts';
import type { DnsServer } from './servers.ts';
import type { UdpSockets } from './udp-sockets.ts';

export const EXCHANGE_FAILURES = ['timeout', 'unreachable', 'malformed', 'too_large'] as const;
export type ExchangeFailure = (typeof EXCHANGE_FAILURES)[number];

export type ExchangeResult =
  | { readonly ok: true; readonly response: DnsResponse }
  | { readonly ok: false; readonly failure: ExchangeFailure };

export interface ExchangeOptions {
  readonly timeoutMs: number;
  readonly shouldUseEdns: boolean;
  readonly signal: AbortSignal | undefined;
  readonly sockets: UdpSockets;
}

const MAX_RESPONSE_BYTES = 32_768;
const ID_COUNT = 65_536;

/**
 * Uses UDP, then TCP if the response doesn't fit. Accepts only a response with the right sender, port, id and
 * question, and ignores other packets.
 * @throws the signal's reason when aborted
 */
export async function exchange(
  server: DnsServer,
  question: Question,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  const udpResult = await exchangeUdp(server, question, options);
  return udpResult.ok && udpResult.response.truncated ? exchangeTcp(server, question, options) : udpResult;
}

function exchangeUdp(
  server: DnsServer,
  question: Question,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  return runExchange(options, (settle) =>
    options.sockets.ask(server, {
      encode: (id) => encodeQuery(id, question, options.shouldUseEdns),
      onPacket: (packet, id) => {
        const parsedPacket = parseDnsResponse(packet, id, question);
        if (parsedPacket.kind === 'response') settle({ ok: true, response: parsedPacket.response });
        if (parsedPacket.kind === 'malformed') settle({ ok: false, failure: 'malformed' });
      },
      onFailure: () => settle({ ok: false, failure: 'unreachable' }),
    }),
  );
}

function exchangeTcp(
  server: DnsServer,
  question: Question,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  return runExchange(options, (settle) => {
    const socket = connect({ host: server.address, port: server.port });
    const id = randomInt(ID_COUNT);
    let receivedBytes = Buffer.alloc(0);
    socket.on('connect', () => {
      const packet = encodeQuery(id, question, options.shouldUseEdns);
      const lengthPrefix = Buffer.alloc(2);
      lengthPrefix.writeUInt16BE(packet.length);
      socket.write(Buffer.concat([lengthPrefix, packet]));
    });
    socket.on('data', (chunk: Buffer) => {
      receivedBytes = Buffer.concat([receivedBytes, chunk]);
      if (receivedBytes.length < 2) return;
      const length = receivedBytes.readUInt16BE(0);
      if (length > MAX_RESPONSE_BYTES) return settle({ ok: false, failure: 'too_large' });
      if (receivedBytes.length < length + 2) return;
      // Nobody else can write to this connection, so a wrong response is the server's fault.
      const parsedPacket = parseDnsResponse(receivedBytes.subarray(2, length + 2), id, question);
      settle(
        parsedPacket.kind === 'response'
          ? { ok: true, response: parsedPacket.response }
          : { ok: false, failure: 'malformed' },
      );
    });
    socket.on('error', () => settle({ ok: false, failure: 'unreachable' }));
    socket.on('close', () => settle({ ok: false, failure: 'malformed' }));
    return () => socket.destroy();
  });
}

/**
 * Runs an exchange until it is settled, times out or is aborted.
 * @param start begins the exchange and returns its cleanup function
 */
function runExchange(
  { timeoutMs, signal }: ExchangeOptions,
  start: (settle: (result: ExchangeResult) => void) => () => void,
): Promise<ExchangeResult> {
  return new Promise<ExchangeResult>((resolve, reject) => {
    let isSettled = false;
    let cleanUp: (() => void) | undefined;
    const end = (finish: () => void) => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      cleanUp?.();
      finish();
    };
    const settle = (result: ExchangeResult) => end(() => resolve(result));
    const abort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(() => settle({ ok: false, failure: 'timeout' }), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    else cleanUp = start(settle);
  });
}
