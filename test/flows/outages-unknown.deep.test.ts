import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { answerTo, buttonsOf, DOMAINS, openForm, textOf, until, useTestDemo } from '../support/demo.ts';
import { approvedBy, ask, chargesFor, orderAfter, requestsOf, type SeenOrder } from '../support/orders.ts';
import { auditLog, DELEGATION, giveReason } from '../support/people.ts';

/*
 * Unknown outcomes from the lost response to their end: people's settlements, the service's late responses, and their
 * audit lines.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const t = useTestDemo({ settings: { SERVICE_TIMEOUT: '20s' } });

afterEach(() => t.service.faults.clear());

async function registration(name: string): Promise<SeenOrder> {
  const form = await openForm(t.workspace, t.alice, `/domain create ${name}`);
  const submit = () => t.alice.submit(form, DELEGATION);
  return approvedBy(t.bob, orderAfter(t.workspace, submit, DOMAINS, name));
}

/** The worker counts as dead: leases use the database's clock. */
async function takeFromWorker(): Promise<void> {
  const database = new pg.Client(t.databaseUrl);
  await database.connect();
  try {
    await database.query(
      "UPDATE orders SET lease_until = now() - interval '1 minute' WHERE state = 'EXECUTING'",
    );
  } finally {
    await database.end();
  }
}

/** The audit log's lines about an order. */
async function audited(order: SeenOrder): Promise<string[]> {
  const { csv } = await auditLog(t.workspace);
  return csv.split('\r\n').filter((line) => line.includes(order.id));
}

test('a registration that was never carried out isn’t settled automatically; an approver does, and Retry makes one', async () => {
  t.service.faults.set({ kind: 'drop_before', times: 1, match: { task: 'domain.create' } });
  const order = await registration('never-made.rest');
  const unknown = await order.ends('UNKNOWN');
  expect(buttonsOf(unknown), 'Retry before anything is settled').not.toContain('order_retry');
  await t.demo.moveTime(60 * MINUTE_MS);
  await t.demo.moveTime(4 * DAY_MS);
  await t.workspace.waitFor(
    () => textOf(order.card).includes('No registration of the name was found') || undefined,
    {
      what: 'the hint on the card',
    },
  );
  expect(order.state).toBe('UNKNOWN');
  await giveReason(t.workspace, t.bob, order.card, 'order_resolve_failed', 'Not on the invoice');
  const reply = await order.ends('FAILED');
  expect(buttonsOf(reply)).toEqual(['order_retry']);
  const again = await orderAfter(t.workspace, () => t.alice.click(reply, 'order_retry'));
  await t.bob.click(again.card, 'order_approve');
  await again.ends('SUCCEEDED');
  expect(chargesFor(t.service, 'never-made.rest')).toBe(1);
});

test('the late answers of orders that were settled are posted: a pending Retry is stopped, another one asks for the rest', async () => {
  t.service.faults.set({ kind: 'drop_before', times: 1, match: { name: 'soup.rest', task: 'domain.renew' } });
  for (const name of ['sushi.rest', 'tapas.rest'])
    t.service.faults.set({ kind: 'slow', delayMs: 7_000, match: { name, task: 'domain.renew' } });
  const settled = async (names: string) => {
    const order = await approvedBy(t.bob, ask(t.workspace, t.alice, `/domain renew ${names}`));
    const count = names.split(' ').length;
    await until(`${names} is sent`, () => requestsOf(t.service, order).length === count);
    // An approver settles the dead worker's order.
    await takeFromWorker();
    const unknown = await order.ends('UNKNOWN');
    await giveReason(t.workspace, t.bob, unknown, 'order_resolve_failed', 'Nothing there');
    return { order, failed: await order.ends('FAILED') };
  };
  const late = (order: SeenOrder) =>
    t.workspace.waitFor(() => order.replies().find((reply) => textOf(reply).includes('has now responded')), {
      what: 'the late answer in the thread',
      timeoutMs: 15_000,
    });
  const { order } = await settled('soup.rest sushi.rest');
  const single = await settled('tapas.rest');
  const pending = await orderAfter(t.workspace, () => t.alice.click(single.failed, 'order_retry'));

  const told = await late(order);
  expect(textOf(told)).toMatch(/\*sushi\.rest\* of .*contradicts the outcome that was entered/);
  expect(told.notifies, 'whom it pings').toEqual(expect.arrayContaining(['U0ALICE', 'U0BOB', 'S0APPROVERS']));
  expect(textOf(told)).toMatch(/<@U0BOB> marked it as failed. The service says that it was carried out/);
  await t.allShown();
  expect(order.state, 'what was settled stays').toBe('FAILED');
  const again = await orderAfter(t.workspace, () => t.alice.click(order.card, 'order_retry'));
  await t.bob.click(again.card, 'order_approve');
  await again.ends('SUCCEEDED');
  expect(
    [chargesFor(t.service, 'soup.rest'), chargesFor(t.service, 'sushi.rest')],
    'what was done is not asked for again',
  ).toEqual([1, 1]);
  const said = await answerTo(t.workspace, t.alice, `/domain order ${order.id}`);
  expect(said).toMatch(/service responded after the outcome was entered.* done/);
  expect((await audited(order)).filter((line) => line.includes(',answered_late,'))).toHaveLength(1);

  await late(single.order);
  await t.bob.click(pending.card, 'order_approve');
  const stopped = await pending.ends('FAILED');
  expect(textOf(stopped)).toMatch(
    new RegExp(`Order \`${single.order.id}\`, which this retries, was carried out after all`),
  );
  expect(buttonsOf(pending.card), 'Retry').toEqual(['order_look', 'order_receipt']);
  expect(requestsOf(t.service, pending)).toEqual([]);
  expect(chargesFor(t.service, 'tapas.rest')).toBe(1);
});
