import type { Message } from '@domain-steward/slack-workspace';
import { beforeAll, expect, test } from 'vitest';
import {
  buttonsOf,
  performAndReadReply,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { readDetails } from '../support/looking.ts';
import { requestsOf, type VisibleOrder, waitForOrder } from '../support/orders.ts';

/* For 48 hours after a nameserver change, the bot checks the new nameservers and offers to restore the old ones. */

const t = useTestDemo();
const HOUR_MS = 3_600_000;
const OLD = ['ns1.dns.example', 'ns2.dns.example'];
const NEW = ['ns1.new.example', 'ns2.new.example'];
const RECORDS = ['@ A 198.51.100.8', 'www A 198.51.100.8', '@ MX 10 mail.cafe.rest'];
let changeOrder: VisibleOrder;

const dns = () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  return sandbox;
};

async function requestDraft(line: string): Promise<Message> {
  await readCommandReply(t.workspace, t.alice, `/domain ${line}`);
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('no confirmation was requested');
  return draft;
}

const threadText = () => changeOrder.replies().map(textOf).join('\n');

/** Advances by hours until the thread has a text. */
async function advanceUntil(hours: number, words: RegExp): Promise<void> {
  await t.demo.moveTime(hours * HOUR_MS);
  await until(`the thread says ${words}`, async () => {
    await t.demo.bot.catchUp();
    return words.test(threadText());
  });
}

beforeAll(async () => {
  for (const host of NEW) await dns().addNameserver(host);
  dns().world.serve('bar.rest', NEW, RECORDS);
  await readCommandReply(t.workspace, t.alice, '/domain watch bar.rest');
  await until(
    'a lookup',
    async () => {
      await t.demo.bot.catchUp();
      return (await readCommandReply(t.workspace, t.alice, '/domain name bar.rest')).includes(
        'No changes since',
      );
    },
    25_000,
  );
}, 60_000);

test('the card offers to undo the change and shows the previous nameservers', async () => {
  const draft = await requestDraft(`nameservers bar.rest ${NEW.join(' ')}`);
  changeOrder = await waitForOrder(t.workspace, () => t.alice.click(draft, 'order_confirm'));
  await changeOrder.waitForResult('SUCCEEDED');
  expect(textOf(changeOrder.card)).toMatch(/Undo by .* to restore `ns1\.dns\.example`, `ns2\.dns\.example`/);
  expect(buttonsOf(changeOrder.card)).toContain('order_undo');
});

test('the thread reports once when the new nameservers answer and when they stop', async () => {
  await advanceUntil(0.2, /\*bar\.rest\*: all the new nameservers now answer/);
  dns().world.drop('bar.rest', ['ns2.new.example']);
  await advanceUntil(3, /`ns2\.new\.example` doesn’t answer for it, 3 hours after the change/);
  const count = changeOrder.replies().length;
  await t.demo.moveTime(2 * HOUR_MS);
  await t.demo.bot.catchUp();
  expect(changeOrder.replies()).toHaveLength(count);
  dns().world.serve('bar.rest', NEW, RECORDS);
  await advanceUntil(2, /doesn’t answer.*all the new nameservers now answer/s);
});

test('an approver can undo the change with a draft that sends the previous nameservers', async () => {
  await performAndReadReply(t.workspace, t.bob, () => t.bob.click(changeOrder.card, 'order_undo'));
  const draft = t.bob.ephemerals().at(-1);
  if (draft === undefined) throw new Error('no confirmation was requested');
  expect(buttonsOf(draft)).toEqual(['order_confirm']);
  expect(textOf(draft)).toMatch(/ns1\.dns\.example/);
  const undo = await waitForOrder(t.workspace, () => t.bob.click(draft, 'order_confirm'));
  await undo.waitForResult('SUCCEEDED');
  expect(await readDetails(t.workspace, t.bob, undo.card)).toContain(`Undo of order ${changeOrder.id}`);
  const [request, ...others] = requestsOf(t.service, undo);
  expect(others).toEqual([]);
  expect(JSON.stringify(request)).toContain(OLD[0]);
});

test('nameservers that an undo has replaced aren’t reported', async () => {
  dns().world.drop('bar.rest', NEW);
  const before = threadText();
  await t.demo.moveTime(3 * HOUR_MS);
  await t.demo.bot.catchUp();
  await t.demo.bot.catchUp();
  expect(threadText()).toBe(before);
});

test('Undo is no longer offered after 48 hours', async () => {
  await t.demo.moveTime(48 * HOUR_MS);
  await until('the card without Undo', async () => {
    await t.demo.bot.catchUp();
    return !buttonsOf(changeOrder.card).includes('order_undo');
  });
});

test('a card without known previous nameservers explains it and has no Undo button', async () => {
  t.service.registry.show('deli.rest', { nameServers: [] });
  dns().faults.set({ kind: 'silence', match: { name: 'deli.rest' } });
  const draft = await requestDraft('nameservers deli.rest ns1.new.example ns2.new.example');
  const form = t.alice.openedViews().length;
  await t.alice.click(draft, 'order_confirm');
  const view = await t.workspace.waitFor(() => t.alice.openedViews()[form], { what: 'the form' });
  const order = await waitForOrder(t.workspace, () => t.alice.submit(view, { name: 'deli.rest' }));
  await order.waitForResult('SUCCEEDED');
  dns().faults.clear();
  expect(textOf(order.card)).toContain('The previous nameservers are unknown');
  expect(buttonsOf(order.card)).not.toContain('order_undo');
});
