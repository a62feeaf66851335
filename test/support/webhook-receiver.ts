import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { webhookBodySchema } from '../../src/outbox/webhooks/messages.ts';

export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A received webhook: its signature is valid, and its body is of a known type. */
export interface ReceivedWebhook {
  readonly id: string;
  readonly path: string;
  readonly body: ReturnType<typeof webhookBodySchema.parse>;
}

/** Starts an HTTP endpoint for webhooks. */
export async function startReceiver() {
  const received: ReceivedWebhook[] = [];
  let answer: (response: ServerResponse, webhook: ReceivedWebhook) => void = (response) => response.end();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const payload = Buffer.concat(chunks).toString();
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const webhook = {
        id: headers['webhook-id'] ?? '',
        path: request.url ?? '',
        body: webhookBodySchema.parse(new Webhook(WEBHOOK_SECRET).verify(payload, headers)),
      };
      received.push(webhook);
      answer(response, webhook);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook?key=canary`,
    /** In order of arrival, including repeated webhooks. */
    received,
    /** Replaces the response, which is an empty 200 by default. */
    respondWith(respond: typeof answer) {
      answer = respond;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
