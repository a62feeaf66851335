import { expect, test } from 'vitest';
import type { OrderItem } from '../../../src/orders/order.ts';
import type { OrderLogEntry } from '../../../src/orders/order-events.ts';
import { AUDIT_COLUMNS, buildOrderCells } from '../../../src/slack/ledger/audit.view.ts';

import { orderHistory, orderReply } from '../../../src/slack/orders/thread.view.ts';
import { newOrderEvent } from '../../support/log.ts';
import { REQUESTED_AT, renderCard, sampleOrder } from './samples.ts';

/* Every view shows stored codes as text. */

async function auditedResult(entry: OrderLogEntry) {
  const cells = await buildOrderCells(
    { order: sampleOrder('FAILED'), entry, decisions: [] },
    async (id) => id,
  );
  return cells[AUDIT_COLUMNS.indexOf('result')];
}

const summary = { code: 'account_gone' };
const retryReason = { code: 'busy' };
const LINK_AGAIN =
  /is no longer linked, so nothing was sent\. Link it again with `\/domain link` and request/;

test('the audit log shows the text of a stored code', async () => {
  expect(await auditedResult(newOrderEvent('stopped', 'FAILED', { summary }))).toMatch(LINK_AGAIN);
  expect(await auditedResult(newOrderEvent('answered', 'FAILED', { result: { summary } }))).toMatch(
    LINK_AGAIN,
  );
  expect(await auditedResult(newOrderEvent('retry_scheduled', 'FAILED', { retryReason }))).toBe(
    'The service is busy.',
  );
});

test('the thread shows the text of a stored code', () => {
  const order = sampleOrder('EXECUTING');
  const names = order.items.map(({ name }) => name);
  const reply = orderReply(order, newOrderEvent('stopped', 'EXECUTING', { summary, names }), []);
  expect(JSON.stringify(reply)).toMatch(LINK_AGAIN);
});

test('the history shows the text of a stored code', () => {
  const shown = JSON.stringify(
    orderHistory(sampleOrder('EXECUTING'), [newOrderEvent('retry_scheduled', 'EXECUTING', { retryReason })]),
  );
  expect(shown).toContain('(The service is busy.)');
});

test('the card shows the text of a stored code', () => {
  const waiting = sampleOrder('APPROVED');
  const items = waiting.items.map(
    (item): OrderItem => ({ ...item, state: 'WAITING', notBefore: REQUESTED_AT }),
  );
  const history = [newOrderEvent('retry_scheduled', 'EXECUTING', { retryReason })];
  const card = renderCard({ ...waiting, items }, { approvers: [], history });
  expect(JSON.stringify(card)).toMatch(/next attempt .*\. The service is busy\./);
});
