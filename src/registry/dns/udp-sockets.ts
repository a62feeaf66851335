import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { DnsServer } from './servers.ts';

/** Encodes one question and handles its response. */
export interface PendingQuestion {
  /** @param id the id that the response must have */
  readonly encode: (id: number) => Buffer;
  /** Called for each packet from the server with this id, even if it isn't the response. */
  readonly onPacket: (packet: Buffer, id: number) => void;
  /** Called if the question couldn't be sent or the server is unreachable. */
  readonly onFailure: () => void;
}

export interface UdpSockets {
  /** @returns a function that cancels the question */
  ask(server: DnsServer, question: PendingQuestion): () => void;
}

const ID_COUNT = 65_536;
const MAX_QUESTIONS_PER_SOCKET = 64;

interface SharedSocket {
  readonly socket: Socket;
  readonly pendingQuestions: Map<number, PendingQuestion>;
  isConnected: boolean;
  questionCount: number;
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
    const sharedSocket: SharedSocket = {
      socket,
      pendingQuestions: new Map(),
      isConnected: false,
      questionCount: 0,
    };
    socket.on('message', (packet) => {
      if (packet.length < 2) return;
      const id = packet.readUInt16BE(0);
      sharedSocket.pendingQuestions.get(id)?.onPacket(packet, id);
    });
    socket.on('error', () => {
      retire(key, sharedSocket);
      for (const { onFailure } of [...sharedSocket.pendingQuestions.values()]) onFailure();
    });
    socket.on('connect', () => {
      sharedSocket.isConnected = true;
      for (const [id, question] of sharedSocket.pendingQuestions) send(sharedSocket, id, question);
    });
    socket.connect(server.port, server.address);
    openSockets.set(key, sharedSocket);
    return sharedSocket;
  }

  function send({ socket }: SharedSocket, id: number, { encode, onFailure }: PendingQuestion): void {
    socket.send(encode(id), (error) => {
      if (error) onFailure();
    });
  }

  /** Pending questions continue, but the socket gets no new ones. */
  function retire(key: string, sharedSocket: SharedSocket): void {
    if (openSockets.get(key) === sharedSocket) openSockets.delete(key);
  }

  return {
    ask(server, question) {
      const key = `${server.address} ${server.port}`;
      const sharedSocket = openSockets.get(key) ?? open(server, key);
      let id = randomInt(ID_COUNT);
      while (sharedSocket.pendingQuestions.has(id)) id = randomInt(ID_COUNT);
      sharedSocket.pendingQuestions.set(id, question);
      sharedSocket.questionCount += 1;
      if (sharedSocket.questionCount >= MAX_QUESTIONS_PER_SOCKET) retire(key, sharedSocket);
      if (sharedSocket.isConnected) send(sharedSocket, id, question);
      return () => {
        sharedSocket.pendingQuestions.delete(id);
        if (sharedSocket.pendingQuestions.size > 0) return;
        retire(key, sharedSocket);
        sharedSocket.socket.close();
      };
    },
  };
}
