import { afterEach, describe, expect, test } from 'vitest';
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
  orderOf,
  requestAndApprove,
  requestByCommand,
  type VisibleOrder,
  waitForOrder,
} from '../support/orders.ts';

/* Failures of the service and of Slack: nothing is charged twice, and no result is lost. */

const t = useTestDemo({ settings: { SERVICE_TIMEOUT: '1s' } });

afterEach(() => {
  t.service.faults.clear();
  t.workspace.faults.clear();
});

const requestRenewal = (text: string, channel?: string) =>
  requestAndApprove(t.bob, requestByCommand(t.workspace, t.alice, text, channel));

describe('an order that the service refuses', () => {
  test('fails with the service’s code, and concurrent clicks on Retry make one new order', async () => {
    t.service.faults.set({ kind: 'refuse', code: 'EF01017', text: 'Not <today>', times: 1 });
    const order = await requestRenewal('/domain renew tapas.rest 2 -- twice');
    const reply = await order.waitForResult('FAILED');
    expect(textOf(reply)).toMatch(/`EF01017` Not &lt;today&gt;/);
    expect(textOf(order.card)).toContain('EF01017');
    const retryOrder = await waitForOrder(t.workspace, async () => {
      await Promise.all([
        t.alice.click(reply, 'order_retry'),
        t.bob.click(order.card, 'order_retry'),
        t.alice.click(order.card, 'order_retry'),
      ]);
    });
    expect(orderOf(retryOrder.card)).toMatchObject({ names: 'tapas.rest', state: 'PENDING' });
    expect(textOf(retryOrder.card)).toMatch(/for 2 years.*twice/s);
    // The requester is Alice or Bob, depending on who was faster.
    await t.carol.click(retryOrder.card, 'order_approve');
    await retryOrder.waitForResult('SUCCEEDED');
    expect(countChargesFor(t.service, 'tapas.rest')).toBe(1);
    await performAndReadReply(t.workspace, t.alice, () => t.alice.click(reply, 'order_retry'));
    expect(
      t.workspace
        .messages(DOMAINS)
        .filter((message) => orderOf(message)?.names === 'tapas.rest' && !message.thread_ts),
      'cards for tapas.rest',
    ).toHaveLength(2);
  });

  test('shows how to link the account again if the credentials are no longer valid', async () => {
    const user = t.service.state.findUser('alice', 4);
    if (user === undefined) throw new Error('the sandbox has no Alice');
    const { password } = user;
    user.password = 'changed-elsewhere';
    try {
      const order = await requestRenewal('/domain renew tavern.rest');
      expect(textOf(await order.waitForResult('FAILED'))).toMatch(/alice in context 4.*\/domain link/s);
    } finally {
      user.password = password;
    }
  });
});

describe('a failing Slack API', () => {
  test('that can’t open a form leads to a reply with a reference that is in the log', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'http_500' });
    const answer = await readCommandReply(t.workspace, t.alice, '/domain link');
    const reference = /Reference `([0-9a-f]{8})`/.exec(answer)?.[1];
    expect(reference, answer).toBeDefined();
    expect(t.getLog()).toContain(`"reference":"${reference}"`);
  });
});

describe('an unreachable service', () => {
  test('is retried, then the order fails and nothing was sent', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew curry.rest');
    const requestCount = t.service.requests.length;
    await t.service.close();
    await t.bob.click(order.card, 'order_approve');
    for (let tries = 1; tries <= 4; tries += 1) {
      await until(
        `try ${tries} is over`,
        async () => (await countRetries(order)) >= tries || order.state === 'FAILED',
      );
      // Retries wait 1, 4 and 16 s. Recovery handles orders that have been due for 15 s.
      if (order.state !== 'FAILED') await t.demo.moveTime(40_000);
    }
    expect(textOf(await order.waitForResult('FAILED'))).toMatch(/couldn’t be reached, so nothing was sent/);
    expect(t.service.requests).toHaveLength(requestCount);
    expect(buttonsOf(order.card)).toEqual(['order_look', 'order_retry', 'order_receipt']);
  });

  async function countRetries(order: VisibleOrder): Promise<number> {
    return (await t.dump())
      .split('\n')
      .filter(
        (row) =>
          row.startsWith('public.events ') && row.includes(order.id) && row.includes('retry_scheduled'),
      ).length;
  }
});
