import { afterAll, expect, test } from 'vitest';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { performAndReadReply, readCommandReply, until, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand, requestsOf } from '../support/orders.ts';

/* The database is down for a while and comes back. */

const proxy = new DatabaseProxy();
// Registered first, so it runs last, when the bot no longer uses the proxy.
afterAll(() => proxy.close());
const t = useTestDemo({ databaseUrl: (url) => proxy.start(url), speedup: 8 });

const fetchReadyStatus = async () => (await fetch(`${t.botUrl}/readyz`)).status;

test('without its database the bot isn’t ready, but acknowledges clicks and replies', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  await t.waitUntilSlackIsCurrent();
  proxy.cut();
  const response = await fetch(`${t.botUrl}/readyz`);
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('"database"')]);
  expect((await fetch(`${t.botUrl}/healthz`)).status).toBe(200);
  expect((await fetch(`${t.botUrl}/metrics`)).status, 'status of /metrics').toBe(200);

  const reply = await performAndReadReply(t.workspace, t.bob, async () => {
    const click = await t.bob.click(order.card, 'order_approve');
    expect(click.acked, 'the click is acknowledged').toBe(true);
  });
  const reference = /database.*Reference `([0-9a-f]{8})`/s.exec(reply)?.[1];
  expect(reference, reply).toBeDefined();
  expect(t.getLog()).toContain(`"reference":"${reference}"`);
  expect(requestsOf(t.service, order)).toEqual([]);

  proxy.restore();
  await until('the bot is ready again', async () => (await fetchReadyStatus()) === 200);
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
});

test('a response that arrives during the outage is saved, and the request isn’t sent again', async () => {
  t.service.faults.set({ kind: 'slow', delayMs: 700, times: 1, match: { task: 'domain.renew' } });
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew bar.rest'),
  );
  await until('the request is sent', () => requestsOf(t.service, order).length === 1);
  proxy.cut();
  await until('the service has responded', () => requestsOf(t.service, order)[0]?.status === 200);
  await until('an attempt to save the outcome', () => t.getLog().includes('saving the outcome of a request'));
  proxy.restore();
  await order.waitForResult('SUCCEEDED', 15_000);
  expect(requestsOf(t.service, order)).toHaveLength(1);
  expect(await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`)).toMatch(
    /service responded/,
  );
});
