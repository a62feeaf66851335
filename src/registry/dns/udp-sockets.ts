import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { DnsServer } from './servers.ts';

/** Encodes one question and handles its response. */
export interface QuestionListener {
  /** @param id the id that the response must have */
  readonly encode: (id: number) => Buffer;
  /** Called for each packet from the server with this id. The packet may not be the response. */
  readonly onPacket: (packet: Buffer, id: number) => void;
  /** Called if the question couldn't be sent or the server is unreachable. */
  readonly onFailure: () => void;
}

export interface UdpSockets {
  /** @returns a function that cancels the question */
  ask(server: DnsServer, listener: QuestionListener): () => void;
}

const ID_COUNT = 65_536;
const MAX_QUERIES_PER_SOCKET = 64;

interface SharedSocket {
  readonly socket: Socket;
  readonly pendingListeners: Map<number, QuestionListener>;
  isConnected: boolean;
  queryCount: number;
}

/**
 * Concurrent questions to a server share a socket, because opening one is slow. Port and id are random (RFC
 * 5452, section 9.2). Sockets are connected, so they receive only from their server. A socket is closed when
 * it has no pending questions.
 */
export function createUdpSockets(): UdpSockets {
  const openSockets = new Map<string, SharedSocket>();

  function open(server: DnsServer, key: string): SharedSocket {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    const shared: SharedSocket = { socket, pendingListeners: new Map(), isConnected: false, queryCount: 0 };
    socket.on('message', (packet) => {
      if (packet.length < 2) return;
      const id = packet.readUInt16BE(0);
      shared.pendingListeners.get(id)?.onPacket(packet, id);
    });
    socket.on('error', () => {
      retire(key, shared);
      for (const { onFailure } of [...shared.pendingListeners.values()]) onFailure();
    });
    socket.on('connect', () => {
      shared.isConnected = true;
      for (const [id, listener] of shared.pendingListeners) send(shared, id, listener);
    });
    socket.connect(server.port, server.address);
    openSockets.set(key, shared);
    return shared;
  }

  function send({ socket }: SharedSocket, id: number, { encode, onFailure }: QuestionListener): void {
    socket.send(encode(id), (error) => {
      if (error) onFailure();
    });
  }

  /** Pending questions continue, but the socket gets no new ones. */
  function retire(key: string, shared: SharedSocket): void {
    if (openSockets.get(key) === shared) openSockets.delete(key);
  }

  return {
    ask(server, listener) {
      const key = `${server.address} ${server.port}`;
      const shared = openSockets.get(key) ?? open(server, key);
      let id = randomInt(ID_COUNT);
      while (shared.pendingListeners.has(id)) id = randomInt(ID_COUNT);
      shared.pendingListeners.set(id, listener);
      shared.queryCount += 1;
      if (shared.queryCount >= MAX_QUERIES_PER_SOCKET) retire(key, shared);
      if (shared.isConnected) send(shared, id, listener);
      return () => {
        shared.pendingListeners.delete(id);
        if (shared.pendingListeners.size > 0) return;
        retire(key, shared);
        shared.socket.close();
      };
    },
  };
}
