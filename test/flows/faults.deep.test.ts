import { afterEach, describe, expect, test } from 'vitest';
import { answerTo, buttonsOf, DOMAINS, textOf, toldAfter, until, useTestDemo } from '../support/demo.ts';
import { approvedBy, ask, chargesFor, orderAfter, orderOf, type SeenOrder } from '../support/orders.ts';

/* Failures of the service and of Slack, as people see them. Money is never spent twice, and no result is lost. */

const t = useTestDemo({ settings: { SERVICE_TIMEOUT: '1s' } });

afterEach(() => {
  t.service.faults.clear();
  t.workspace.faults.clear();
});

const approved = (text: string, channel?: string) =>
  approvedBy(t.bob, ask(t.workspace, t.alice, text, channel));

describe('the service certainly didn’t carry it out', () => {
  test('it refuses: FAILED with its code, and Retry makes one new order', async () => {
    t.service.faults.set({ kind: 'refuse', code: 'EF01017', text: 'Not <today>', times: 1 });
    const order = await approved('/domain renew tapas.rest 2 -- twice');
    const reply = await order.ends('FAILED');
    expect(textOf(reply)).toMatch(/`EF01017` Not &lt;today&gt;/);
    expect(textOf(order.card)).toContain('EF01017');
    const again = await orderAfter(t.workspace, async () => {
      await Promise.all([
        t.alice.click(reply, 'order_retry'),
        t.bob.click(order.card, 'order_retry'),
        t.alice.click(order.card, 'order_retry'),
      ]);
    });
    expect(orderOf(again.card)).toMatchObject({ names: 'tapas.rest', state: 'PENDING' });
    expect(textOf(again.card)).toMatch(/for 2 years.*twice/s);
    // The requester is Alice or Bob, depending on who was faster.
    await t.carol.click(again.card, 'order_approve');
    await again.ends('SUCCEEDED');
    expect(chargesFor(t.service, 'tapas.rest')).toBe(1);
    await toldAfter(t.workspace, t.alice, () => t.alice.click(reply, 'order_retry'));
    expect(
      t.workspace
        .messages(DOMAINS)
        .filter((message) => orderOf(message)?.names === 'tapas.rest' && !message.thread_ts),
      'cards for tapas.rest',
    ).toHaveLength(2);
  });

  test('the credentials are no longer valid: it says how to link the account again', async () => {
    const user = t.service.state.user('alice', 4);
    if (user === undefined) throw new Error('the sandbox has no Alice');
    const { password } = user;
    user.password = 'changed-elsewhere';
    try {
      const order = await approved('/domain renew tavern.rest');
      expect(textOf(await order.ends('FAILED'))).toMatch(/alice in context 4.*\/domain link/s);
    } finally {
      user.password = password;
    }
  });
});

describe('Slack', () => {
  test('doesn’t answer the views call: the person gets a reference that is in the log', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'http_500' });
    const told = await answerTo(t.workspace, t.alice, '/domain link');
    const reference = /Reference `([0-9a-f]{8})`/.exec(told)?.[1];
    expect(reference, told).toBeDefined();
    expect(t.logged()).toContain(`"reference":"${reference}"`);
  });
});

describe('the service cannot be reached', () => {
  test('retried, then FAILED: nothing was sent', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew curry.rest');
    const sent = t.service.requests.length;
    await t.service.close();
    await t.bob.click(order.card, 'order_approve');
    for (let tries = 1; tries <= 4; tries += 1) {
      await until(
        `try ${tries} is over`,
        async () => (await heldBack(order)) >= tries || order.state === 'FAILED',
      );
      // Waits of 1, 4 and 16 s; recovery handles orders that have been due for 15 s.
      if (order.state !== 'FAILED') await t.demo.moveTime(40_000);
    }
    expect(textOf(await order.ends('FAILED'))).toMatch(/couldn’t be reached, so nothing was sent/);
    expect(t.service.requests).toHaveLength(sent);
    expect(buttonsOf(order.card)).toEqual(['order_look', 'order_retry', 'order_receipt']);
  });

  async function heldBack(order: SeenOrder): Promise<number> {
    return (await t.dump())
      .split('\n')
      .filter(
        (row) =>
          row.startsWith('public.events ') && row.includes(order.id) && row.includes('retry_scheduled'),
      ).length;
  }
});
