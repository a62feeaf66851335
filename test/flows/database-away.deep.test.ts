import { afterAll, expect, test } from 'vitest';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { answerTo, toldAfter, until, useTestDemo } from '../support/demo.ts';
import { approvedBy, ask, requestsOf } from '../support/orders.ts';

/* The database is down for a while and comes back. */

const proxy = new DatabaseProxy();
// Registered first, so it runs last, when the bot no longer uses the proxy.
afterAll(() => proxy.close());
const t = useTestDemo({ databaseUrl: (url) => proxy.start(url), speedup: 8 });

const ready = async () => (await fetch(`${t.botUrl}/readyz`)).status;

test('it is not ready, tells people with a reference, and still acknowledges in time', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew cafe.rest');
  await t.allShown();
  proxy.cut();
  const { status, missing } = await (async () => {
    const response = await fetch(`${t.botUrl}/readyz`);
    return { status: response.status, missing: await response.text() };
  })();
  expect([status, missing]).toEqual([503, expect.stringContaining('"database"')]);
  expect((await fetch(`${t.botUrl}/healthz`)).status).toBe(200);
  expect((await fetch(`${t.botUrl}/metrics`)).status, 'the metrics of the process are there').toBe(200);

  const told = await toldAfter(t.workspace, t.bob, async () => {
    const click = await t.bob.click(order.card, 'order_approve');
    expect(click.acked, 'the click is acknowledged').toBe(true);
  });
  const reference = /database.*Reference `([0-9a-f]{8})`/s.exec(told)?.[1];
  expect(reference, told).toBeDefined();
  expect(t.logged()).toContain(`"reference":"${reference}"`);
  expect(requestsOf(t.service, order)).toEqual([]);

  proxy.mend();
  await until('it is ready again', async () => (await ready()) === 200);
  await t.bob.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
});

test('a response that arrives during the outage is kept, and the request isn’t sent again', async () => {
  t.service.faults.set({ kind: 'slow', delayMs: 700, times: 1, match: { task: 'domain.renew' } });
  const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain renew bar.rest'));
  await until('the request is under way', () => requestsOf(t.service, order).length === 1);
  proxy.cut();
  await until('the service has answered', () => requestsOf(t.service, order)[0]?.status === 200);
  await until('the bot has tried to keep it', () => t.logged().includes('saving the outcome of a request'));
  proxy.mend();
  await order.ends('SUCCEEDED', 15_000);
  expect(requestsOf(t.service, order)).toHaveLength(1);
  expect(await answerTo(t.workspace, t.alice, `/domain order ${order.id}`)).toMatch(/service responded/);
});
