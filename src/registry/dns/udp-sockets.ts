import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { DnsServer } from './servers.ts';

/** Whoever waits for the response to one question. */
export interface Listener {
  /** The question, with the id under which its response is expected. */
  readonly encode: (id: number) => Buffer;
  /** A packet from the server with this id. It may answer another question, or be no response at all. */
  readonly heard: (packet: Buffer, id: number) => void;
  /** The question could not be sent, or the server cannot be reached. */
  readonly failed: () => void;
}

/** Sockets for questions over UDP. */
export interface UdpSockets {
  /** Sends a question. @returns ends the wait for its response */
  ask(server: DnsServer, listener: Listener): () => void;
}

const IDS = 65_536;
/** After so many questions the next ones leave from another port. */
const QUESTIONS_PER_SOCKET = 64;

interface SharedSocket {
  readonly socket: Socket;
  readonly waiting: Map<number, Listener>;
  isConnected: boolean;
  asked: number;
}

/**
 * Questions of one moment to one server share a socket, because opening one costs more than asking. The kernel chooses a
 * random port for each socket, and each question has a random id, so that nobody can guess both (RFC 5452, 9.2). A socket
 * is closed as soon as nobody waits, and a connected socket receives from the server that it is connected to alone.
 */
export function createUdpSockets(): UdpSockets {
  const current = new Map<string, SharedSocket>();

  function open(server: DnsServer, key: string): SharedSocket {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    const shared: SharedSocket = { socket, waiting: new Map(), isConnected: false, asked: 0 };
    socket.on('message', (packet) => {
      if (packet.length < 2) return;
      const id = packet.readUInt16BE(0);
      shared.waiting.get(id)?.heard(packet, id);
    });
    socket.on('error', () => {
      retire(key, shared);
      for (const { failed } of [...shared.waiting.values()]) failed();
    });
    socket.on('connect', () => {
      shared.isConnected = true;
      for (const [id, listener] of shared.waiting) send(shared, id, listener);
    });
    socket.connect(server.port, server.address);
    current.set(key, shared);
    return shared;
  }

  function send({ socket }: SharedSocket, id: number, { encode, failed }: Listener): void {
    socket.send(encode(id), (error) => {
      if (error) failed();
    });
  }

  /** Takes no more questions; those that were asked are waited for. */
  function retire(key: string, shared: SharedSocket): void {
    if (current.get(key) === shared) current.delete(key);
  }

  return {
    ask(server, listener) {
      const key = `${server.address} ${server.port}`;
      const shared = current.get(key) ?? open(server, key);
      let id = randomInt(IDS);
      while (shared.waiting.has(id)) id = randomInt(IDS);
      shared.waiting.set(id, listener);
      shared.asked += 1;
      if (shared.asked >= QUESTIONS_PER_SOCKET) retire(key, shared);
      if (shared.isConnected) send(shared, id, listener);
      return () => {
        shared.waiting.delete(id);
        if (shared.waiting.size > 0) return;
        retire(key, shared);
        shared.socket.close();
      };
    },
  };
}
