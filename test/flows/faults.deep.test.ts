import { afterEach, describe, expect, test } from 'vitest';
import { answerTo, buttonsOf, DOMAINS, textOf, toldAfter, until, useTestDemo } from '../support/demo.ts';
import {
  approvedBy,
  ask,
  chargesFor,
  orderAfter,
  orderOf,
  requestsOf,
  type SeenOrder,
} from '../support/orders.ts';
import { giveReason } from '../support/people.ts';

/* Failures of the service and of Slack, as people see them. Money is never spent twice, and no result is lost. */

const t = useTestDemo({ settings: { SERVICE_TIMEOUT: '1s' } });

afterEach(() => {
  t.service.faults.clear();
  t.workspace.faults.clear();
});

const approved = (text: string, channel?: string) =>
  approvedBy(t.bob, ask(t.workspace, t.alice, text, channel));

describe('unknown whether the service carried it out', () => {
  test('UNKNOWN, and never sent again, whatever went wrong', async () => {
    const cases = [
      { what: 'no answer comes', kind: 'hang', name: 'pasta.rest', charges: 0 },
      { what: 'the connection is lost after the work', kind: 'drop_after', name: 'picnic.rest', charges: 1 },
      { what: 'it answers with a server error', kind: 'status_500', name: 'plate.rest', charges: 0 },
      { what: 'its answer is cut', kind: 'cut_json', name: 'ramen.rest', charges: 1 },
      { what: 'it answers with a web page', kind: 'html', name: 'saffron.rest', charges: 0 },
      { what: 'it redirects', kind: 'redirect_307', name: 'soup.rest', charges: 0 },
    ] as const;
    const orders: SeenOrder[] = [];
    for (const { kind, name } of cases) {
      t.service.faults.set({ kind, match: { task: 'domain.renew', name } });
      orders.push(await approved(`/domain renew ${name}`));
    }
    for (const order of orders) {
      const reply = await order.ends('UNKNOWN');
      expect(textOf(reply)).toMatch(new RegExp(`\`${order.id}\` won’t be sent again automatically`));
      expect(reply.notifies, 'whom the reply pings').toEqual(
        expect.arrayContaining(['U0ALICE', 'U0BOB', 'S0APPROVERS']),
      );
      expect(buttonsOf(reply)).toEqual(['order_resolve_done', 'order_resolve_failed']);
    }
    t.service.faults.clear();
    // Long after every lease, wait and recovery.
    await t.demo.moveTime(10 * 60_000);
    for (const [index, { what, name, charges }] of cases.entries()) {
      const order = orders[index];
      if (order === undefined) throw new Error('an order is missing');
      // The registry may show meanwhile that it was carried out; only a person can say that it wasn't.
      expect(order.state, what).toMatch(charges === 0 ? /^UNKNOWN$/ : /^(UNKNOWN|SUCCEEDED)$/);
      expect(requestsOf(t.service, order), what).toHaveLength(1);
      expect(chargesFor(t.service, name), what).toBe(charges);
    }
  });

  test('an approver settles it, with a reason, and nobody else', async () => {
    t.service.faults.set({ kind: 'hang', match: { task: 'domain.renew' }, times: 2 });
    const done = await approved('/domain renew spoon.rest');
    const failed = await approved('/domain renew sushi.rest');
    const reply = await done.ends('UNKNOWN');
    expect(
      await toldAfter(t.workspace, t.alice, () => t.alice.click(reply, 'order_resolve_done')),
      'the requester is no approver',
    ).toMatch(/only approvers/i);
    const form = await giveReason(t.workspace, t.bob, reply, 'order_resolve_done', 'The invoice shows it');
    expect(form.callback_id).toBe('settle');
    expect(textOf(await done.ends('SUCCEEDED'))).toMatch(
      /<@U0BOB> marked this as done.*The invoice shows it/s,
    );
    expect(await toldAfter(t.workspace, t.bob, () => t.bob.click(reply, 'order_resolve_failed'))).toMatch(
      /nothing to settle/,
    );

    const unknown = await failed.ends('UNKNOWN');
    await giveReason(t.workspace, t.bob, unknown, 'order_resolve_failed', 'It is not there');
    expect(textOf(await failed.ends('FAILED'))).toMatch(/marked this as failed.*It is not there/s);
    expect(buttonsOf(failed.card)).toEqual(['order_look', 'order_retry', 'order_receipt']);
    const again = await orderAfter(t.workspace, () => t.alice.click(failed.card, 'order_retry'));
    await t.bob.click(again.card, 'order_approve');
    await again.ends('SUCCEEDED');
    expect(chargesFor(t.service, 'sushi.rest')).toBe(1);
  });
});

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

  test('it is busy: sent again after its Retry-After', async () => {
    t.service.faults.set({ kind: 'status_429', retryAfter: 2, times: 1, match: { task: 'domain.renew' } });
    const order = await approved('/domain renew tables.example');
    await order.ends('SUCCEEDED');
    const [refused, taken] = requestsOf(t.service, order);
    expect([refused?.status, taken?.status]).toEqual([429, 200]);
    expect((taken?.at ?? 0) - (refused?.at ?? 0), 'ms between the two').toBeGreaterThanOrEqual(2_000);
    expect(chargesFor(t.service, 'tables.example')).toBe(1);
  });
});

describe('Slack', () => {
  test('limits one channel while another one continues; nothing is lost', async () => {
    t.workspace.faults.set({ method: '*', channel: DOMAINS, kind: 'ratelimited', retryAfter: 1, times: 2 });
    const held = orderAfter(t.workspace, () => t.alice.command(DOMAINS, '/domain renew buffet.rest'));
    const free = await approved('/domain renew bistro-nord.rest', 'C0GENERAL');
    await free.ends('SUCCEEDED', 2_000);
    const order = await held;
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED', 15_000);
    expect(chargesFor(t.service, 'buffet.rest')).toBe(1);
  });

  test('fails, and the result is posted anyway', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew menu.example');
    t.workspace.faults.set({ method: 'chat.update', kind: 'http_500', times: 1 });
    t.workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'internal_error', times: 1 });
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED', 15_000);
    expect(order.replies().filter((reply) => orderOf(reply)?.state === 'SUCCEEDED')).toHaveLength(1);
  });

  test('loses its response to a reply: posted twice in the worst case, but never missing', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew locked.rest');
    t.workspace.faults.set({ method: 'chat.postMessage', kind: 'lost_answer', times: 1 });
    await t.bob.click(order.card, 'order_approve');
    await order.ends('SUCCEEDED');
    await t.allShown();
    expect(order.state).toBe('SUCCEEDED');
    expect(chargesFor(t.service, 'locked.rest')).toBe(1);
  });

  test('loses its response to a card: both copies work from the first click on either', async () => {
    t.workspace.faults.set({ method: 'chat.postMessage', kind: 'lost_answer', times: 1 });
    const order = await ask(t.workspace, t.alice, '/domain renew harvest.rest');
    const copies = await t.workspace.waitFor(
      () => {
        const cards = order.messages().filter(({ thread_ts }) => thread_ts === undefined);
        return cards.length === 2 ? cards : undefined;
      },
      { what: 'the card to be posted once more' },
    );
    const [unknown] = copies;
    if (unknown === undefined) throw new Error('there is no card');
    await t.bob.click(unknown, 'order_approve');
    await order.ends('SUCCEEDED');
    await until('both cards say so', () =>
      order
        .messages()
        .filter(({ thread_ts }) => thread_ts === undefined)
        .every((card) => orderOf(card)?.state === 'SUCCEEDED'),
    );
    expect(chargesFor(t.service, 'harvest.rest')).toBe(1);
  });

  test('refuses to update a card: the result still comes', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew bakery.rest');
    t.workspace.faults.set({ method: 'chat.update', kind: 'error', code: 'cant_update_message' });
    await t.bob.click(order.card, 'order_approve');
    await order.reply('SUCCEEDED');
  });

  test('has removed the bot from the channel meanwhile: the requester gets a direct message', async () => {
    const order = await ask(t.workspace, t.alice, '/domain renew brunch.rest');
    t.workspace.faults.set({
      method: 'chat.update',
      channel: DOMAINS,
      kind: 'error',
      code: 'not_in_channel',
    });
    t.workspace.faults.set({
      method: 'chat.postMessage',
      channel: DOMAINS,
      kind: 'error',
      code: 'not_in_channel',
    });
    await t.bob.click(order.card, 'order_approve');
    const told = await t.workspace.waitFor(
      () => t.workspace.messages('D0ALICE').find((message) => orderOf(message)?.id === order.id),
      { what: 'a direct message about the order' },
    );
    expect(orderOf(told)?.state).toBe('SUCCEEDED');
  });

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
