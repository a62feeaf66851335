import { expect, test } from 'vitest';
import { DOMAINS, useTestDemo } from '../support/demo.ts';
import { ask, orderAfter } from '../support/orders.ts';
import { ephemeral } from '../support/people.ts';

/*
 * What waits for an approver where nobody has set it: what costs money, and what can lose a name.
 */

// Empty counts as unset: the default holds.
const t = useTestDemo({ settings: { APPROVAL_TASKS: '' } });

test('an auth code is fetched once an approver has let it go', async () => {
  const order = await ask(t.workspace, t.alice, '/domain authcode tavern.rest');
  await order.becomes('PENDING');
  expect(t.service.requestsFor({ task: 'domain.authinfo' })).toEqual([]);
  await t.bob.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
});

test('a deletion that is confirmed waits for an approver', async () => {
  await t.alice.command(DOMAINS, '/domain delete deli.rest');
  const draft = await ephemeral(t.workspace, t.alice, 'the question', ({ text }) =>
    text.includes('deli.rest'),
  );
  const order = await orderAfter(t.workspace, () => t.alice.click(draft, 'order_confirm'));
  await order.becomes('PENDING');
  expect(t.service.requestsFor({ task: 'domain.delete' })).toEqual([]);
});

test('nameservers go out at once', async () => {
  const order = await ask(
    t.workspace,
    t.alice,
    '/domain nameservers cafe.rest ns1.example.net ns2.example.net',
  );
  await order.ends('SUCCEEDED');
});
