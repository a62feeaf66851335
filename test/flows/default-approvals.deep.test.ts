import { expect, test } from 'vitest';
import { textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { ask, orderAfter } from '../support/orders.ts';
import { askAndConfirm } from '../support/people.ts';

/* Tasks that need an approver by default: paid ones, and those that can lose a name or take it offline. */

// Empty counts as unset: the default applies.
const t = useTestDemo({ settings: { APPROVAL_TASKS: '' } });

test('an auth code is fetched after an approval', async () => {
  const order = await ask(t.workspace, t.alice, '/domain authcode tavern.rest');
  await order.becomes('PENDING');
  expect(t.service.requestsFor({ task: 'domain.authinfo' })).toEqual([]);
  await t.bob.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
});

test('a confirmed deletion waits for an approver', async () => {
  const order = await askAndConfirm(t.workspace, t.alice, '/domain delete deli.rest', 'deli.rest');
  await order.becomes('PENDING');
  expect(t.service.requestsFor({ task: 'domain.delete' })).toEqual([]);
});

test('confirmed nameservers wait for an approver, and so do those that undo them', async () => {
  const change = async (text: string) => {
    const order = await askAndConfirm(t.workspace, t.alice, text, 'bar.rest');
    await order.becomes('PENDING');
    return order;
  };
  const order = await change('/domain nameservers bar.rest ns1.example.net ns2.example.net');
  expect(t.service.requestsFor({ task: 'domain.update' })).toEqual([]);
  await t.bob.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
  expect(textOf(order.card)).toContain('Undo until');

  await toldAfter(t.workspace, t.alice, () => t.alice.click(order.card, 'order_undo'));
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('nothing was asked');
  const undo = await orderAfter(t.workspace, () => t.alice.click(draft, 'order_confirm'));
  await undo.becomes('PENDING');
  await t.bob.click(undo.card, 'order_approve');
  await undo.ends('SUCCEEDED');
});
