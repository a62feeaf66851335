import type { Actor, Message } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, it } from 'vitest';
import { readCommandReply, textOf, useTestDemo } from '../support/demo.ts';
import { requestByCommand, type VisibleOrder } from '../support/orders.ts';

const t = useTestDemo();
let pendingOrder: VisibleOrder;
let cancelledOrder: VisibleOrder;

beforeAll(async () => {
  cancelledOrder = await requestByCommand(t.workspace, t.alice, '/domain renew bistro.rest -- <!channel>');
  await t.alice.click(cancelledOrder.card, 'order_cancel');
  await cancelledOrder.waitForResult('CANCELLED');
  pendingOrder = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 3');
});

async function send(person: Actor, text: string): Promise<Message> {
  await readCommandReply(t.workspace, person, text);
  const message = person.ephemerals().at(-1);
  if (message === undefined) throw new Error(`no reply to ${text}`);
  return message;
}

describe('/domain orders', () => {
  it.each([
    ['/domain orders', ['waiting', 'cancelled']],
    ['/domain orders pending', ['waiting']],
    ['/domain orders mine', ['waiting', 'cancelled']],
    ['/domain orders Mine', ['waiting', 'cancelled']],
    ['/domain orders BISTRO.rest', ['cancelled']],
  ])('lists the matching orders: %s', async (text, expectedOrders) => {
    const list = await send(t.alice, text);
    const ids = JSON.stringify(list.blocks);
    expect(ids.includes(pendingOrder.id)).toBe(expectedOrders.includes('waiting'));
    expect(ids.includes(cancelledOrder.id)).toBe(expectedOrders.includes('cancelled'));
    expect(list.blocks.map(({ type }) => type)).toContain('data_table');
    // It mentions the requester, but only the reader sees the message.
    expect(list.notifies).toEqual(['U0ALICE']);
    expect(list.ephemeral_to).toBe('U0ALICE');
  });

  it.each([
    ['/domain orders mine', 'You haven’t requested anything yet.'],
    ['/domain orders nosuch.rest', 'No orders for nosuch.rest.'],
    ['/domain orders <!channel>', 'No orders for &lt;!channel&gt;.'],
  ])('shows that there are no matching orders: %s', async (text, expected) => {
    const list = await send(t.bob, text);
    expect(list.text).toContain(expected);
    expect(list.notifies).toEqual([]);
  });

  it('is plain text if Slack doesn’t support tables', async () => {
    t.workspace.faults.set({ method: 'response_url', kind: 'error', code: 'invalid_blocks', times: 1 });
    const list = await send(t.alice, '/domain orders pending');
    expect(list.blocks.map(({ type }) => type)).not.toContain('data_table');
    expect(textOf(list)).toMatch(
      new RegExp(`${pendingOrder.id}  ·  Renew cafe.rest for 3 years  ·  waiting for approval`),
    );
  });
});

describe('/domain order', () => {
  it('shows an order with its history, without Retry if its card has none', async () => {
    const shown = textOf(await send(t.bob, `/domain order ${cancelledOrder.id.toUpperCase()}`));
    expect(shown).toContain('Renew bistro.rest for 1 year');
    expect(shown).toContain('“&lt;!channel&gt;”');
    expect(shown).toMatch(/\*History\*\n.*: requested by <@U0ALICE> .*\n.*: canceled by <@U0ALICE>/);
    expect(shown).not.toContain('Retry');
  });

  it.each(['/domain order', '/domain order nosuch', '/domain order <!channel>'])(
    'explains how to find an order: %s',
    async (text) => {
      const reply = await send(t.bob, text);
      expect(reply.text).toContain('/domain orders');
      expect(reply.notifies).toEqual([]);
    },
  );

  it('suggests /domain orders if a name is entered instead of an ID', async () => {
    expect((await send(t.bob, '/domain order cafe.rest')).text).toContain('/domain orders cafe.rest');
  });

  it('hides a draft from other people', async () => {
    const draft = await send(t.alice, '/domain delete cafe.rest');
    const id = /"value":"([a-z0-9]{12})"/.exec(JSON.stringify(draft.blocks))?.[1];
    expect((await send(t.bob, `/domain order ${id}`)).text).toContain('Order');
    expect((await send(t.alice, `/domain order ${id}`)).text).toContain('Delete cafe.rest');
  });
});
