import { createHash } from 'node:crypto';
import type { Message } from '@domain-steward/slack-workspace';
import { afterAll, afterEach, expect, test } from 'vitest';
import { formatCanonicalJson } from '../../src/lib/canonical-json.ts';
import { openForm, readCommandReply, textOf, until, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand } from '../support/orders.ts';
import { type ReceivedWebhook, startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts';

/* Webhooks, from the event to the receiver. */

const receiver = await startReceiver();
afterAll(() => receiver.close());
const t = useTestDemo({
  settings: { WEBHOOK_URLS: receiver.url, WEBHOOK_SECRET, ADMINS: 'U0ADA', SERVICE_TIMEOUT: '5s' },
});
const { host } = new URL(receiver.url);
const HOUR_MS = 3_600_000;

afterEach(() => {
  t.service.faults.clear();
  t.workspace.faults.clear();
  receiver.respondWith((response) => response.end());
});

/** The first webhook of a type after the first `since` webhooks. */
async function waitForWebhook(type: string, since = 0): Promise<ReceivedWebhook> {
  const found = () => receiver.received.slice(since).find(({ body }) => body.type === type);
  await until(`the webhook ${type}`, () => found() !== undefined);
  const webhook = found();
  if (webhook === undefined) throw new Error('the webhook is gone');
  return webhook;
}
let aheadMs = 0;
async function advance(ms: number): Promise<void> {
  aheadMs += ms;
  await t.demo.moveTime(ms);
}
const toAda = () => t.workspace.messages('D0ADA').map((message: Message) => textOf(message));

async function sendTest(): Promise<void> {
  const form = await openForm(t.workspace, t.ada, '/domain settings');
  expect(textOf(form)).toContain(`Webhooks go to \`${host}\``);
  expect(JSON.stringify(form)).not.toContain('canary');
  await t.ada.click(form, 'webhook_test');
}

test('an unknown outcome sends a webhook without the reason', async () => {
  t.service.faults.set({ kind: 'drop_before', times: 1, match: { task: 'domain.renew' } });
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest -- client paid'),
  );
  await order.waitForResult('UNKNOWN');
  const { body } = await waitForWebhook('order.unknown');
  expect(body.data).toMatchObject({ order_id: order.id, task: 'renew', names: ['cafe.rest'] });
  expect(JSON.stringify(body)).not.toContain('client paid');
});

test('the latest seal is sent each hour, in full and with its anchor', async () => {
  const since = receiver.received.length;
  await readCommandReply(t.workspace, t.alice, '/domain watch sealed.example');
  await advance(HOUR_MS);
  const { data } = (await waitForWebhook('seal.created', since)).body;
  if (!('anchor' in data)) throw new Error('no anchor');
  const hash = createHash('sha256').update(formatCanonicalJson(data.seal)).digest('hex');
  expect(data.anchor).toBe(`${data.seal.n}:${hash}`);
  expect(data.seal).toMatchObject({ type: 'seal', signature: expect.any(String) });
});

test('an admin can send a test webhook; if it fails, admins are notified once', async () => {
  const since = receiver.received.length;
  await sendTest();
  await waitForWebhook('test', since);
  expect(toAda().join()).not.toContain(host);

  receiver.respondWith((response) => response.writeHead(503).end());
  await sendTest();
  const failureAlerts = () => toAda().filter((text) => text.includes('are failing, because'));
  await t.workspace.waitFor(() => failureAlerts().length > 0 || undefined, {
    what: 'a message to Ada',
    timeoutMs: 15_000,
  });
  expect(failureAlerts()[0]).toContain(`Webhooks to \`${host}\` (\`WEBHOOK_URLS\`) are failing`);
  await advance(3 * HOUR_MS);
  expect(failureAlerts()).toHaveLength(1);
  receiver.respondWith((response) => response.end());
  // Seals are sent meanwhile, too.
  const failedTest = receiver.received.findLast(({ body }) => body.type === 'test');
  const before = receiver.received.length;
  await advance(6 * HOUR_MS);
  expect((await waitForWebhook('test', before)).id).toBe(failedTest?.id);
});

test('only the last reminder of a name sends a webhook', async () => {
  await t.alice.command('C0DOMAINS', '/domain watch last.example 2030-01-10');
  const moveTo = (day: string) =>
    advance(new Date(`2030-01-${day}T12:00:00Z`).getTime() - Date.now() - aheadMs);
  const reminders = () =>
    receiver.received
      .map(({ body }) => body.data)
      .filter((data) => 'expires' in data && data.name === 'last.example');
  await moveTo('07');
  expect(reminders()).toEqual([]);
  await moveTo('09');
  await until('the last reminder', async () => reminders().length > 0);
  expect(reminders()).toEqual([expect.objectContaining({ code: 'registered', expires: '2030-01-10' })]);
});

test('a Slack outage of an hour sends a webhook', async () => {
  const since = receiver.received.length;
  t.workspace.faults.set({ method: '*', kind: 'http_500' });
  await t.bob.openHome();
  await advance(HOUR_MS / 2);
  expect(receiver.received.slice(since).map(({ body }) => body.type)).not.toContain('slack.unreachable');
  await advance(HOUR_MS);
  const { body } = await waitForWebhook('slack.unreachable', since);
  expect(body.data.code).toBe('unreachable');
});
