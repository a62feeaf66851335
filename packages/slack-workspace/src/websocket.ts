/**
 * The server's half of RFC 6455, as far as Socket Mode needs it: text, ping, pong, close, no extensions.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

export interface WebSocketConnection {
  send(text: string): void;
  ping(): void;
  /** Starts the closing handshake. */
  close(): void;
  /** Cuts the connection without a word. */
  destroy(): void;
  onMessage(listener: (text: string) => void): void;
  onClose(listener: () => void): void;
}

/** Answers an upgrade request; undefined when it is not a WebSocket handshake (the socket is then closed). */
export function acceptWebSocket(request: IncomingMessage, socket: Duplex): WebSocketConnection | undefined {
  const key = request.headers['sec-websocket-key'];
  if (request.headers.upgrade?.toLowerCase() !== 'websocket' || typeof key !== 'string') {
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    return undefined;
  }
  const accept = createHash('sha1')
    .update(key + ACCEPT_SUFFIX)
    .digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  return connection(socket);
}

function connection(socket: Duplex): WebSocketConnection {
  const messageListeners: ((text: string) => void)[] = [];
  const closeListeners: (() => void)[] = [];
  let pending: Buffer = Buffer.alloc(0);
  let fragments: Buffer[] = [];
  let closed = false;
  const write = (opcode: number, payload: Buffer): void => {
    if (!socket.destroyed && socket.writable) socket.write(frame(opcode, payload));
  };
  const ended = (): void => {
    if (closed) return;
    closed = true;
    for (const listener of closeListeners) listener();
  };
  const handle = ({ opcode, fin, payload }: Frame): void => {
    if (opcode === OPCODE.ping) write(OPCODE.pong, payload);
    else if (opcode === OPCODE.close) {
      write(OPCODE.close, payload.subarray(0, 2));
      socket.end();
    } else if (opcode === OPCODE.text || opcode === OPCODE.continuation) {
      fragments.push(payload);
      if (!fin) return;
      const text = Buffer.concat(fragments).toString('utf8');
      fragments = [];
      for (const listener of messageListeners) listener(text);
    }
  };
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (let next = readFrame(pending); next; next = readFrame(pending)) {
      if (next === 'too large') {
        socket.destroy();
        return;
      }
      pending = pending.subarray(next.length);
      handle(next);
    }
  });
  socket.on('close', ended);
  socket.on('error', ended);
  return {
    send: (text) => write(OPCODE.text, Buffer.from(text)),
    ping: () => write(OPCODE.ping, Buffer.from('Ping from local workspace')),
    close: () => write(OPCODE.close, Buffer.from([0x03, 0xe8])),
    destroy: () => socket.destroy(),
    onMessage: (listener) => messageListeners.push(listener),
    onClose: (listener) => closeListeners.push(listener),
  };
}

function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header =
    length < 126
      ? Buffer.from([0x80 | opcode, length])
      : length < 65_536
        ? Buffer.from([0x80 | opcode, 126, length >> 8, length & 0xff])
        : Buffer.alloc(10);
  if (length >= 65_536) {
    header[0] = 0x80 | opcode;
    header[1] = 127;
    header.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([header, payload]);
}

interface Frame {
  opcode: number;
  fin: boolean;
  payload: Buffer;
  /** Bytes it took on the wire. */
  length: number;
}

function readFrame(data: Buffer): Frame | 'too large' | undefined {
  if (data.length < 2) return undefined;
  const first = data.readUInt8(0);
  const second = data.readUInt8(1);
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (data.length < 2 + lengthBytes) return undefined;
  const size =
    lengthBytes === 2 ? data.readUInt16BE(2) : lengthBytes === 8 ? Number(data.readBigUInt64BE(2)) : short;
  if (size > MAX_MESSAGE_BYTES) return 'too large';
  const masked = (second & 0x80) !== 0;
  const start = 2 + lengthBytes + (masked ? 4 : 0);
  if (data.length < start + size) return undefined;
  const payload = Buffer.from(data.subarray(start, start + size));
  if (masked) {
    const mask = data.subarray(start - 4, start);
    for (let index = 0; index < size; index += 1) {
      payload.writeUInt8(payload.readUInt8(index) ^ mask.readUInt8(index % 4), index);
    }
  }
  return { opcode: first & 0x0f, fin: (first & 0x80) !== 0, payload, length: start + size };
}
