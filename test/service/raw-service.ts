import net from 'node:net';

/** One request with its raw bytes. */
export interface RawRequest {
  /** e.g. `POST /v1/domain HTTP/1.1`. */
  readonly line: string;
  /** Header lines as sent, in order. */
  readonly headers: readonly string[];
  readonly body: string;
  /** The connection it came on, counted from 1. */
  readonly connection: number;
}

export type Respond = (request: RawRequest, socket: net.Socket) => void;

/** A service on a bare socket: it sees every byte and can misbehave in any way. */
export interface RawService {
  readonly origin: string;
  readonly port: number;
  readonly requests: RawRequest[];
  connections: number;
  /** Handles requests. Tests can replace it. */
  respond: Respond;
  close(): Promise<void>;
}

export async function startRawService(respond: Respond): Promise<RawService> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    service.connections += 1;
    const connection = service.connections;
    let received = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (;;) {
        const head = received.indexOf('\r\n\r\n');
        if (head === -1) return;
        const [line = '', ...headers] = received.toString('latin1', 0, head).split('\r\n');
        const length = headers.map((header) => /^content-length: (\d+)$/i.exec(header)?.[1]).find(Boolean);
        const end = head + 4 + Number(length ?? 0);
        if (received.length < end) return;
        const body = received.toString('utf8', head + 4, end);
        received = received.subarray(end);
        const request = { line, headers, body, connection };
        service.requests.push(request);
        service.respond(request, socket);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the raw service has no port');
  const service: RawService = {
    origin: `http://127.0.0.1:${address.port}`,
    port: address.port,
    requests: [],
    connections: 0,
    respond,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
  return service;
}

/** Builds the bytes of an HTTP response. */
export function buildHttpResponse(
  status: number,
  body: string | Buffer,
  headers: readonly string[] = [],
): Buffer {
  const bytes = Buffer.from(body);
  const head = [`HTTP/1.1 ${status} Status`, `content-length: ${bytes.length}`, ...headers].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes]);
}

/** Sends the same response to every request. {@link OK_JSON} gets the request's success code. */
export function respondWith(status: number, body: string | Buffer, headers: readonly string[] = []): Respond {
  return (request, socket) => {
    socket.write(buildHttpResponse(status, body === OK_JSON ? buildOkJson(request) : body, headers));
  };
}

export const OK_JSON = JSON.stringify({
  stid: '20260701-app1-1',
  status: { code: 'S0999', text: 'done', type: 'SUCCESS' },
});

/** Documented success codes, by request line. */
const DOCUMENTED_CODES = [
  [/^PUT \S*\/redirect\//, 'S0502'],
  [/^PUT \S*\/sslcontact\//, 'S400202'],
  [/^POST \S*\/user[ ?]/, 'S1301001'],
  [/^POST \S*\/domainPrereg\/_search[ ?]/, 'S0110005'],
] as const;

/** {@link OK_JSON} with the success code of the request, if one is documented. */
export function buildOkJson({ line }: Pick<RawRequest, 'line'>): string {
  const [, code = 'S0999'] = DOCUMENTED_CODES.find(([pattern]) => pattern.test(line)) ?? [];
  return OK_JSON.replace('S0999', code);
}

/** The success code of an XML request's task. */
export function getXmlSuccessCode({ body }: Pick<RawRequest, 'body'>): string {
  return `S${/<code>(\d+)<\/code>/.exec(body)?.[1]}`;
}

export function buildXmlResponse(code: string, data = '', extraXml = ''): string {
  return (
    '<?xml version="1.0" encoding="utf-8"?>\n<response>\n  <result>\n' +
    `    <data>${data}</data>\n    ${extraXml}\n` +
    `    <status><code>${code}</code><text>done</text><type>success</type></status>\n` +
    '  </result>\n  <stid>20260701-app1-2</stid>\n</response>\n'
  );
}
