import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { z } from 'zod';
import type { ReceivedWebhook } from './host.ts';

/* Represents a pager or a second messenger in the demo: it receives the bot's webhooks over HTTP. */

const MAX_KEPT = 200;
const webhookBody = z.object({ type: z.string(), data: z.object({ text: z.string() }) });

/** @param changed called for each new webhook */
export function createReceiver(changed: () => void) {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const verifier = new Webhook(secret);
  let received: readonly ReceivedWebhook[] = [];
  return {
    /** For `WEBHOOK_SECRET`. */
    secret,
    /** Newest first, without duplicates. */
    received: () => received,
    /** Handles a webhook request: 204 if it is signed, else 401. */
    async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const text = (await buffer(request)).toString();
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const id = headers['webhook-id'] ?? '';
      try {
        const body = verifier.verify(text, headers);
        const { type, data } = webhookBody.parse(body);
        const others = received.filter((known) => known.id !== id);
        received = [{ id, at: Date.now(), type, text: data.text, body }, ...others].slice(0, MAX_KEPT);
        response.writeHead(204).end();
        changed();
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error;
        response.writeHead(401).end();
      }
    },
  };
}
