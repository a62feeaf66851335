import { createHmac } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { buildCardBlockId } from '../src/slack/orders/card.view.ts';
import { HttpClient } from './http.ts';

/** An unsigned delivery from Slack. */
export interface Delivery {
  readonly body: string;
}

const CHANNELS = 20;
let deliveryCount = 0;

/** @param responseUrl for the bot's ephemeral response */
export function buildCommand(
  text: string,
  userId: string,
  responseUrl: string,
  channelId?: string,
): Delivery {
  deliveryCount += 1;
  return encodeForm({
    token: 'bench',
    team_id: 'T0STEWARD',
    team_domain: 'steward',
    channel_id: channelId ?? pickChannelId(deliveryCount),
    channel_name: 'domains',
    user_id: userId,
    user_name: 'person',
    command: '/domain',
    text,
    api_app_id: 'A0STEWARD',
    is_enterprise_install: 'false',
    response_url: responseUrl,
    trigger_id: `${process.pid}.${Date.now()}.${deliveryCount}`,
  });
}

/**
 * A click on a button of an order's card, with the message, as Slack sends it.
 * @param responseUrl undefined where Slack sends none
 */
export function buildClick(
  actionId: string,
  order: { readonly id: string; readonly channelId: string; readonly ts: string },
  userId: string,
  responseUrl?: string,
): Delivery {
  deliveryCount += 1;
  const payload = {
    type: 'block_actions',
    token: 'bench',
    api_app_id: 'A0STEWARD',
    team: { id: 'T0STEWARD', domain: 'steward' },
    enterprise: null,
    is_enterprise_install: false,
    user: { id: userId, username: 'person', name: 'person', team_id: 'T0STEWARD' },
    container: { type: 'message', message_ts: order.ts, channel_id: order.channelId, is_ephemeral: false },
    trigger_id: `${process.pid}.${Date.now()}.${deliveryCount}`,
    channel: { id: order.channelId, name: 'domains' },
    message: { ts: order.ts, type: 'message', text: 'Renew', blocks: [] },
    state: { values: {} },
    ...(responseUrl === undefined ? {} : { response_url: responseUrl }),
    actions: [
      {
        type: 'button',
        action_id: actionId,
        block_id: buildCardBlockId(order.id),
        action_ts: `${Date.now() / 1_000}`,
        value: order.id,
        text: { type: 'plain_text', text: 'Approve' },
      },
    ],
  };
  return encodeForm({ payload: JSON.stringify(payload) });
}

/**
 * A form submission.
 * @param values the states of its inputs, by field
 * @param origin the form's metadata: where it was opened, and its subject
 */
export function buildSubmission(
  name: string,
  values: Readonly<Record<string, object>>,
  origin: { readonly channelId: string; readonly subject?: string },
  userId: string,
): Delivery {
  deliveryCount += 1;
  const payload = {
    type: 'view_submission',
    token: 'bench',
    api_app_id: 'A0STEWARD',
    team: { id: 'T0STEWARD', domain: 'steward' },
    enterprise: null,
    is_enterprise_install: false,
    user: { id: userId, username: 'person', name: 'person', team_id: 'T0STEWARD' },
    trigger_id: `${process.pid}.${Date.now()}.${deliveryCount}`,
    view: {
      id: `V0BENCH${deliveryCount}`,
      type: 'modal',
      callback_id: name,
      private_metadata: JSON.stringify(origin),
      state: {
        values: Object.fromEntries(
          Object.entries(values).map(([field, value]) => [field, { [field]: value }]),
        ),
      },
    },
  };
  return encodeForm({ payload: JSON.stringify(payload) });
}

function pickChannelId(n: number): string {
  return `C0BENCH${n % CHANNELS}`;
}

function encodeForm(fields: Readonly<Record<string, string>>): Delivery {
  return { body: new URLSearchParams(fields).toString() };
}

/** The signature is valid for five minutes. */
export function buildSignedRequest(
  port: number,
  secret: string,
  { body }: Delivery,
  connection: 'keep-alive' | 'close' = 'keep-alive',
): Buffer {
  const timestamp = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
  const head = [
    'POST /slack/events HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    `connection: ${connection}`,
    'content-type: application/x-www-form-urlencoded',
    `x-slack-request-timestamp: ${timestamp}`,
    `x-slack-signature: v0=${signature}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Sends signed deliveries over HTTP connections that are kept alive. Requests are prepared before they are timed. */
export class SlackLoad {
  readonly #client = new HttpClient();
  readonly #secret: string;

  constructor(signingSecret: string) {
    this.#secret = signingSecret;
  }

  /**
   * @returns milliseconds until the response had arrived
   * @throws unless it is 200
   */
  deliver(port: number, delivery: Delivery): Promise<number> {
    return this.#send(port, buildSignedRequest(port, this.#secret, delivery));
  }

  /**
   * Sends deliveries at a fixed rate, without waiting for responses.
   * @returns the duration of each delivery in milliseconds
   */
  async sendAtRate(port: number, deliveries: readonly Delivery[], perSecond: number): Promise<number[]> {
    const requests = deliveries.map((delivery) => buildSignedRequest(port, this.#secret, delivery));
    const startedAt = performance.now();
    const durations: Promise<number>[] = [];
    for (const [n, request] of requests.entries()) {
      const waitMs = startedAt + (n * 1_000) / perSecond - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      durations.push(this.#send(port, request));
    }
    return Promise.all(durations);
  }

  /** Sends all deliveries with fixed concurrency. */
  async sendConcurrently(port: number, deliveries: readonly Delivery[], concurrency: number): Promise<void> {
    const requests = deliveries.map((delivery) => buildSignedRequest(port, this.#secret, delivery)).values();
    // With several bots, all loads are prepared before the first delivery is sent.
    await nextTurn();
    const sendNext = async () => {
      for (const request of requests) await this.#client.send(port, request);
    };
    await Promise.all(Array.from({ length: concurrency }, sendNext));
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  async #send(port: number, request: Buffer): Promise<number> {
    const startedAt = performance.now();
    await this.#client.send(port, request);
    return performance.now() - startedAt;
  }
}
