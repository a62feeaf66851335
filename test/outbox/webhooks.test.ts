import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WebhookEvent } from '../../src/outbox/webhooks/messages.ts';
import { createWebhooks, type Webhooks } from '../../src/outbox/webhooks/webhooks.ts';
import { Secret } from '../../src/service/secret.ts';
import { createNotificationStore } from '../../src/store/notifications.ts';
import { createWebhookStore, queueWebhooks } from '../../src/store/webhooks.ts';
import { newOrder, type Rig, secondsLater, startExecution, startRig } from '../store/order-rig.ts';
import { type Receiver, startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts';

let rig: Rig;
let receiver: Receiver;
let otherReceiver: Receiver;
let clockSeconds: number;
let shutdown: AbortController;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());
beforeEach(async () => {
  [receiver, otherReceiver] = await Promise.all([startReceiver(), startReceiver()]);
  clockSeconds = 0;
  shutdown = new AbortController();
});
afterEach(async () => {
  await rig.sql("DELETE FROM notifications WHERE subject_kind = 'webhook_endpoint'");
  await rig.sql('DELETE FROM webhook_endpoints');
  await rig.sql('DELETE FROM slack_outages');
  await Promise.all([receiver.close(), otherReceiver.close()]);
});

type Answer = Parameters<Receiver['respondWith']>[0];

const DAY_SECONDS = 86_400;
const store = () => createWebhookStore(rig.database, '');
const logLines: string[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) });

/** Starts the webhooks of a process. */
async function startWebhooks(urls: readonly string[]): Promise<Webhooks> {
  const webhooks = createWebhooks({
    urls: urls.map((url) => new Secret(url)),
    signingSecret: new Secret(WEBHOOK_SECRET),
    store: store(),
    now: () => secondsLater(clockSeconds),
    log,
    signal: shutdown.signal,
    timeoutMs: 300,
  });
  await webhooks.registerEndpoints();
  return webhooks;
}

const queueEvents = (...events: WebhookEvent[]) => queueWebhooks(rig.database.run, events, '');

const newIncident = (name: string, code: 'ds' | 'registrar' = 'ds'): WebhookEvent => ({
  type: 'incident.opened',
  at: secondsLater(clockSeconds),
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
    if (clockSeconds >= end) return;
    clockSeconds = Math.min(clockSeconds + 300, end);
  }
}

const listTypes = ({ received }: Receiver) => received.map(({ body }) => `${body.type}:${body.data.code}`);
const listNames = ({ received }: Receiver) =>
  received.map(({ body }) => ('name' in body.data ? body.data.name : body.type));
const countQueued = async () => (await rig.sql('SELECT 1 FROM webhook_deliveries')).length;

const respondWith =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(code, headers).end();
  };

test('every endpoint gets each event once, signed and with the same ID', async () => {
  const webhooks = await startWebhooks([receiver.url, otherReceiver.url, receiver.url]);
  await queueEvents(newIncident('cafe.rest'));
  await deliverDue(webhooks);
  await deliverDue(webhooks);
  expect(receiver.received).toEqual([
    {
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      path: '/hook?key=canary',
      body: {
        type: 'incident.opened',
        timestamp: secondsLater(0).toISOString(),
        data: {
          name: 'cafe.rest',
          incident_id: 'i1',
          code: 'ds',
          text: 'cafe.rest: its DS records changed, and no one here ordered this.',
        },
      },
    },
  ]);
  expect(otherReceiver.received).toEqual(receiver.received);
  expect(await countQueued()).toBe(0);
});

test('a webhook says that no one ordered a change, but only if something changed', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  for (const code of ['registrar', 'all_lame', 'raised'] as const)
    await queueEvents({
      type: 'incident.changed',
      at: secondsLater(clockSeconds),
      data: { name: 'cafe.rest', incident_id: 'i1', code },
    });
  await deliverDue(webhooks);
  expect(receiver.received.map(({ body }) => body.data)).toMatchObject([
    { text: 'cafe.rest: its registrar changed, and no one here ordered this either.' },
    { text: 'cafe.rest: no nameserver answers for it.' },
    { text: 'cafe.rest: the alarm was raised. Its owner, the approvers and the admins are notified.' },
  ]);
});

test('nothing is queued without an endpoint', async () => {
  await startWebhooks([]);
  await queueEvents(newIncident('cafe.rest'));
  expect(await countQueued()).toBe(0);
});

test('a webhook in a rolled-back transaction isn’t sent', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  const rolledBack = rig.database.transaction(async (run) => {
    await queueWebhooks(run, [newIncident('cafe.rest')], '');
    throw new Error('rolled back');
  });
  await expect(rolledBack).rejects.toThrow('rolled back');
  await deliverDue(webhooks);
  expect(receiver.received).toEqual([]);
});

test('after two days of 500 responses, a receiver gets each webhook with its ID, in order', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  receiver.respondWith(respondWith(500));
  await queueEvents(newIncident('cafe.rest'), newIncident('bar.rest'));
  await deliverDue(webhooks);
  await queueEvents(newIncident('cafe.rest', 'registrar'));
  await runUntil(webhooks, 2 * DAY_SECONDS);
  const attempts = receiver.received.length;
  expect(attempts).toBeGreaterThan(40);
  expect(attempts, 'attempts with backoff').toBeLessThan(140);
  expect(new Set(receiver.received.map(({ id }) => id)).size, 'IDs sent before the first success').toBe(2);
  receiver.respondWith((response) => response.end());
  receiver.received.length = 0;
  await runUntil(webhooks, 2 * DAY_SECONDS + 3_600);
  expect(listTypes(receiver).toSorted()).toEqual([
    'incident.opened:ds',
    'incident.opened:ds',
    'incident.opened:registrar',
  ]);
  const cafeWebhooks = receiver.received.filter(
    ({ body }) => 'name' in body.data && body.data.name === 'cafe.rest',
  );
  expect(cafeWebhooks.map(({ body }) => body.data.code)).toEqual(['ds', 'registrar']);
  expect(await countQueued()).toBe(0);
});

test('a webhook is dropped after three days of failures, and the next one is sent', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  receiver.respondWith(respondWith(500));
  await queueEvents(newIncident('cafe.rest'));
  await runUntil(webhooks, 3 * DAY_SECONDS - 600);
  expect(await countQueued()).toBe(1);
  await queueEvents(newIncident('cafe.rest', 'registrar'));
  await runUntil(webhooks, 3 * DAY_SECONDS + 3_600);
  expect(listTypes(receiver).at(-1)).toBe('incident.opened:registrar');
  expect(logLines.join()).toContain('webhook dropped after failing for three days');
  receiver.respondWith((response) => response.end());
  await runUntil(webhooks, 3 * DAY_SECONDS + 7_200);
  expect(await countQueued()).toBe(0);
});

describe('a receiver that', () => {
  test.each<[string, Answer, string]>([
    ['hangs', () => undefined, 'timeout'],
    ['hangs up', (response) => void response.destroy(), 'connection'],
    ['responds with 410', respondWith(410), 'http_410'],
  ])('%s gets retries, without delaying other receivers', async (_name, answer, code) => {
    const webhooks = await startWebhooks([receiver.url, otherReceiver.url]);
    receiver.respondWith(answer);
    logLines.length = 0;
    await queueEvents(newIncident('cafe.rest'));
    await deliverDue(webhooks);
    expect(otherReceiver.received).toHaveLength(1);
    expect(logLines.join()).toContain(`"code":"${code}"`);
    await queueEvents(newIncident('cafe.rest', 'registrar'), newIncident('bar.rest'));
    receiver.respondWith((response) => response.end());
    await deliverDue(webhooks);
    expect(listNames(receiver), 'names sent without waiting for the retry').toEqual([
      'cafe.rest',
      'bar.rest',
    ]);
    clockSeconds += 5;
    await deliverDue(webhooks);
    expect(listNames(receiver)).toEqual(['cafe.rest', 'bar.rest', 'cafe.rest', 'cafe.rest']);
    expect(receiver.received[2]).toEqual(receiver.received[0]);
    expect(listTypes(receiver).at(-1)).toBe('incident.opened:registrar');
  });

  const sendHuge: Answer = (response) => {
    let chunksLeft = 1_600;
    const write = () => {
      while (chunksLeft > 0 && response.writable) {
        chunksLeft -= 1;
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
    receiver.respondWith(answer);
    await queueEvents(newIncident('cafe.rest'), newIncident('cafe.rest', 'registrar'));
    await deliverDue(webhooks);
    expect(listTypes(receiver)).toEqual(['incident.opened:ds', 'incident.opened:registrar']);
    await runUntil(webhooks, 3_600);
    expect(receiver.received).toHaveLength(2);
    expect(await countQueued()).toBe(0);
  });

  test.each([301, 302, 307, 308])('redirects with %i isn’t followed', async (code) => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.respondWith(respondWith(code, { location: otherReceiver.url }));
    await queueEvents(newIncident('cafe.rest'));
    await deliverDue(webhooks);
    expect([receiver.received.length, otherReceiver.received.length]).toEqual([1, 0]);
    expect(await countQueued()).toBe(1);
  });

  test('sends Retry-After gets nothing until then', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.respondWith(respondWith(429, { 'retry-after': '1800' }));
    await queueEvents(newIncident('cafe.rest'));
    await runUntil(webhooks, 1_795);
    expect(receiver.received).toHaveLength(1);
    await runUntil(webhooks, 1_800);
    expect(receiver.received).toHaveLength(2);
  });
});

test('webhooks are sent after the lease of a killed process, and immediately after a shutdown', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  await queueEvents(newIncident('cafe.rest'));
  const [claimedId = ''] = (await webhooks.endpoints[0]?.claimDue(10)) ?? [];
  await deliverDue(webhooks);
  expect(receiver.received, 'received during the lease').toEqual([]);
  // As if the receiver accepted it, but the process died before recording that.
  const first = await store().loadDelivery(claimedId);
  await rig.ageLeases(60);
  await deliverDue(webhooks);
  expect(receiver.received.map(({ id }) => id)).toEqual([first?.webhookId]);

  receiver.respondWith(() => shutdown.abort());
  await queueEvents(newIncident('bar.rest'));
  await deliverDue(webhooks);
  receiver.respondWith((response) => response.end());
  shutdown = new AbortController();
  await deliverDue(await startWebhooks([receiver.url]));
  expect(listNames(receiver)).toEqual(['cafe.rest', 'bar.rest', 'bar.rest']);
});

test('40 webhooks queued during deliveries are all sent', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  await Promise.all([
    ...Array.from({ length: 40 }, async (_, n) =>
      queueEvents({ ...newIncident('cafe.rest'), at: secondsLater(-n) }),
    ),
    ...Array.from({ length: 60 }, () => deliverDue(webhooks)),
  ]);
  clockSeconds = 1;
  await rig.ageLeases(60);
  await deliverDue(webhooks);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(40);
  expect(await countQueued()).toBe(0);
});

test('a process with another address keeps the first address’s queue, as in a rolling restart', async () => {
  const first = await startWebhooks([receiver.url]);
  await queueEvents(newIncident('cafe.rest'));
  clockSeconds = 60;
  const second = await startWebhooks([otherReceiver.url]);
  await queueEvents(newIncident('bar.rest'));
  await Promise.all([deliverDue(first), deliverDue(second)]);
  expect([listNames(receiver).toSorted(), listNames(otherReceiver)]).toEqual([
    ['bar.rest', 'cafe.rest'],
    ['bar.rest'],
  ]);
});

test('an address is deleted with its queue after three days without a process that serves it', async () => {
  await startWebhooks([receiver.url]);
  await queueEvents(newIncident('cafe.rest'));
  clockSeconds = 3 * DAY_SECONDS;
  await startWebhooks([otherReceiver.url]);
  expect(await countQueued()).toBe(1);
  clockSeconds += 1;
  await startWebhooks([otherReceiver.url]);
  expect(await countQueued()).toBe(0);
});

test('only the host of an address is logged, and none of its query is stored', async () => {
  const webhooks = await startWebhooks([receiver.url]);
  receiver.respondWith(respondWith(500));
  logLines.length = 0;
  await queueEvents(newIncident('cafe.rest'));
  await deliverDue(webhooks);
  expect(logLines.join()).toContain(new URL(receiver.url).host);
  expect(logLines.join()).not.toContain('canary');
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
    receiver.respondWith(respondWith(500));
    await queueEvents(newIncident('cafe.rest'));
    await deliverDue(webhooks);
    expect(await loadReports()).toEqual([{ refused: 'http_500', due: secondsLater(3_600) }]);
    await runUntil(webhooks, 600);
    expect(await loadReports()).toEqual([{ refused: 'http_500', due: secondsLater(3_600) }]);
    receiver.respondWith((response) => response.end());
    await runUntil(webhooks, 3_600);
    expect(await loadReports()).toEqual([]);
  });

  test('isn’t reported again until it has accepted a webhook', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.respondWith(respondWith(500));
    await queueEvents(newIncident('cafe.rest'));
    await runUntil(webhooks, 3_600);
    await rig.sql("UPDATE notifications SET due_at = NULL WHERE subject_kind = 'webhook_endpoint'");
    receiver.respondWith(respondWith(503));
    await runUntil(webhooks, 9_000);
    expect(await loadReports()).toEqual([{ refused: 'http_503', due: null }]);
  });

  test('that refuses a test is reported immediately', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    receiver.respondWith(respondWith(500));
    await queueEvents(newIncident('cafe.rest'));
    await deliverDue(webhooks);
    clockSeconds = 10;
    await queueEvents({ type: 'test', at: secondsLater(clockSeconds), data: { code: 'asked' } });
    await deliverDue(webhooks);
    expect(await loadReports()).toEqual([{ refused: 'http_500', due: secondsLater(10) }]);
  });

  test('is tested once a month', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    await webhooks.queueMonthlyTest();
    await deliverDue(webhooks);
    expect(receiver.received).toEqual([]);
    for (const days of [30, 30, 61]) {
      clockSeconds = days * DAY_SECONDS;
      await Promise.all([webhooks.queueMonthlyTest(), webhooks.queueMonthlyTest()]);
      await deliverDue(webhooks);
    }
    expect(listTypes(receiver)).toEqual(['test:monthly', 'test:monthly']);
  });

  test('gets one webhook per outage when Slack is unreachable for an hour', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    const since = secondsLater(0);
    const recordOutageAt = async (after: number, outage?: { since: Date; code: string }) => {
      clockSeconds = after;
      await webhooks.recordSlackOutage(outage);
      await deliverDue(webhooks);
      return listTypes(receiver);
    };
    expect(await recordOutageAt(60, { since, code: 'unreachable' })).toEqual([]);
    // Another process, which started during the outage.
    expect(await recordOutageAt(3_599, { since: secondsLater(1_800), code: 'unreachable' })).toEqual([]);
    const oneWebhook = ['slack.unreachable:token_revoked'];
    expect(await recordOutageAt(3_600, { since: secondsLater(1_800), code: 'token_revoked' })).toEqual(
      oneWebhook,
    );
    expect(receiver.received[0]?.body.data).toMatchObject({ since: since.toISOString() });
    expect(await recordOutageAt(9_000, { since, code: 'unreachable' })).toEqual(oneWebhook);
    expect(await recordOutageAt(9_060)).toEqual(oneWebhook);
    expect(await recordOutageAt(9_120, { since: secondsLater(9_100), code: 'unreachable' })).toEqual(
      oneWebhook,
    );
    expect(await recordOutageAt(12_700, { since: secondsLater(9_100), code: 'unreachable' })).toHaveLength(2);
  });
});

describe('a webhook about an unknown outcome', () => {
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
      secondsLater(4),
    );
  };

  test('is sent once, when the outcome becomes unknown', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    const order = newOrder({ reason: 'canary' }, ['cafe.rest']);
    await createUnknown(order);
    clockSeconds = 10;
    await deliverDue(webhooks);
    expect(receiver.received.map(({ body }) => body)).toEqual([
      {
        type: 'order.unknown',
        timestamp: secondsLater(4).toISOString(),
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
      secondsLater(11),
    );
    await deliverDue(webhooks);
    expect(receiver.received).toHaveLength(1);
  });

  test('has no names if its order is private', async () => {
    const webhooks = await startWebhooks([receiver.url]);
    await createUnknown(newOrder({ isPrivate: true }, ['secret.rest']));
    clockSeconds = 10;
    await deliverDue(webhooks);
    expect(receiver.received).toHaveLength(1);
    expect(JSON.stringify(receiver.received)).not.toContain('secret.rest');
  });
});

test('a webhook isn’t in Slack’s outbox', async () => {
  await startWebhooks([receiver.url]);
  await queueEvents(newIncident('cafe.rest'));
  clockSeconds = 10;
  const notifications = createNotificationStore(rig.database, '');
  const due = await notifications.claimDueSubjects(secondsLater(DAY_SECONDS), 1_000, 1_000);
  expect(due.filter(({ kind }) => !['order'].includes(kind))).toEqual([]);
});
