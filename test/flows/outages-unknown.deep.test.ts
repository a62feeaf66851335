import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  openForm,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import {
  countChargesFor,
  requestAndApprove,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
  waitForOrder,
} from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS, downloadAuditLog, giveReason } from '../support/people.ts';

/*
 * Orders with an unknown outcome: how people settle them, and what late responses of the service change.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const t = useTestDemo({ settings: { SERVICE_TIMEOUT: '20s' } });

afterEach(() => t.service.faults.clear());

async function requestRegistration(name: string): Promise<VisibleOrder> {
  const form = await openForm(t.workspace, t.alice, `/domain create ${name}`);
  const submit = () => t.alice.submit(form, CONTACTS_AND_NAMESERVERS);
  return requestAndApprove(t.bob, waitForOrder(t.workspace, submit, DOMAINS, name));
}

/** Leases use the database's clock, which tests can't move. */
async function expireLease(): Promise<void> {
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

async function auditLinesOf(order: VisibleOrder): Promise<string[]> {
  const { csv } = await downloadAuditLog(t.workspace);
  return csv.split('\r\n').filter((line) => line.includes(order.id));
}

test('a registration that was never carried out is settled only by an approver, then retried', async () => {
  t.service.faults.set({ kind: 'drop_before', times: 1, match: { task: 'domain.create' } });
  const order = await requestRegistration('never-made.rest');
  const unknown = await order.waitForResult('UNKNOWN');
  expect(buttonsOf(unknown), 'buttons before it is settled').not.toContain('order_retry');
  await t.demo.moveTime(60 * MINUTE_MS);
  await t.demo.moveTime(4 * DAY_MS);
  await t.workspace.waitFor(
    () => textOf(order.card).includes('No registration of the name was found') || undefined,
    { what: 'the hint on the card' },
  );
  expect(order.state).toBe('UNKNOWN');
  await giveReason(t.workspace, t.bob, order.card, 'order_resolve_failed', 'Not on the invoice');
  const reply = await order.waitForResult('FAILED');
  expect(buttonsOf(reply)).toEqual(['order_retry']);
  const retry = await waitForOrder(t.workspace, () => t.alice.click(reply, 'order_retry'));
  await t.bob.click(retry.card, 'order_approve');
  await retry.waitForResult('SUCCEEDED');
  expect(countChargesFor(t.service, 'never-made.rest')).toBe(1);
});

test('a late response to a settled order stops a pending retry or limits a new one', async () => {
  t.service.faults.set({ kind: 'drop_before', times: 1, match: { name: 'soup.rest', task: 'domain.renew' } });
  for (const name of ['sushi.rest', 'tapas.rest'])
    t.service.faults.set({ kind: 'slow', delayMs: 7_000, match: { name, task: 'domain.renew' } });
  const settleAsFailed = async (names: string) => {
    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, `/domain renew ${names}`),
    );
    const count = names.split(' ').length;
    await until(`${names} is sent`, () => requestsOf(t.service, order).length === count);
    // The order becomes unknown, and an approver settles it.
    await expireLease();
    const unknown = await order.waitForResult('UNKNOWN');
    await giveReason(t.workspace, t.bob, unknown, 'order_resolve_failed', 'Nothing there');
    return { order, failedReply: await order.waitForResult('FAILED') };
  };
  const waitForLateReply = (order: VisibleOrder) =>
    t.workspace.waitFor(() => order.replies().find((reply) => textOf(reply).includes('has now responded')), {
      what: 'the late response in the thread',
      timeoutMs: 15_000,
    });
  const { order } = await settleAsFailed('soup.rest sushi.rest');
  const singleRenewal = await settleAsFailed('tapas.rest');
  const pendingRetry = await waitForOrder(t.workspace, () =>
    t.alice.click(singleRenewal.failedReply, 'order_retry'),
  );

  const lateReply = await waitForLateReply(order);
  expect(textOf(lateReply)).toMatch(/\*sushi\.rest\* of .*contradicts the outcome that was entered/);
  expect(lateReply.notifies, 'notified people').toEqual(
    expect.arrayContaining(['U0ALICE', 'U0BOB', 'S0APPROVERS']),
  );
  expect(textOf(lateReply)).toMatch(/<@U0BOB> marked it as failed. The service says that it was carried out/);
  await t.waitUntilSlackIsCurrent();
  expect(order.state, 'the settled state').toBe('FAILED');
  const laterRetry = await waitForOrder(t.workspace, () => t.alice.click(order.card, 'order_retry'));
  await t.bob.click(laterRetry.card, 'order_approve');
  await laterRetry.waitForResult('SUCCEEDED');
  expect(
    [countChargesFor(t.service, 'soup.rest'), countChargesFor(t.service, 'sushi.rest')],
    'charges',
  ).toEqual([1, 1]);
  const details = await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`);
  expect(details).toMatch(/service responded after the outcome was entered.* done/);
  expect((await auditLinesOf(order)).filter((line) => line.includes(',answered_late,'))).toHaveLength(1);

  await waitForLateReply(singleRenewal.order);
  await t.bob.click(pendingRetry.card, 'order_approve');
  const stoppedReply = await pendingRetry.waitForResult('FAILED');
  expect(textOf(stoppedReply)).toMatch(
    new RegExp(`Order \`${singleRenewal.order.id}\`, which this retries, was carried out after all`),
  );
  expect(buttonsOf(pendingRetry.card), 'buttons without Retry').toEqual(['order_look', 'order_receipt']);
  expect(requestsOf(t.service, pendingRetry)).toEqual([]);
  expect(countChargesFor(t.service, 'tapas.rest')).toBe(1);
});
