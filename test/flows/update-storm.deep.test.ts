import type { View } from '@domain-steward/slack-workspace';
import { expect, it } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import {
  DOMAINS,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { orderOf, VisibleOrder } from '../support/orders.ts';
import { expectFormClosed } from '../support/people.ts';

/*
 * Many orders are pending, and Slack accepts 50 updates a minute. Settings, stand-ins and the policy update cards in the
 * same way.
 */

const t = useTestDemo({ settings: { APPROVERS: 'U0BOB,U0CAROL,U0ADA' }, commandsPerMinute: 10_000 });
const ORDERS = 73;
const AT_ONCE = 20;

const updates = () => t.workspace.calls.filter(({ method }) => method === 'chat.update');
const pending = () =>
  t.workspace
    .messages(DOMAINS)
    .filter((message) => orderOf(message)?.state === 'PENDING' && message.metadata);

async function openFormFrom(command: string, button: string, value?: string) {
  await readCommandReply(t.workspace, t.ada, command);
  const shown = t.ada.ephemerals().at(-1);
  if (shown === undefined) throw new Error(`no reply to ${command}`);
  const which = value === undefined ? {} : { value };
  return performAndWaitForView(t.workspace, t.ada, () => t.ada.click(shown, button, which));
}

/** Submits a form. @returns the reply */
function submitForm(form: View, values: Readonly<Record<string, string>>): Promise<string> {
  return performAndReadReply(t.workspace, t.ada, async () =>
    expectFormClosed(await t.ada.submit(form, values)),
  );
}

it('an unrelated change updates no card, and a clicked card is updated before others', async () => {
  const price17 = { currency: 'EUR', minor: 1_700 };
  const renewal = {
    zone: 'rest',
    task: 'renew',
    period: 1,
    validFrom: '2020-01-01',
    source: 'Contract 7',
  } as const;
  await t.demo.bot.prices.save(diffPrices([], [{ ...renewal, amount: price17 }]), 'U0ADA', new Date());
  const names = Array.from({ length: ORDERS }, (_, n) => `storm-${n}.rest`);
  for (const name of names) t.service.state.addDomain({ name, context: 4 });
  for (let from = 0; from < ORDERS; from += AT_ONCE)
    await Promise.all(
      names.slice(from, from + AT_ONCE).map((name) => t.alice.command(DOMAINS, `/domain renew ${name}`)),
    );
  await until('all pending cards', async () => pending().length === ORDERS, 60_000);
  await t.waitUntilSlackIsCurrent();

  const before = updates().length;
  const budget = await openFormFrom('/domain spend', 'budget_add');
  await submitForm(budget, { tag: 'nobody', amount: '20.00', span: 'month' });
  await t.waitUntilSlackIsCurrent();
  expect(updates().length - before, 'updates after a budget for an unused tag').toBe(0);

  t.workspace.rateLimits.enabled = true;
  const [listed] = await t.demo.bot.prices.list();
  const price = await openFormFrom('/domain prices', 'price_edit', listed?.id);
  expect(await submitForm(price, { amount: '18.00' })).toContain('1 price changed.');
  await until('the first update', async () => updates().length > before);
  const waits: number[] = [];
  for (const card of pending().slice(-8)) {
    const order = new VisibleOrder(t.workspace, orderOf(card)?.id ?? '', DOMAINS);
    const clickedAt = performance.now();
    await t.bob.click(order.card, 'order_approve');
    await order.waitForResult('SUCCEEDED', 20_000);
    waits.push(performance.now() - clickedAt);
  }
  const sent = updates().slice(before);
  const refused = sent.filter(({ ok }) => !ok).length;
  expect(Math.max(...waits)).toBeLessThan(5_000);
  expect(refused).toBe(0);
}, 180_000);
