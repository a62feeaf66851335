import { afterEach, expect, test } from 'vitest';
import { answerTo, buttonsOf, DOMAINS, textOf, toldAfter, until, useTestDemo } from '../support/demo.ts';
import { approvedBy, ask, chargesFor, requestsOf, type SeenOrder } from '../support/orders.ts';
import { clickAs, giveReason } from '../support/people.ts';

/*
 * It isn't known whether the service carried out an order: public records over plain http are a hint, people settle it,
 * and only then can it be retried. `evidence.test.ts` has records that prove something.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const t = useTestDemo({ settings: { SERVICE_TIMEOUT: '1s' } });

afterEach(() => t.service.faults.clear());

/** A renewal with an unknown outcome, of a name whose date the registry has shown before. */
async function unknownRenewal(name: string, kind: 'drop_after' | 'hang'): Promise<SeenOrder> {
  await t.alice.command(DOMAINS, `/domain watch ${name}`);
  await until(`a registry lookup of ${name}`, async () => {
    return (await t.demo.bot.expiry.find(name))?.expiry?.source === 'rdap';
  });
  t.service.faults.set({ kind, match: { task: 'domain.renew', name }, times: 1 });
  const order = await approvedBy(t.bob, ask(t.workspace, t.alice, `/domain renew ${name}`));
  await order.ends('UNKNOWN');
  return order;
}

test('a changed expiry over plain http: a hint for the approver who settles it, and no proof', async () => {
  const order = await unknownRenewal('cafe.rest', 'drop_after');
  await t.demo.moveTime(MINUTE_MS);
  // After the clock moved, the worker may still have the order; then no lookup ran.
  await until('the hint is on the card', async () => {
    await t.demo.bot.catchUp();
    return textOf(order.card).includes('(not proof)');
  });
  const { card } = order;
  expect(order.state).toBe('UNKNOWN');
  const unwatched = await answerTo(t.workspace, t.alice, '/domain unwatch cafe.rest');
  expect(unwatched, 'one person, while nobody knows').toContain('Another person must confirm this change');
  expect(textOf(card)).toMatch(
    /shows the expiry date .*Before this was sent, it was .*The record came over plain HTTP\. Source:/,
  );
  const history = await answerTo(t.workspace, t.alice, `/domain order ${order.id}`);
  expect(history).toMatch(/found in public records: `[^`]+` “The registry shows/);
  const form = await giveReason(t.workspace, t.bob, card, 'order_resolve_done', 'The invoice shows it');
  expect(textOf(form)).toMatch(/not proof.*plain HTTP/s);
  const reply = await order.ends('SUCCEEDED');
  expect(textOf(reply)).toMatch(/<@U0BOB> marked this as done/);
  expect(textOf(order.card), 'of what is settled').not.toContain('not proof');
  expect(chargesFor(t.service, 'cafe.rest')).toBe(1);
  expect(requestsOf(t.service, order)).toHaveLength(1);
});

test('an unchanged expiry after two weeks: shown as not seen, and never settled as not done', async () => {
  const order = await unknownRenewal('bar.rest', 'hang');
  await t.demo.moveTime(10 * MINUTE_MS);
  await t.demo.moveTime(13 * DAY_MS);
  await t.workspace.waitFor(() => textOf(order.card).includes('No renewal found') || undefined, {
    what: 'the hint on the card',
  });
  await t.allShown();
  expect(order.state).toBe('UNKNOWN');
  expect(buttonsOf(order.card)).toEqual(['order_resolve_done', 'order_resolve_failed', 'order_look']);
  expect(chargesFor(t.service, 'bar.rest')).toBe(0);
});

test('an order that the registry doesn’t show is settled by an approver; no Retry before, one after', async () => {
  const order = await unknownRenewal('deli.rest', 'hang');
  t.service.faults.set({ kind: 'status_503', match: { interface: 'rdap' } });
  await t.demo.moveTime(DAY_MS + MINUTE_MS);
  expect(order.state, 'while the registry is away').toBe('UNKNOWN');
  const unknown = await order.reply('UNKNOWN');
  expect(textOf(unknown), 'what is known').toContain(order.id);
  expect(textOf(unknown)).toContain('<@U0BOB>');
  expect(buttonsOf(unknown)).toEqual(['order_resolve_done', 'order_resolve_failed']);

  await giveReason(t.workspace, t.bob, unknown, 'order_resolve_failed', 'Not on the invoice');
  const settled = await order.ends('FAILED');
  expect(textOf(settled)).toMatch(/<@U0BOB> marked this as failed.*Not on the invoice/s);
  expect(requestsOf(t.service, order)).toHaveLength(1);

  t.service.faults.clear();
  const again = await t.workspace.waitFor(
    () => (buttonsOf(settled).includes('order_retry') ? settled : undefined),
    {
      what: 'Retry',
    },
  );
  await t.alice.click(again, 'order_retry');
  await until('there is another order', () =>
    t.workspace
      .messages(DOMAINS)
      .some((message) => textOf(message).includes('deli.rest') && message.ts > settled.ts),
  );
});

test('a forged Retry during an unknown outcome requests nothing', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew soup.rest');
  t.service.faults.set({ kind: 'hang', match: { task: 'domain.renew' }, times: 1 });
  await t.bob.click(order.card, 'order_approve');
  await order.ends('UNKNOWN');
  const before = t.workspace.messages(DOMAINS).length;
  const told = await toldAfter(t.workspace, t.alice, () =>
    clickAs(t.workspace, t.alice.user.id, 'order_retry', order.id),
  );
  expect(told).toMatch(/Only failed orders can be retried/);
  expect(t.workspace.messages(DOMAINS)).toHaveLength(before);
  expect(requestsOf(t.service, order)).toHaveLength(1);
});
