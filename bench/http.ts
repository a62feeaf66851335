import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/*
 * The part of HTTP/1.1 (RFC 9112) that the bot's peers in the bench need, because Node's own server takes more CPU
 * time, which they share with the bot. Anything else is refused. Messages are read as text with one character per byte
 * (`latin1`), so lengths are numbers of bytes.
 */

const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length:[ \t]*(\d+)/i;
const TRANSFER_ENCODING = /\r\ntransfer-encoding:/i;
const EXPECT = /\r\nexpect:/i;
const CLOSE = /\r\nconnection:[ \t]*close/i;
const REQUEST_LINE = /^(?:GET|POST|PUT|DELETE) (\/\S*) HTTP\/1\.1\r\n/;

// The headers of Node's server, so that parsing them costs the same. Clients end idle connections.
const RESPONSE_START = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ';
const DATE = `\r\nDate: ${new Date().toUTCString()}`;
const KEEP_ALIVE_END = `${DATE}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5${HEAD_END}`;
const CLOSE_END = `${DATE}\r\nConnection: close${HEAD_END}`;

export interface HttpRequest {
  /** Path and query, percent-encoded. */
  readonly target: string;
  /** One character per byte. */
  readonly body: string;
  /** Whether the connection is kept open after the response. */
  readonly keepsAlive: boolean;
  /** The length of the whole request in bytes. */
  readonly bytes: number;
}

/**
 * Reads the first request in the received text.
 * @returns undefined while a part of the request is missing
 */
function readRequest(received: string): HttpRequest | { readonly refusal: string } | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const head = received.slice(0, headEnd + 2);
  const target = REQUEST_LINE.exec(head)?.[1];
  if (target === undefined) return { refusal: `no request line: ${head.split('\r\n', 1)[0]}` };
  if (TRANSFER_ENCODING.test(head)) return { refusal: 'transfer encodings are not supported' };
  if (EXPECT.test(head)) return { refusal: 'expectations are not supported' };
  const bodyAt = headEnd + HEAD_END.length;
  const bytes = bodyAt + Number(LENGTH.exec(head)?.[1] ?? 0);
  if (received.length < bytes) return undefined;
  return { target, body: received.slice(bodyAt, bytes), keepsAlive: !CLOSE.test(head), bytes };
}

/**
 * The length of the response at the beginning of the received text, which may be longer than what has arrived.
 * @returns undefined while it is not known; `Infinity` if the response ends with the connection
 */
function measureResponse(received: string): number | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const head = received.slice(0, headEnd + 2);
  const bodyAt = headEnd + HEAD_END.length;
  if (TRANSFER_ENCODING.test(head)) return findChunkedEnd(received, bodyAt);
  const length = LENGTH.exec(head)?.[1];
  return length === undefined ? Number.POSITIVE_INFINITY : bodyAt + Number(length);
}

/** The end of the chunks (RFC 9112, section 7.1) from this position. */
function findChunkedEnd(received: string, start: number): number | undefined {
  for (let position = start; ; ) {
    const lineEnd = received.indexOf('\r\n', position);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(received.slice(position, lineEnd), 16);
    if (Number.isNaN(size)) return position;
    if (size === 0) {
      // Trailer fields may follow the last chunk.
      const end = received.indexOf(HEAD_END, lineEnd);
      return end === -1 ? undefined : end + HEAD_END.length;
    }
    position = lineEnd + 2 + size + 2;
  }
}

/**
 * Listens on any free port and responds to requests with status 200 and JSON.
 * @param getJson if it returns undefined, the connection stays open and nothing more is sent
 */
export async function serve(
  getJson: (request: HttpRequest) => string | Promise<string> | undefined,
): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer({ noDelay: true }, (socket) => {
    let received = '';
    /** Later data is ignored. */
    let isFinished = false;
    const sendLast = (text: string): void => {
      isFinished = true;
      // If called directly, Node would create an error with a stack for pending writes.
      socket.write(text, () => process.nextTick(() => socket.destroy()));
    };
    // The client may have disconnected.
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      while (!isFinished) {
        const request = readRequest(received);
        if (request === undefined) return;
        if ('refusal' in request) {
          return sendLast(`HTTP/1.1 501 Not Implemented\r\nConnection: close${HEAD_END}${request.refusal}\n`);
        }
        received = received.slice(request.bytes);
        const write = (json: string): void => {
          if (request.keepsAlive)
            socket.write(`${RESPONSE_START}${Buffer.byteLength(json)}${KEEP_ALIVE_END}${json}`);
          else sendLast(`${RESPONSE_START}${Buffer.byteLength(json)}${CLOSE_END}${json}`);
        };
        const json = getJson(request);
        if (json === undefined) isFinished = true;
        else if (typeof json === 'string') write(json);
        else void json.then(write);
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  return { port: address.port, server };
}

/** Node's server ends a connection that is idle for 5 s, and a request sent at that moment is lost. */
const IDLE_MS = 4_000;
const READ_BYTES = 4_096;

/** A connection to a port of this machine, for one request at a time. */
class Connection {
  readonly #port: number;
  readonly #socket: Socket;
  #received = '';
  #pending: { readonly resolve: () => void; readonly reject: (why: Error) => void } | undefined;
  #usedAt = 0;

  constructor(port: number) {
    this.#port = port;
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    const callback = (bytes: number): boolean => {
      if (this.#pending === undefined) this.#fail('data arrived without a request');
      else this.#read(buffer.toString('latin1', 0, bytes));
      return true;
    };
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer, callback } })
      .on('error', (error) => this.#fail('the connection failed', { cause: error }))
      .on('end', () => {
        if (measureResponse(this.#received) === Number.POSITIVE_INFINITY) this.#finish();
      })
      .on('close', () => this.#fail('the connection was closed before the response was complete'));
  }

  get isUsable(): boolean {
    return this.#socket.writable && performance.now() - this.#usedAt < IDLE_MS;
  }

  /** @throws unless the response is 200 */
  send(request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#socket.write(request);
    });
  }

  end(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#received += text;
    const received = this.#received;
    const statusEnd = received.indexOf('\r\n');
    if (statusEnd === -1) return;
    const status = received.slice(0, statusEnd);
    const bytes = measureResponse(received) ?? Number.POSITIVE_INFINITY;
    if (!status.startsWith('HTTP/1.1 200 ')) this.#fail(`the response was ${status}`);
    else if (received.length > bytes) this.#fail('data arrived after the end of the response');
    else if (received.length === bytes) this.#finish();
  }

  #finish(): void {
    if (CLOSE.test(this.#received)) this.end();
    this.#received = '';
    this.#usedAt = performance.now();
    this.#pending?.resolve();
    this.#pending = undefined;
  }

  #fail(reason: string, options?: ErrorOptions): void {
    this.end();
    this.#pending?.reject(new Error(`a request to port ${this.#port}: ${reason}`, options));
    this.#pending = undefined;
  }
}

/** Sends requests over connections that are kept alive, opening as many as needed. */
export class HttpClient {
  readonly #idle = new Map<number, Connection[]>();

  /**
   * Resolves when the whole response has arrived.
   * @throws unless it is 200
   */
  async send(port: number, request: Buffer): Promise<void> {
    let idle = this.#idle.get(port);
    if (idle === undefined) {
      idle = [];
      this.#idle.set(port, idle);
    }
    let connection = idle.pop();
    while (connection?.isUsable === false) {
      connection.end();
      connection = idle.pop();
    }
    connection ??= new Connection(port);
    await connection.send(request);
    idle.push(connection);
  }

  /** Closes the connections. No request may be running. */
  close(): void {
    for (const connection of [...this.#idle.values()].flat()) connection.end();
  }
}
