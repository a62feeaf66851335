import { afterEach, expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  performAndReadReply,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import {
  countChargesFor,
  orderOf,
  requestAndApprove,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
} from '../support/orders.ts';
import { downloadAuditLog, forgeClick } from '../support/people.ts';

/* An approved order that is retried because the service is busy can be stopped. */

const HOUR_MS = 60 * 60_000;

const t = useTestDemo();

afterEach(() => t.service.faults.clear());

const waitForStopButton = (order: VisibleOrder) =>
  t.workspace.waitFor(
    () =>
      buttonsOf(order.card).includes('order_stop') && textOf(order.card).includes('next attempt')
        ? order.card
        : undefined,
    { what: 'Stop on the card' },
  );

test('the card shows the next attempt, and Stop cancels the order without further requests', async () => {
  t.service.faults.set({ kind: 'status_429', retryAfter: 600, match: { name: 'cafe.rest' } });
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2'),
  );
  await order.waitForState('APPROVED');
  const card = await waitForStopButton(order);
  expect(textOf(card)).toMatch(/Waiting to retry.*next attempt .*The service is busy\./s);
  expect(await performAndReadReply(t.workspace, t.ada, () => t.ada.click(card, 'order_stop'))).toMatch(
    /Only the requester or an approver can stop this/,
  );
  expect(order.state).toBe('APPROVED');

  await t.alice.click(card, 'order_stop');
  const reply = await order.waitForResult('CANCELLED');
  expect(textOf(reply)).toMatch(
    /Renew cafe\.rest for 2 years.*stopped by <@U0ALICE>\..*nothing was carried out/,
  );
  expect(textOf(order.card)).toMatch(/Stopped, nothing was carried out/);
  expect(buttonsOf(order.card)).toEqual(['order_look', 'order_receipt']);
  const late = () => forgeClick(t.workspace, 'U0BOB', 'order_stop', order.id);
  expect(await performAndReadReply(t.workspace, t.bob, late)).toMatch(/was canceled/);
  expect(await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`)).toMatch(
    /stopped: the rest won’t be sent by <@U0ALICE>/,
  );
  const { csv } = await downloadAuditLog(t.workspace);
  expect(csv.split('\r\n').find((line) => line.includes(order.id) && line.includes(',stopped,'))).toMatch(
    /,stopped,Alice \(U0ALICE\),.*,CANCELLED,/,
  );

  t.service.faults.clear();
  const again = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest'),
  );
  await again.waitForResult('SUCCEEDED');
  await t.demo.moveTime(HOUR_MS);
  await t.waitUntilSlackIsCurrent();
  expect(requestsOf(t.service, order).map(({ status }) => status)).toEqual([429]);
  expect(countChargesFor(t.service, 'cafe.rest')).toBe(1);
});

test('Stop on an order for several names keeps the done one and stops the pending one', async () => {
  t.service.faults.set({ kind: 'status_429', retryAfter: 600, match: { name: 'deli.rest' } });
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew bar.rest deli.rest'),
  );
  const card = await waitForStopButton(order);
  await t.bob.click(card, 'order_stop');
  const reply = await order.waitForResult('FAILED');
  expect(textOf(reply)).toMatch(
    /bar\.rest\*: done.*deli\.rest\*: failed · Stopped by <@U0BOB> before it was sent again/s,
  );
  await t.demo.moveTime(HOUR_MS);
  await t.waitUntilSlackIsCurrent();
  await until('both requests', () => requestsOf(t.service, order).length === 2);
  expect([countChargesFor(t.service, 'bar.rest'), countChargesFor(t.service, 'deli.rest')]).toEqual([1, 0]);
  expect(t.workspace.messages(DOMAINS).filter((message) => orderOf(message)?.id === order.id)).toHaveLength(
    2,
  );
});
