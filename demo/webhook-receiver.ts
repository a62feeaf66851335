import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { z } from 'zod';
import type { ReceivedWebhook } from './host.ts';

/* Receives the bot's webhooks over HTTP, like a pager or a second messenger. */

const MAX_RECEIVED = 200;
const webhookSchema = z.object({ type: z.string(), data: z.object({ text: z.string() }) });

/** @param onReceived called for each new webhook */
export function createReceiver(onReceived: () => void) {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const verifier = new Webhook(secret);
  let received: readonly ReceivedWebhook[] = [];
  return {
    /** For `WEBHOOK_SECRET`. */
    secret,
    /** Newest first, without duplicates. */
    received: () => received,
    /** Responds with 204 if the webhook is signed, else 401. */
    async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const text = (await buffer(request)).toString();
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const id = headers['webhook-id'] ?? '';
      try {
        const body = verifier.verify(text, headers);
        const { type, data } = webhookSchema.parse(body);
        const others = received.filter((webhook) => webhook.id !== id);
        received = [{ id, at: Date.now(), type, text: data.text, body }, ...others].slice(0, MAX_RECEIVED);
        response.writeHead(204).end();
        onReceived();
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error;
        response.writeHead(401).end();
      }
    },
  };
}
