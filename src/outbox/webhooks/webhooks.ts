import { createHash } from 'node:crypto';
import { Webhook as Signer } from 'standardwebhooks';
import { exchangeOnFreshConnection, HttpExchangeError } from '../../http/exchange.ts';
import { parseRetryAfter } from '../../http/retry-after.ts';
import { DAY_MS, HOUR_MS } from '../../lib/duration.ts';
import type { Log } from '../../lib/log.ts';
import type { Secret } from '../../service/secret.ts';
import type { SlackOutage, WebhookDelivery, WebhookStore } from './ports.ts';

/**
 * Sends webhooks to the operator's endpoints. Each webhook is retried for up to three days with the same id
 * and body, until the endpoint answers 2xx. Delivery is FIFO per endpoint and subject; others don't wait.
 */

export interface WebhooksContext {
  readonly urls: readonly Secret[];
  /** `whsec_…`; undefined if there are no endpoints. */
  readonly signingSecret: Secret | undefined;
  readonly store: WebhookStore;
  readonly now: () => Date;
  readonly log: Log;
  /** Aborts requests at shutdown. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export interface WebhookEndpoint {
  /** Identifies the endpoint in place of its URL, which may contain a secret. */
  readonly id: string;
  /** The part of the URL that is safe to show. */
  readonly host: string;
  claimDue(limit: number): Promise<readonly string[]>;
  /** Sends a claimed delivery, then the subject's next ones, until an attempt fails. */
  deliver(id: string): Promise<void>;
}

export type Webhooks = ReturnType<typeof createWebhooks>;

export const WEBHOOK_TIMEOUT_MS = 10_000;
/** Longer than an attempt can take. */
const LEASE_MS = 3 * WEBHOOK_TIMEOUT_MS;
const MIN_RETRY_DELAY_MS = 5_000;
const MAX_RETRY_DELAY_MS = HOUR_MS;
const RETRY_PERIOD_MS = 3 * DAY_MS;
/** After this long, admins are alerted about a failing endpoint, and endpoints about a Slack outage. */
const ALERT_AFTER_MS = HOUR_MS;

export function createWebhooks(context: WebhooksContext) {
  const { signingSecret, store, now } = context;
  const urls = [...new Set(context.urls.map((url) => url.reveal()))];
  const endpoints: readonly WebhookEndpoint[] =
    signingSecret === undefined
      ? []
      : urls.map((url) => createEndpoint(context, new URL(url), new Signer(signingSecret.reveal())));
  return {
    endpoints,
    /** Starts queuing events for the endpoints. Must be called before any work, then at least hourly. */
    registerEndpoints: (): Promise<void> =>
      store.registerEndpoints(
        endpoints.map(({ id }) => id),
        now(),
        new Date(now().getTime() - RETRY_PERIOD_MS),
      ),
    queueTest: (): Promise<void> => store.queue({ type: 'test', at: now(), data: { code: 'asked' } }),
    async queueMonthlyTest(): Promise<void> {
      if (endpoints.length > 0) await store.queueMonthlyTest(now());
    },
    async recordSlackOutage(outage: SlackOutage | undefined): Promise<void> {
      if (endpoints.length === 0) return;
      await store.recordSlackOutage(outage, new Date(now().getTime() - ALERT_AFTER_MS), now());
    },
  };
}

interface EndpointContext extends WebhooksContext {
  readonly id: string;
  readonly url: URL;
  readonly signer: Signer;
}

function createEndpoint(webhooksContext: WebhooksContext, url: URL, signer: Signer): WebhookEndpoint {
  const id = createHash('sha256').update(url.href).digest('base64url').slice(0, 16);
  const context = { ...webhooksContext, id, url, signer };
  return {
    id,
    host: url.host,
    claimDue: (limit) => webhooksContext.store.claimDue(id, webhooksContext.now(), LEASE_MS, limit),
    deliver: (deliveryId) => deliver(context, deliveryId),
  };
}

async function deliver(context: EndpointContext, deliveryId: string): Promise<void> {
  const { id, url, store, now, log, signal } = context;
  let delivery = await store.loadDelivery(deliveryId);
  while (delivery !== undefined) {
    const failure = await attemptDelivery(context, delivery);
    if (failure === undefined) {
      await store.recordSuccess(id, now());
      delivery = await store.finish(id, delivery, now(), LEASE_MS);
      continue;
    }
    if (signal.aborted) return store.release(delivery.id);
    const { webhookId, type, attempts } = delivery;
    const nowMs = now().getTime();
    const details = { webhookId, type, host: url.host, code: failure.code };
    if (nowMs - delivery.at.getTime() >= RETRY_PERIOD_MS) {
      log.error(details, 'webhook dropped after failing for three days');
      delivery = await store.finish(id, delivery, now(), LEASE_MS);
      continue;
    }
    const delayMs = Math.max(MIN_RETRY_DELAY_MS * 2 ** attempts, failure.retryAfterMs ?? 0);
    const retryAt = new Date(nowMs + Math.min(delayMs, MAX_RETRY_DELAY_MS));
    log.warn({ ...details, until: retryAt }, 'webhook delivery failed, will retry');
    // A failed test is reported immediately.
    const alertAt = new Date(type === 'test' ? nowMs : nowMs + ALERT_AFTER_MS);
    return store.postpone(id, delivery.id, { code: failure.code, retryAt, alertAt });
  }
}

/** @returns the reason for the failure; undefined if the webhook was accepted */
async function attemptDelivery(
  { url, signer, signal, timeoutMs }: EndpointContext,
  webhook: WebhookDelivery,
): Promise<{ code: string; retryAfterMs?: number } | undefined> {
  // Not `now()`, because receivers compare the timestamp with their own clock.
  const timestamp = new Date();
  const headers = [
    'content-type',
    'application/json',
    'user-agent',
    'domain-steward',
    'webhook-id',
    webhook.webhookId,
    'webhook-timestamp',
    String(Math.floor(timestamp.getTime() / 1_000)),
    'webhook-signature',
    signer.sign(webhook.webhookId, timestamp, webhook.body),
  ];
  const request = {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: 'POST',
    headers,
    body: webhook.body,
  } as const;
  try {
    // Only the status matters: receivers may answer with any body.
    const limits = { timeoutMs, maxBytes: 'discard_body', signal } as const;
    const response = await exchangeOnFreshConnection(request, limits);
    if (response.status >= 200 && response.status < 300) return undefined;
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], timestamp.getTime());
    return { code: `http_${response.status}`, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  } catch (error) {
    if (error instanceof HttpExchangeError) return { code: error.failure };
    throw error;
  }
}
