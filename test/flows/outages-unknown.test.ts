import { afterEach, expect, test } from 'vitest';
import { answerTo, buttonsOf, DOMAINS, openForm, textOf, until, useTestDemo } from '../support/demo.ts';
import { approvedBy, ask, chargesFor, orderAfter, requestsOf, type SeenOrder } from '../support/orders.ts';
import { auditLog, DELEGATION, giveReason } from '../support/people.ts';

/*
 * Unknown outcomes from the lost answer to the last word: what the registry's record settles, what people settle, what
 * the service says after all, and what of it an auditor reads.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const t = useTestDemo({ settings: { SERVICE_TIMEOUT: '4s' } });

afterEach(() => t.service.faults.clear());

async function registration(name: string): Promise<SeenOrder> {
  const form = await openForm(t.workspace, t.alice, `/domain create ${name}`);
  const submit = () => t.alice.submit(form, DELEGATION);
  return approvedBy(t.bob, orderAfter(t.workspace, submit, DOMAINS, name));
}

/** The audit log's lines about an order. */
async function audited(order: SeenOrder): Promise<string[]> {
  const { csv } = await auditLog(t.workspace);
  return csv.split('\r\n').filter((line) => line.includes(order.id));
}

test('a registration: the name that is there now settles it as done, by nobody’s hand', async () => {
  t.service.faults.set({ kind: 'drop_after', times: 1, match: { task: 'domain.create' } });
  const order = await registration('brand-new.rest');
  const unknown = await order.ends('UNKNOWN');
  expect(buttonsOf(unknown), 'Retry before anything is settled').not.toContain('order_retry');
  await t.demo.moveTime(6 * MINUTE_MS);
  const reply = await order.ends('SUCCEEDED');
  expect(textOf(reply)).toMatch(
    /registry’s public record settled this as done.*registered when this was sent/s,
  );
  expect(chargesFor(t.service, 'brand-new.rest')).toBe(1);
  expect(requestsOf(t.service, order)).toHaveLength(1);
  await until('the name is on the watch list', async () => {
    return (await t.demo.bot.expiry.find('brand-new.rest'))?.expiry !== undefined;
  });
  const settled = (await audited(order)).filter((line) => line.includes(',settled,'));
  expect(settled).toHaveLength(1);
  expect(settled[0]).toMatch(/,settled,Registry record \(RDAP\),.*registered when this was sent/);
});

test('a registration that nobody carried out: settled as not done a day later, and Retry makes one', async () => {
  t.service.faults.set({ kind: 'drop_before', times: 1, match: { task: 'domain.create' } });
  const order = await registration('never-made.rest');
  await order.ends('UNKNOWN');
  await t.demo.moveTime(60 * MINUTE_MS);
  expect(order.state, 'an hour later, when the registry may be slow').toBe('UNKNOWN');
  await t.demo.moveTime(DAY_MS);
  const reply = await order.ends('FAILED');
  expect(textOf(reply)).toMatch(/settled this as not done/);
  expect(buttonsOf(reply)).toEqual(['order_retry']);
  const again = await orderAfter(t.workspace, () => t.alice.click(reply, 'order_retry'));
  await t.bob.click(again.card, 'order_approve');
  await again.ends('SUCCEEDED');
  expect(chargesFor(t.service, 'never-made.rest')).toBe(1);
});

test('several names: each is settled by itself, by whoever knows, and the thread names it', async () => {
  const names = ['bar.rest', 'cafe.rest', 'deli.rest'];
  for (const name of names) {
    await t.alice.command(DOMAINS, `/domain watch ${name}`);
    await until(`the registry has told of ${name}`, async () => {
      return (await t.demo.bot.expiry.find(name))?.expiry?.source === 'rdap';
    });
  }
  t.service.faults.set({ kind: 'drop_after', times: 1, match: { name: 'bar.rest' } });
  t.service.faults.set({ kind: 'drop_before', times: 1, match: { name: 'cafe.rest', task: 'domain.renew' } });
  const order = await approvedBy(t.bob, ask(t.workspace, t.alice, `/domain renew ${names.join(' ')}`));
  const unknown = await order.ends('UNKNOWN');
  expect(textOf(unknown)).toMatch(/not known for 2 of 3 names/);
  expect(textOf(unknown), 'what is known of each').toMatch(
    new RegExp(`bar\\.rest: client transaction \`${order.id}\\.1\``),
  );

  await t.demo.moveTime(6 * MINUTE_MS);
  const first = await t.workspace.waitFor(
    () => order.replies().find((reply) => textOf(reply).includes('settled this as done')),
    { what: 'the reply that bar.rest is settled' },
  );
  expect(textOf(first)).toMatch(/settled this as done: \*bar\.rest\* \(Renew 3 names for 1 year\)/);
  await t.allShown();
  expect(order.state, 'while cafe.rest is open').toBe('UNKNOWN');
  expect(buttonsOf(order.card)).toEqual(['order_resolve_done', 'order_resolve_failed']);

  await giveReason(t.workspace, t.bob, first, 'order_resolve_failed', 'Not on the invoice');
  const last = await order.ends('FAILED');
  expect(textOf(last)).toMatch(/<@U0BOB> settled this as not done: \*cafe\.rest\*.*Not on the invoice/s);
  expect(names.map((name) => chargesFor(t.service, name))).toEqual([1, 0, 1]);
  const lines = (await audited(order)).filter((line) => line.includes(',settled,'));
  expect(lines.map((line) => line.split(',')[2])).toEqual(['Registry record (RDAP)', 'Bob (U0BOB)']);
  expect(lines[1]).toContain('Not on the invoice');

  const again = await orderAfter(t.workspace, () => t.alice.click(last, 'order_retry'));
  await t.bob.click(again.card, 'order_approve');
  await again.ends('SUCCEEDED');
  expect(
    names.map((name) => chargesFor(t.service, name)),
    'only what failed was asked for again',
  ).toEqual([1, 1, 1]);
});

test('the rest of several names is answered after one was settled: the end is told', async () => {
  t.service.faults.set({ kind: 'drop_before', times: 1, match: { name: 'soup.rest', task: 'domain.renew' } });
  t.service.faults.set({ kind: 'slow', delayMs: 2_500, match: { name: 'sushi.rest', task: 'domain.renew' } });
  const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain renew soup.rest sushi.rest'));
  await until('both are sent', () => requestsOf(t.service, order).length === 2);
  // Its worker is taken for dead, and somebody settles what it left behind.
  await t.demo.moveTime(MINUTE_MS);
  const unknown = await order.ends('UNKNOWN');
  await giveReason(t.workspace, t.bob, unknown, 'order_resolve_failed', 'Nothing there');
  await order.ends('FAILED');
  const told = await t.workspace.waitFor(
    () => order.replies().find((reply) => textOf(reply).includes('answered after all')),
    { what: 'the late answer in the thread', timeoutMs: 8_000 },
  );
  expect(textOf(told)).toMatch(/contradicts what was settled: \*sushi\.rest\* of/);
  expect(told.notifies, 'whom it pings').toEqual(expect.arrayContaining(['U0ALICE', 'U0BOB', 'S0APPROVERS']));
  expect(textOf(told)).toMatch(/<@U0BOB> settled it as not done. The service says that it was carried out/);
  await t.allShown();
  expect(order.state, 'what was settled stays').toBe('FAILED');
  expect(chargesFor(t.service, 'sushi.rest')).toBe(1);

  const again = await orderAfter(t.workspace, () => t.alice.click(order.card, 'order_retry'));
  await t.bob.click(again.card, 'order_approve');
  await again.ends('SUCCEEDED');
  expect(
    [chargesFor(t.service, 'soup.rest'), chargesFor(t.service, 'sushi.rest')],
    'what was done is not asked for again',
  ).toEqual([1, 1]);
  const said = await answerTo(t.workspace, t.alice, `/domain order ${order.id}`);
  expect(said).toMatch(/service answered after it was settled.*succeeded/);
  expect((await audited(order)).filter((line) => line.includes(',answered_late,'))).toHaveLength(1);
});
