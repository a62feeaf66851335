import type { RequestListener } from 'node:http';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type Routes, type ServerOptions, startServer } from '../../src/app/server.ts';

/**
 * Starts only the bot's HTTP server, until the end of the test.
 * @returns its address
 */
export async function serve(options: Partial<ServerOptions & Routes> = {}): Promise<string> {
  const server = await startServer({
    port: 0,
    log: pino({ level: 'silent' }),
    listMissing: async () => ({}),
    listDetails: async () => ({}),
    metrics: { contentType: 'text/plain; version=0.0.4', text: async () => 'orders 3\n' },
    ...options,
  });
  server.serve({
    page: async () => false,
    calendar: async () => undefined,
    isSigned: () => true,
    slack: () => undefined,
    ...options,
  });
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${server.port}`;
}

/** Replaces Bolt and echoes what reached it. */
export const bolt: RequestListener = (request, response) => {
  const body = 'rawBody' in request && Buffer.isBuffer(request.rawBody) ? request.rawBody.toString() : '';
  response.end(`${request.headers['content-type']} ${body}`);
};

/** The header of a signed request; its signature is not valid. */
export const SIGNED = { 'x-slack-signature': `v0=${'0'.repeat(64)}` };
