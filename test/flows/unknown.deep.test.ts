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
  requestAndApprove,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
} from '../support/orders.ts';
import { forgeClick, giveReason } from '../support/people.ts';

/*
 * Orders with an unknown outcome: public records over plain HTTP are only hints, people settle the order, and only then
 * can it be retried. `evidence.deep.test.ts` has records that are proof.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const t = useTestDemo({ settings: { SERVICE_TIMEOUT: '1s' } });

afterEach(() => t.service.faults.clear());

/** Renews a watched name, whose date the registry has shown before, with an unknown outcome. */
async function requestUnknownRenewal(name: string, kind: 'drop_after' | 'hang'): Promise<VisibleOrder> {
  await t.alice.command(DOMAINS, `/domain watch ${name}`);
  await until(`a registry lookup of ${name}`, async () => {
    return (await t.demo.bot.expiry.find(name))?.expiry?.source === 'rdap';
  });
  t.service.faults.set({ kind, match: { task: 'domain.renew', name }, times: 1 });
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, `/domain renew ${name}`),
  );
  await order.waitForResult('UNKNOWN');
  return order;
}

test('a changed expiry over plain HTTP is a hint, not proof, and an approver settles the order', async () => {
  const order = await requestUnknownRenewal('cafe.rest', 'drop_after');
  await t.demo.moveTime(MINUTE_MS);
  // If the worker still had the order when the clock moved, no lookup has run.
  await until('the hint is on the card', async () => {
    await t.demo.bot.catchUp();
    return textOf(order.card).includes('(not proof)');
  });
  const { card } = order;
  expect(order.state).toBe('UNKNOWN');
  const unwatched = await readCommandReply(t.workspace, t.alice, '/domain unwatch cafe.rest');
  expect(unwatched, 'while it is unknown').toContain('Another person must confirm this change');
  expect(textOf(card)).toMatch(
    /shows the expiry date .*Before this was sent, it was .*The record came over plain HTTP\. Source:/,
  );
  const history = await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`);
  expect(history).toMatch(/found in public records: `[^`]+` “The registry shows/);
  const form = await giveReason(t.workspace, t.bob, card, 'order_resolve_done', 'The invoice shows it');
  expect(textOf(form)).toMatch(/not proof.*plain HTTP/s);
  const reply = await order.waitForResult('SUCCEEDED');
  expect(textOf(reply)).toMatch(/<@U0BOB> marked this as done/);
  expect(textOf(order.card), 'the settled card').not.toContain('not proof');
  expect(countChargesFor(t.service, 'cafe.rest')).toBe(1);
  expect(requestsOf(t.service, order)).toHaveLength(1);
});

test('an unchanged expiry after two weeks is shown, but doesn’t settle the order as failed', async () => {
  const order = await requestUnknownRenewal('bar.rest', 'hang');
  await t.demo.moveTime(10 * MINUTE_MS);
  await t.demo.moveTime(13 * DAY_MS);
  await t.workspace.waitFor(() => textOf(order.card).includes('No renewal found') || undefined, {
    what: 'the hint on the card',
  });
  await t.waitUntilSlackIsCurrent();
  expect(order.state).toBe('UNKNOWN');
  expect(buttonsOf(order.card)).toEqual(['order_resolve_done', 'order_resolve_failed', 'order_look']);
  expect(countChargesFor(t.service, 'bar.rest')).toBe(0);
});

test('an order that the registry doesn’t show can be retried only after an approver settles it', async () => {
  const order = await requestUnknownRenewal('deli.rest', 'hang');
  t.service.faults.set({ kind: 'status_503', match: { interface: 'rdap' } });
  await t.demo.moveTime(DAY_MS + MINUTE_MS);
  expect(order.state, 'the state while the registry is down').toBe('UNKNOWN');
  const unknown = await order.waitForReply('UNKNOWN');
  expect(textOf(unknown), 'the order in the reply').toContain(order.id);
  expect(textOf(unknown)).toContain('<@U0BOB>');
  expect(buttonsOf(unknown)).toEqual(['order_resolve_done', 'order_resolve_failed']);

  await giveReason(t.workspace, t.bob, unknown, 'order_resolve_failed', 'Not on the invoice');
  const settled = await order.waitForResult('FAILED');
  expect(textOf(settled)).toMatch(/<@U0BOB> marked this as failed.*Not on the invoice/s);
  expect(requestsOf(t.service, order)).toHaveLength(1);

  t.service.faults.clear();
  const again = await t.workspace.waitFor(
    () => (buttonsOf(settled).includes('order_retry') ? settled : undefined),
    { what: 'Retry' },
  );
  await t.alice.click(again, 'order_retry');
  await until('the retry’s card', () =>
    t.workspace
      .messages(DOMAINS)
      .some((message) => textOf(message).includes('deli.rest') && message.ts > settled.ts),
  );
});

test('a forged Retry is refused while the outcome is unknown', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew soup.rest');
  t.service.faults.set({ kind: 'hang', match: { task: 'domain.renew' }, times: 1 });
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('UNKNOWN');
  const before = t.workspace.messages(DOMAINS).length;
  const answer = await performAndReadReply(t.workspace, t.alice, () =>
    forgeClick(t.workspace, t.alice.user.id, 'order_retry', order.id),
  );
  expect(answer).toMatch(/Only failed orders can be retried/);
  expect(t.workspace.messages(DOMAINS)).toHaveLength(before);
  expect(requestsOf(t.service, order)).toHaveLength(1);
});
