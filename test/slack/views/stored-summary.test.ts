import { expect, test } from 'vitest';
import type { OrderItem, OrderState } from '../../../src/orders/order.ts';
import type { HistoryEntry } from '../../../src/orders/ports.ts';
import { AUDIT_COLUMNS, orderRow } from '../../../src/slack/views/audit.ts';

import { orderHistory, orderReply } from '../../../src/slack/views/thread.ts';
import { ASKED_AT, cardOf, sampleOrder } from './samples.ts';

/*
 * What is kept as a code is shown in words everywhere.
 */

function entry(kind: HistoryEntry['kind'], state: OrderState, detail: HistoryEntry['detail']): HistoryEntry {
  return { orderId: 'order1', version: 3, at: ASKED_AT, actor: 'system', kind, state, detail };
}

async function auditedResult(kind: HistoryEntry['kind'], detail: HistoryEntry['detail']) {
  const cells = await orderRow(
    { order: sampleOrder('FAILED'), entry: entry(kind, 'FAILED', detail), approvals: [] },
    async (id) => id,
  );
  return cells[AUDIT_COLUMNS.indexOf('result')];
}

const summary = { code: 'account_gone' };
const why = { code: 'busy' };
const LINK_AGAIN = /is no longer linked, so nothing was sent\. Link it again with `\/domain link` and ask/;

test('stands in the audit log', async () => {
  expect(await auditedResult('stopped', { summary })).toMatch(LINK_AGAIN);
  expect(await auditedResult('answered', { result: { summary } })).toMatch(LINK_AGAIN);
  expect(await auditedResult('retry_scheduled', { why })).toBe('The service is busy.');
});

test('stands in the thread', () => {
  const order = sampleOrder('EXECUTING');
  const names = order.items.map(({ name }) => name);
  const reply = orderReply(order, entry('stopped', 'EXECUTING', { summary, names }), []);
  expect(JSON.stringify(reply)).toMatch(LINK_AGAIN);
});

test('stands in the history', () => {
  const shown = JSON.stringify(orderHistory([entry('retry_scheduled', 'EXECUTING', { why })]));
  expect(shown).toContain('(The service is busy.)');
});

test('stands on the card', () => {
  const waiting = sampleOrder('APPROVED');
  const items = waiting.items.map((item): OrderItem => ({ ...item, state: 'WAITING', notBefore: ASKED_AT }));
  const history = [entry('retry_scheduled', 'EXECUTING', { why })];
  const card = cardOf({ ...waiting, items }, { approvers: [], history });
  expect(JSON.stringify(card)).toMatch(/waits until [^:]*:?.*: The service is busy\./);
});
