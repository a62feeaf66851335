import type { Actor, Message } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, it } from 'vitest';
import { answerTo, textOf, useTestDemo } from '../support/demo.ts';
import { ask, type SeenOrder } from '../support/orders.ts';

const t = useTestDemo();
let waiting: SeenOrder;
let cancelled: SeenOrder;

beforeAll(async () => {
  cancelled = await ask(t.workspace, t.alice, '/domain renew bistro.rest -- <!channel>');
  await t.alice.click(cancelled.card, 'order_cancel');
  await cancelled.ends('CANCELLED');
  waiting = await ask(t.workspace, t.alice, '/domain renew cafe.rest 3');
});

/** The answer to a command. */
async function told(person: Actor, text: string): Promise<Message> {
  await answerTo(t.workspace, person, text);
  const message = person.ephemerals().at(-1);
  if (message === undefined) throw new Error(`nothing is said to ${text}`);
  return message;
}

describe('/domain orders', () => {
  it.each([
    ['/domain orders', ['waiting', 'cancelled']],
    ['/domain orders pending', ['waiting']],
    ['/domain orders mine', ['waiting', 'cancelled']],
    ['/domain orders Mine', ['waiting', 'cancelled']],
    ['/domain orders BISTRO.rest', ['cancelled']],
  ])('%s', async (text, shown) => {
    const list = await told(t.alice, text);
    const ids = JSON.stringify(list.blocks);
    expect(ids.includes(waiting.id)).toBe(shown.includes('waiting'));
    expect(ids.includes(cancelled.id)).toBe(shown.includes('cancelled'));
    expect(list.blocks.map(({ type }) => type)).toContain('data_table');
    // It mentions the requester, but only the reader sees the message, so it notifies nobody else.
    expect(list.notifies).toEqual(['U0ALICE']);
    expect(list.ephemeral_to).toBe('U0ALICE');
  });

  it.each([
    ['/domain orders mine', 'You haven’t requested anything yet.'],
    ['/domain orders nosuch.rest', 'No orders for nosuch.rest.'],
    ['/domain orders <!channel>', 'No orders for &lt;!channel&gt;.'],
  ])('says that there are none: %s', async (text, said) => {
    const list = await told(t.bob, text);
    expect(list.text).toContain(said);
    expect(list.notifies).toEqual([]);
  });

  it('is text if Slack doesn’t support tables', async () => {
    t.workspace.faults.set({ method: 'response_url', kind: 'error', code: 'invalid_blocks', times: 1 });
    const list = await told(t.alice, '/domain orders pending');
    expect(list.blocks.map(({ type }) => type)).not.toContain('data_table');
    expect(textOf(list)).toMatch(
      new RegExp(`${waiting.id}  ·  Renew cafe.rest for 3 years  ·  waiting for approval`),
    );
  });
});

describe('/domain order', () => {
  it('shows one with its history, and no button that its card lacks', async () => {
    const shown = textOf(await told(t.bob, `/domain order ${cancelled.id.toUpperCase()}`));
    expect(shown).toContain('Renew bistro.rest for 1 year');
    expect(shown).toContain('“&lt;!channel&gt;”');
    expect(shown).toMatch(/\*History\*\n.*: requested by <@U0ALICE> .*\n.*: canceled by <@U0ALICE>/);
    expect(shown).not.toContain('Retry');
  });

  it.each(['/domain order', '/domain order nosuch', '/domain order <!channel>'])(
    'says how to find one: %s',
    async (text) => {
      const said = await told(t.bob, text);
      expect(said.text).toContain('/domain orders');
      expect(said.notifies).toEqual([]);
    },
  );

  it('links from a name to the name’s orders', async () => {
    expect((await told(t.bob, '/domain order cafe.rest')).text).toContain('/domain orders cafe.rest');
  });

  it('hides unconfirmed orders from others', async () => {
    const draft = await told(t.alice, '/domain delete cafe.rest');
    const id = /"value":"([a-z0-9]{12})"/.exec(JSON.stringify(draft.blocks))?.[1];
    expect((await told(t.bob, `/domain order ${id}`)).text).toContain('Order');
    expect((await told(t.alice, `/domain order ${id}`)).text).toContain('Delete cafe.rest');
  });
});
