import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WebhookEvent } from '../../src/outbox/webhooks/messages.ts';
import { createWebhooks, type Webhooks } from '../../src/outbox/webhooks/webhooks.ts';
import { Secret } from '../../src/service/secret.ts';
import { createNotificationStore } from '../../src/store/notifications.ts';
import { createWebhookStore, queueWebhooks } from '../../src/store/webhooks.ts';
import { at, newOrder, type Rig, startExecution, startRig } from '../store/order-rig.ts';
import { type Receiver, startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts';

let rig: Rig;
let receiver: Receiver;
let other: Receiver;
let seconds: number;
let shutdown: AbortController;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());
beforeEach(async () => {
  [receiver, other] = await Promise.all([startReceiver(), startReceiver()]);
  seconds = 0;
  shutdown = new AbortController();
});
afterEach(async () => {
  await rig.sql("DELETE FROM notifications WHERE subject_kind = 'webhook_endpoint'");
  await rig.sql('DELETE FROM webhook_endpoints');
  await rig.sql('DELETE FROM slack_outages');
  await Promise.all([receiver.close(), other.close()]);
});

type Answer = Parameters<Receiver['answers']>[0];

const DAY = 86_400;
const store = () => createWebhookStore(rig.database, '');
const logged: string[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });

/** Starts the webhooks of a process. */
async function startWebhooks(urls: readonly string[]): Promise<Webhooks> {
  const webhooks = createWebhooks({
    urls: urls.map((url) => new Secret(url)),
    secret: new Secret(WEBHOOK_SECRET),
    store: store(),
    now: () => at(seconds),
    log,
    signal: shutdown.signal,
    timeoutMs: 300,
  });
  await webhooks.serve();
  return webhooks;
}

const queue = (...events: WebhookEvent[]) => queueWebhooks(rig.database.run, events, '');

const incident = (name: string, code: 'ds' | 'registrar' = 'ds'): WebhookEvent => ({
  type: 'incident.opened',
  at: at(seconds),
  data: { name, incident_id: 'i1', code },
});

/** Runs a process's loops once. */
async function deliverDue({ endpoints }: Webhooks): Promise<void> {
  await Promise.all(
    endpoints.map(async ({ claimDue, deliver }) =>
      Promise.all((await claimDue(100)).map((each) => deliver(each))),
    ),
  );
}

/** Runs the loops every five minutes until a time, at least once. */
async function runUntil(webhooks: Webhooks, end: number): Promise<void> {
  for (;;) {
    await deliverDue(webhooks);
    if (seconds >= end) return;
    seconds = Math.min(seconds + 300, end);
  }
}

const typesAt = ({ received }: Receiver) => received.map(({ body }) => `${body.type}:${body.data.code}`);
const namesAt = ({ received }: Receiver) =>
  received.map(({ body }) => ('name' in body.data ? body.data.name : body.type));
const countWaiting = async () => (await rig.sql('SELECT 1 FROM webhook_deliveries')).length;

const reply =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(code, headers).end();
  };

test('every endpoint gets each event once, signed and with the same ID', async () => {
  const webhooks = await startWebhooks([receiver.url, other.url, receiver.url]);
  await queue(incident('cafe.rest'));
  await deliverDue(webhooks);
  await deliverDue(webhooks);
  expect(receiver.received).toEqual([
    {
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      path: '/hook?key=canary',
      body: {
        type: 'incident.opened',
        timestamp: at(0).toISOString(),
        data: {
          name: 'cafe.rest',
          incident_id: 'i1',
          code: 'ds',
          text: 'cafe.rest: its DS records changed, and no one here ordered this.',
        },
      },
    },
  ]);
  expect(other.received).toEqual(receiver.received);
  expect(await countWaiting()).toBe(0);
});

test('nothing is queued without an endpoint', async () => {
  await startWebhooks([]);
  await queue(incident('cafe.rest'));
  expect(await countWaiting()).toBe(0);
});

test('a webhook in a rolled-back transaction isn’t sent', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  const rolledBack = rig.database.transaction(async (run) => {
    await queueWebhooks(run, [incident('cafe.rest')], '');
    throw new Error('rolled back');
  });
  await expect(rolledBack).rejects.toThrow('rolled back');
  await deliverDue(webhooks);
  expect(receiver.received).toEqual([]);
});

test('after two days of 500 responses, a receiver gets each webhook with its ID, in order', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  receiver.answers(reply(500));
  await queue(incident('cafe.rest'), incident('bar.rest'));
  await deliverDue(webhooks);
  await queue(incident('cafe.rest', 'registrar'));
  await runUntil(webhooks, 2 * DAY);
  const attempts = receiver.received.length;
  expect(attempts).toBeGreaterThan(40);
  expect(attempts, 'attempts with backoff').toBeLessThan(140);
  expect(new Set(receiver.received.map(({ id }) => id)).size, 'IDs sent before the first success').toBe(2);
  receiver.answers((response) => response.end());
  receiver.received.length = 0;
  await runUntil(webhooks, 2 * DAY + 3_600);
  expect(typesAt(receiver).toSorted()).toEqual([
    'incident.opened:ds',
    'incident.opened:ds',
    'incident.opened:registrar',
  ]);
  const ofCafe = receiver.received.filter(
    ({ body }) => 'name' in body.data && body.data.name === 'cafe.rest',
  );
  expect(ofCafe.map(({ body }) => body.data.code)).toEqual(['ds', 'registrar']);
  expect(await countWaiting()).toBe(0);
});

test('a webhook is dropped after three days of failures, and the next one is sent', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  receiver.answers(reply(500));
  await queue(incident('cafe.rest'));
  await runUntil(webhooks, 3 * DAY - 600);
  expect(await countWaiting()).toBe(1);
  await queue(incident('cafe.rest', 'registrar'));
  await runUntil(webhooks, 3 * DAY + 3_600);
  expect(typesAt(receiver).at(-1)).toBe('incident.opened:registrar');
  expect(logged.join()).toContain('the webhook is dropped');
  receiver.answers((response) => response.end());
  await runUntil(webhooks, 3 * DAY + 7_200);
  expect(await countWaiting()).toBe(0);
});

describe('a receiver that', () => {
  test.each<[string, Answer, string]>([
    ['hangs', () => undefined, 'timeout'],
    ['hangs up', (response) => void response.destroy(), 'connection'],
    ['responds with 410', reply(410), 'http_410'],
  ])('%s gets retries, without delaying other receivers', async (_name, answer, code) => {
    const webhooks = await startWebhooks([receiver.url, other.url]);
    receiver.answers(answer);
    logged.length = 0;
    await queue(incident('cafe.rest'));
    await deliverDue(webhooks);
    expect(other.received).toHaveLength(1);
    expect(logged.join()).toContain(`"code":"${code}"`);
    await queue(incident('cafe.rest', 'registrar'), incident('bar.rest'));
    receiver.answers((response) => response.end());
    await deliverDue(webhooks);
    expect(namesAt(receiver), 'names sent without waiting for the retry').toEqual(['cafe.rest', 'bar.rest']);
    seconds += 5;
    await deliverDue(webhooks);
    expect(namesAt(receiver)).toEqual(['cafe.rest', 'bar.rest', 'cafe.rest', 'cafe.rest']);
    expect(receiver.received[2]).toEqual(receiver.received[0]);
    expect(typesAt(receiver).at(-1)).toBe('incident.opened:registrar');
  });

  const sendHuge: Answer = (response) => {
    let left = 1_600;
    const write = () => {
      while (left > 0 && response.writable) {
        left -= 1;
        if (response.write(Buffer.alloc(64 * 1024))) continue;
        response.once('drain', write);
        return;
      }
      response.end();
    };
    response.writeHead(200);
    write();
  };
  test.each<[string, Answer]>([
    ['a body of 100 kB', (response) => void response.end('x'.repeat(100_000))],
    ['a body of 100 MB', sendHuge],
    ['a body that never ends', (response) => void response.write('o')],
    ['a truncated body', (response) => void response.write('o', () => response.destroy())],
    [
      'an unknown content coding',
      (response) => void response.writeHead(202, { 'content-encoding': 'zstd' }).end('x'),
    ],
  ])('responds with 2xx and %s has accepted the webhook', async (_what, answer) => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.answers(answer);
    await queue(incident('cafe.rest'), incident('cafe.rest', 'registrar'));
    await deliverDue(webhooks);
    expect(typesAt(receiver)).toEqual(['incident.opened:ds', 'incident.opened:registrar']);
    await runUntil(webhooks, 3_600);
    expect(receiver.received).toHaveLength(2);
    expect(await countWaiting()).toBe(0);
  });

  test.each([301, 302, 307, 308])('redirects with %i isn’t followed', async (code) => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.answers(reply(code, { location: other.url }));
    await queue(incident('cafe.rest'));
    await deliverDue(webhooks);
    expect([receiver.received.length, other.received.length]).toEqual([1, 0]);
    expect(await countWaiting()).toBe(1);
  });

  test('sends Retry-After gets nothing until then', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.answers(reply(429, { 'retry-after': '1800' }));
    await queue(incident('cafe.rest'));
    await runUntil(webhooks, 1_795);
    expect(receiver.received).toHaveLength(1);
    await runUntil(webhooks, 1_800);
    expect(receiver.received).toHaveLength(2);
  });
});

test('webhooks of a killed process are sent after its lease, of a stopping one immediately', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  await queue(incident('cafe.rest'));
  const [claimed = ''] = (await webhooks.endpoints[0]?.claimDue(10)) ?? [];
  await deliverDue(webhooks);
  expect(receiver.received, 'received during the lease').toEqual([]);
  // As if the receiver accepted it, but the process died before recording that.
  const first = await store().read(claimed);
  await rig.ageLeases(60);
  await deliverDue(webhooks);
  expect(receiver.received.map(({ id }) => id)).toEqual([first?.webhookId]);

  receiver.answers(() => shutdown.abort());
  await queue(incident('bar.rest'));
  await deliverDue(webhooks);
  receiver.answers((response) => response.end());
  shutdown = new AbortController();
  await deliverDue(await startWebhooks([receiver.url]));
  expect(namesAt(receiver)).toEqual(['cafe.rest', 'bar.rest', 'bar.rest']);
});

test('40 webhooks queued during deliveries are all sent', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  await Promise.all([
    ...Array.from({ length: 40 }, async (_, n) => queue({ ...incident('cafe.rest'), at: at(-n) })),
    ...Array.from({ length: 60 }, () => deliverDue(webhooks)),
  ]);
  seconds = 1;
  await rig.ageLeases(60);
  await deliverDue(webhooks);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(40);
  expect(await countWaiting()).toBe(0);
});

test('a process with another address keeps the first address’s queue, as in a rolling restart', async () => {
  const first = await startWebhooks([receiver.url]);
  await queue(incident('cafe.rest'));
  seconds = 60;
  const second = await startWebhooks([other.url]);
  await queue(incident('bar.rest'));
  await Promise.all([deliverDue(first), deliverDue(second)]);
  expect([namesAt(receiver).toSorted(), namesAt(other)]).toEqual([['bar.rest', 'cafe.rest'], ['bar.rest']]);
});

test('an address is deleted with its queue after three days without a process that serves it', async () => {
  await startWebhooks([receiver.url]);
  await queue(incident('cafe.rest'));
  seconds = 3 * DAY;
  await startWebhooks([other.url]);
  expect(await countWaiting()).toBe(1);
  seconds += 1;
  await startWebhooks([other.url]);
  expect(await countWaiting()).toBe(0);
});

test('only the host of an address is logged, and none of its query is stored', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  receiver.answers(reply(500));
  logged.length = 0;
  await queue(incident('cafe.rest'));
  await deliverDue(webhooks);
  expect(logged.join()).toContain(new URL(receiver.url).host);
  expect(logged.join()).not.toContain('canary');
  for (const table of ['notifications', 'webhook_endpoints', 'webhook_deliveries'])
    expect(JSON.stringify(await rig.sql(`SELECT * FROM ${table}`))).not.toContain('canary');
});

describe('an endpoint', () => {
  const loadReports = () =>
    rig.sql(
      "SELECT refused, due_at AS due FROM notifications WHERE subject_kind = 'webhook_endpoint' AND purpose = 'plan'",
    );

  test('that fails is due to be reported after an hour, unless it succeeds by then', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.answers(reply(500));
    await queue(incident('cafe.rest'));
    await deliverDue(webhooks);
    expect(await loadReports()).toEqual([{ refused: 'http_500', due: at(3_600) }]);
    await runUntil(webhooks, 600);
    expect(await loadReports()).toEqual([{ refused: 'http_500', due: at(3_600) }]);
    receiver.answers((response) => response.end());
    await runUntil(webhooks, 3_600);
    expect(await loadReports()).toEqual([]);
  });

  test('isn’t reported again until it has accepted a webhook', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.answers(reply(500));
    await queue(incident('cafe.rest'));
    await runUntil(webhooks, 3_600);
    await rig.sql("UPDATE notifications SET due_at = NULL WHERE subject_kind = 'webhook_endpoint'");
    receiver.answers(reply(503));
    await runUntil(webhooks, 9_000);
    expect(await loadReports()).toEqual([{ refused: 'http_503', due: null }]);
  });

  test('that refuses a test is reported immediately', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.answers(reply(500));
    await queue(incident('cafe.rest'));
    await deliverDue(webhooks);
    seconds = 10;
    await queue({ type: 'test', at: at(seconds), data: { code: 'asked' } });
    await deliverDue(webhooks);
    expect(await loadReports()).toEqual([{ refused: 'http_500', due: at(10) }]);
  });

  test('is tested once a month', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    await webhooks.testMonthly();
    await deliverDue(webhooks);
    expect(receiver.received).toEqual([]);
    for (const days of [30, 30, 61]) {
      seconds = days * DAY;
      await Promise.all([webhooks.testMonthly(), webhooks.testMonthly()]);
      await deliverDue(webhooks);
    }
    expect(typesAt(receiver)).toEqual(['test:monthly', 'test:monthly']);
  });

  test('gets one webhook per outage when Slack is unreachable for an hour', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    const since = at(0);
    const tick = async (after: number, outage?: { since: Date; code: string }) => {
      seconds = after;
      await webhooks.recordSlackOutage(outage);
      await deliverDue(webhooks);
      return typesAt(receiver);
    };
    expect(await tick(60, { since, code: 'unreachable' })).toEqual([]);
    // Another process, which started later.
    expect(await tick(3_599, { since: at(1_800), code: 'unreachable' })).toEqual([]);
    const once = ['slack.unreachable:token_revoked'];
    expect(await tick(3_600, { since: at(1_800), code: 'token_revoked' })).toEqual(once);
    expect(receiver.received[0]?.body.data).toMatchObject({ since: since.toISOString() });
    expect(await tick(9_000, { since, code: 'unreachable' })).toEqual(once);
    expect(await tick(9_060)).toEqual(once);
    expect(await tick(9_120, { since: at(9_100), code: 'unreachable' })).toEqual(once);
    expect(await tick(12_700, { since: at(9_100), code: 'unreachable' })).toHaveLength(2);
  });
});

describe('an order with an unknown outcome', () => {
  const createUnknown = async (order: ReturnType<typeof newOrder>) => {
    await startExecution(rig, order);
    await rig.apply(
      order.id,
      {
        type: 'answered',
        n: 1,
        outcome: 'UNKNOWN',
        result: { summary: { code: 'no_answer' } },
      },
      at(4),
    );
  };

  test('is sent once, when its outcome becomes unknown', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    const order = newOrder({ reason: 'canary' }, ['cafe.rest']);
    await createUnknown(order);
    seconds = 10;
    await deliverDue(webhooks);
    expect(receiver.received.map(({ body }) => body)).toEqual([
      {
        type: 'order.unknown',
        timestamp: at(4).toISOString(),
        data: {
          order_id: order.id,
          code: 'unknown',
          task: order.task,
          names: ['cafe.rest'],
          text: `Renew cafe.rest: the outcome of order ${order.id} is unknown. An approver has to mark it as done or failed.`,
        },
      },
    ]);
    await rig.apply(
      order.id,
      { type: 'resolved', by: 'U0BOB', outcome: 'FAILED', reason: undefined },
      at(11),
    );
    await deliverDue(webhooks);
    expect(receiver.received).toHaveLength(1);
  });

  test('has no names if it is private', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    await createUnknown(newOrder({ isPrivate: true }, ['secret.rest']));
    seconds = 10;
    await deliverDue(webhooks);
    expect(receiver.received).toHaveLength(1);
    expect(JSON.stringify(receiver.received)).not.toContain('secret.rest');
  });
});

test('a webhook isn’t in Slack’s outbox', async () => {
  await startWebhooks([receiver.url]);
  await queue(incident('cafe.rest'));
  seconds = 10;
  const notifications = createNotificationStore(rig.database, '');
  const due = await notifications.claimDue(at(DAY), 1_000, 1_000);
  expect(due.filter(({ kind }) => !['order'].includes(kind))).toEqual([]);
});
