import { expect, test } from 'vitest';
import {
  DOMAINS,
  openForm,
  performAndReadReply,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { countChargesFor, orderOf, requestByCommand, waitForOrder } from '../support/orders.ts';
import { forgeClick } from '../support/people.ts';

/* An order for several names has one card and one approval, and a request and a result per name. */

const t = useTestDemo();

test('a failed name doesn’t block the others, and Retry requests only the failed ones', async () => {
  t.service.faults.set({
    kind: 'refuse',
    code: 'EF01055',
    text: 'not now',
    times: 1,
    match: { task: 'domain.renew', name: 'soup.rest' },
  });
  const order = await requestByCommand(
    t.workspace,
    t.alice,
    '/domain renew ramen.rest soup.rest spoon.rest unheld.rest',
  );
  await t.bob.click(order.card, 'order_approve');
  const reply = await order.waitForResult('FAILED');
  const result = textOf(reply);
  expect(result).toMatch(/ramen\.rest.*done/);
  expect(result).toMatch(/spoon\.rest.*done/);
  expect(result).toMatch(/soup\.rest.*failed.*EF01055.*not now/s);
  expect(result).toMatch(/unheld\.rest.*failed.*EF01015/s);

  const retryOrder = await waitForOrder(t.workspace, () => t.bob.click(reply, 'order_retry'));
  await retryOrder.waitForState('PENDING');
  expect(orderOf(retryOrder.card)).toMatchObject({ names: 'soup.rest,unheld.rest' });
  expect(textOf(retryOrder.card), 'the new requester').toMatch(/<@U0BOB>/);
  expect(textOf(retryOrder.card), 'the owner of the account').toMatch(/Uses <@U0ALICE>’s account.*alice\/4/s);
  const notice = await t.workspace.waitFor(() => retryOrder.replies()[0], { what: 'a message to Alice' });
  expect(textOf(notice)).toMatch(/<@U0ALICE>: .*<@U0BOB> retried the failed order .* with your account/);
  expect(notice.notifies).toEqual(expect.arrayContaining(['U0ALICE']));
  for (const person of [t.bob, t.alice]) {
    const answer = await performAndReadReply(t.workspace, person, () =>
      person.click(retryOrder.card, 'order_approve'),
    );
    expect(answer).toMatch(/You requested this, so/);
  }
  const history = await readCommandReply(t.workspace, t.alice, `/domain order ${retryOrder.id}`);
  expect(history, 'the history names the person').toMatch(/History.*requested by <@U0BOB>/s);
  await t.carol.click(retryOrder.card, 'order_approve');
  await retryOrder.waitForResult('FAILED');
  expect(t.service.requestsFor({ task: 'domain.renew', name: 'ramen.rest' })).toHaveLength(1);
  expect(t.service.requestsFor({ task: 'domain.renew', name: 'soup.rest' })).toHaveLength(2);
  expect(countChargesFor(t.service, 'soup.rest')).toBe(1);

  const answer = await performAndReadReply(t.workspace, t.alice, () =>
    t.alice.click(order.card, 'order_retry'),
  );
  expect(answer, 'an order is retried only once').toMatch(
    new RegExp(`already retried.*${retryOrder.id}.*failed`, 's'),
  );
});

test('the account’s owner is notified of a retry whose card is in another direct message', async () => {
  const failedOrder = await waitForOrder(
    t.workspace,
    () => t.alice.command('C0NOBOT', '/domain renew nowhere.rest'),
    'D0ALICE',
  );
  await forgeClick(t.workspace, 'U0BOB', 'order_approve', failedOrder.id);
  await failedOrder.waitForResult('FAILED');
  const retryOrder = await waitForOrder(
    t.workspace,
    () => forgeClick(t.workspace, 'U0BOB', 'order_retry', failedOrder.id),
    'D0BOB',
  );
  await t.workspace.waitFor(
    () => t.workspace.messages('D0ALICE').find((message) => textOf(message).includes(retryOrder.id)),
    { what: 'a message to Alice' },
  );
  expect(retryOrder.replies(), 'no replies where Alice can’t read them').toEqual([]);
});

test('a command with a name that has an open order is refused and names that order', async () => {
  const openOrder = await requestByCommand(t.workspace, t.alice, '/domain renew plate.rest');
  const answer = await readCommandReply(t.workspace, t.alice, '/domain renew pasta.rest plate.rest');
  expect(answer).toContain(`/domain order ${openOrder.id}`);
  expect(
    t.workspace.messages(DOMAINS).filter((message) => orderOf(message)?.names.includes('pasta')),
  ).toEqual([]);
});

test('all invalid names in a command are listed', async () => {
  const answer = await readCommandReply(
    t.workspace,
    t.alice,
    '/domain renew cafe.rest café_bar.rest 10.0.0.1 -bad.rest 11',
  );
  expect(answer).toContain('Nothing was requested');
  for (const part of ['underscore', 'IP address', 'hyphen']) expect(answer).toContain(part);
});

test('more than 50 names are refused with a reason, in the command and in the form', async () => {
  const names = Array.from({ length: 51 }, (_, index) => `bulk-${index}.rest`);
  const answer = await readCommandReply(t.workspace, t.alice, `/domain renew ${names.join(' ')} 1`);
  expect(answer).toContain('at most 50 names');
  const view = await openForm(t.workspace, t.alice, '/domain renew');
  expect(await t.alice.submit(view, { names: names.join('\n') })).toMatchObject({
    outcome: 'errors',
    errors: { names: expect.stringContaining('at most 50 names') },
  });
  const order = await waitForOrder(t.workspace, () =>
    t.alice.submit(view, { names: [...names.slice(1), 'bulk-50.rest'].join('\n'), period: '1' }),
  );
  await order.waitForState('PENDING');
  expect(orderOf(order.card)?.names.split(',')).toHaveLength(50);
  await t.alice.click(order.card, 'order_cancel');
  await order.waitForResult('CANCELLED');
});
