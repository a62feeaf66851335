import type { RequestListener } from 'node:http';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type Routes, type ServerOptions, startServer } from '../../src/app/server.ts';

/**
 * Starts only the bot's HTTP server, until the end of the test.
 * @returns its address
 */
export async function startTestServer(options: Partial<ServerOptions & Routes> = {}): Promise<string> {
  const server = await startServer({
    port: 0,
    log: pino({ level: 'silent' }),
    listUnreadyParts: async () => ({}),
    listDetails: async () => ({}),
    metrics: { contentType: 'text/plain; version=0.0.4', text: async () => 'orders 3\n' },
    ...options,
  });
  server.serve({
    servePage: async () => false,
    openCalendar: async () => undefined,
    isSigned: () => true,
    getSlackListener: () => undefined,
    ...options,
  });
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${server.port}`;
}

/** Stands for Bolt, and responds with the content type and body that it received. */
export const boltStub: RequestListener = (request, response) => {
  const body = 'rawBody' in request && Buffer.isBuffer(request.rawBody) ? request.rawBody.toString() : '';
  response.end(`${request.headers['content-type']} ${body}`);
};

/** A header with an invalid signature. */
export const SIGNATURE_HEADER = { 'x-slack-signature': `v0=${'0'.repeat(64)}` };
