import {
  SANDBOX_ACCOUNTS,
  SANDBOX_CONTACTS,
  SANDBOX_NAMESERVERS,
  SANDBOX_TRANSFERABLE_DOMAIN,
} from '@domain-steward/sandbox-service';
import { describe, expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  link,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import {
  orderOf,
  requestAndApprove,
  requestByCommand,
  requestsOf,
  type VisibleOrder,
  waitForOrder,
} from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS } from '../support/people.ts';

/* The main tasks, from the command to the result in the thread: one person requests, another one approves. */

const t = useTestDemo({ linkedPeople: [] });

const DELEGATION_ON_THE_WIRE = {
  ownerc: { id: SANDBOX_CONTACTS[0] },
  adminc: { id: SANDBOX_CONTACTS[1] },
  techc: { id: SANDBOX_CONTACTS[2] },
  nameServers: SANDBOX_NAMESERVERS.map((name) => ({ name })),
};

test('a person without a linked account learns how to link one', async () => {
  const answer = await readCommandReply(t.workspace, t.alice, '/domain renew cafe.rest 2');
  expect(answer).toContain('/domain link');
  expect(t.workspace.messages(DOMAINS), 'cards').toEqual([]);
});

test('an account is linked once the service accepts it, and shown without its password', async () => {
  const { user, password } = SANDBOX_ACCOUNTS.alice;
  const view = await openForm(t.workspace, t.alice, '/domain link');
  const wrong = await t.alice.submit(view, { user, context: '4', password: 'not-the-password' });
  expect(wrong).toMatchObject({ outcome: 'errors', sent: true, errors: { password: expect.any(String) } });
  expect(await readCommandReply(t.workspace, t.alice, '/domain whoami')).toContain('/domain link');

  const answer = await performAndReadReply(t.workspace, t.alice, () =>
    t.alice.submit(view, { user, context: '4', password }),
  );
  expect(answer).toMatch(/alice in context 4.*LIVE/s);
  expect(t.alice.openedViews(), 'open forms').toEqual([]);
  const logins = t.service.requestsFor({ task: 'session.create' });
  expect(logins.map(({ status, body }) => [status, body])).toMatchObject([
    [expect.any(Number), { user, context: 4 }],
    [200, { user, context: 4 }],
  ]);
  expect(await readCommandReply(t.workspace, t.alice, '/domain whoami')).toMatch(
    /active.*alice in context 4/s,
  );
});

describe('renewing cafe.rest for two years', () => {
  let order: VisibleOrder;

  test('posts a card with everything that will be done', async () => {
    order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2 -- client paid');
    expect(orderOf(order.card)).toEqual({
      id: order.id,
      task: 'renew',
      names: 'cafe.rest',
      state: 'PENDING',
    });
    const card = textOf(order.card);
    for (const part of [
      'Renew cafe.rest for 2 years',
      'Waiting for',
      '<@U0ALICE>',
      'client paid',
      'LIVE · alice/4',
      'This costs money',
      order.id,
    ]) {
      expect(card, 'the card').toContain(part);
    }
    expect(buttonsOf(order.card)).toEqual([
      'order_approve',
      'order_deny',
      'order_look',
      'order_approve_comment',
      'order_ask',
      'order_cancel',
    ]);
    expect(order.card.thread_ts).toBeUndefined();
  });

  test.each([
    ['the requester', 'U0ALICE', /someone else|An approver/i],
    ['a person from another workspace', 'U0DAVE', /members of this workspace/],
    ['a person who isn’t an approver', 'U0ADA', /approvers/i],
  ])('refuses a click by %s with a reason', async (_who, userId, why) => {
    const person = t.workspace.as(userId);
    const answer = await performAndReadReply(t.workspace, person, () =>
      person.click(order.card, 'order_approve'),
    );
    expect(answer).toMatch(why);
    expect(order.state).toBe('PENDING');
    expect(requestsOf(t.service, order)).toEqual([]);
  });

  test('sends exactly one request, with Alice’s credentials, when Bob approves', async () => {
    await t.bob.click(order.card, 'order_approve');
    const reply = await order.waitForResult('SUCCEEDED');

    const requests = requestsOf(t.service, order);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
      interface: 'json',
      method: 'POST',
      path: '/v1/domain/cafe.rest/_renew',
      body: { period: 2 },
      query: { ctid: [order.id] },
      // The sandbox checked user, context and password; its log masks them.
      way: 'credentials',
      user: 'alice',
      headers: { 'x-service-context': '4' },
      status: 200,
      carriedOut: true,
    });
    expect(t.service.requestsFor({ task: 'domain.renew' })).toHaveLength(1);
    expect(t.service.state.charges).toMatchObject([
      { task: 'domain.renew', name: 'cafe.rest', years: 2, user: 'alice', context: 4, ctid: order.id },
    ]);

    expect(reply.thread_ts).toBe(order.card.ts);
    const result = textOf(reply);
    expect(result).toContain(requests[0]?.answerCode ?? 'no code');
    expect(result).toMatch(/`\d{8}-sandbox1-\d+`/);
    expect(result).toContain('<@U0ALICE>');
    expect(orderOf(reply)).toEqual({ id: order.id, task: 'renew', names: 'cafe.rest', state: 'SUCCEEDED' });
    expect(buttonsOf(order.card), 'buttons of the finished card').toEqual(['order_look', 'order_receipt']);
  });

  test('has a history that names everyone involved', async () => {
    const answer = await readCommandReply(t.workspace, t.alice, `/domain order ${order.id}`);
    expect(answer).toMatch(/requested by <@U0ALICE>.*approved by <@U0BOB>.*request sent.*result: done/s);
    expect(await readCommandReply(t.workspace, t.alice, '/domain orders cafe.rest')).toContain(order.id);
  });
});

test('the request is sent within a second of the click', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
  const clicked = Date.now();
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  const sent = requestsOf(t.service, order)[0]?.at ?? Number.POSITIVE_INFINITY;
  // On an idle machine it takes less than 200 ms; tests share theirs.
  expect(sent - clicked, 'ms from the click to the request').toBeLessThan(1_000);
});

test('create: errors are shown at their fields, and the corrected form makes an order', async () => {
  const view = await openForm(t.workspace, t.alice, '/domain create brasserie.rest');
  const wrong = await t.alice.submit(view, { ...CONTACTS_AND_NAMESERVERS, nameServers: 'ns1.dns.example' });
  expect(wrong).toMatchObject({
    outcome: 'errors',
    sent: true,
    errors: { nameServers: expect.stringMatching(/2/) },
  });
  const order = await waitForOrder(t.workspace, () => t.alice.submit(view, CONTACTS_AND_NAMESERVERS));
  expect(textOf(order.card)).toContain('Register brasserie.rest');
  expect(textOf(order.card)).toContain(SANDBOX_NAMESERVERS[0]);
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, order)).toMatchObject([
    {
      method: 'POST',
      path: '/v1/domain',
      body: { name: 'brasserie.rest', ...DELEGATION_ON_THE_WIRE, confirmOrder: true },
    },
  ]);
});

test('transfer: only the service gets the auth code', async () => {
  const { name, authCode } = SANDBOX_TRANSFERABLE_DOMAIN;
  const view = await openForm(t.workspace, t.alice, `/domain transfer ${name}`);
  const order = await waitForOrder(t.workspace, () =>
    t.alice.submit(view, { ...CONTACTS_AND_NAMESERVERS, auth: authCode }),
  );
  const waiting = await t.dump();
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, order)).toMatchObject([
    { method: 'POST', path: '/v1/domain/_transfer', body: { name, ...DELEGATION_ON_THE_WIRE }, status: 200 },
  ]);

  const hex = Buffer.from(authCode).toString('hex');
  const places = {
    'the messages': JSON.stringify(t.workspace.messages(DOMAINS)),
    'people’s messages': JSON.stringify(t.alice.ephemerals().concat(t.bob.ephemerals())),
    'the calls to Slack': JSON.stringify(t.workspace.calls),
    'the log': t.getLog(),
    'the database while the order was pending': waiting,
    'the database at the end': await t.dump(),
  };
  for (const [place, text] of Object.entries(places)) {
    expect(text.includes(authCode), `the auth code is in ${place}`).toBe(false);
    expect(text.includes(hex), `the auth code is in ${place}, in hex`).toBe(false);
    expect(text.includes(SANDBOX_ACCOUNTS.alice.password), `the password is in ${place}`).toBe(false);
    expect(
      text.includes(Buffer.from(SANDBOX_ACCOUNTS.alice.password).toString('hex')),
      `the password is in ${place}, in hex`,
    ).toBe(false);
  }
  const sealed = (dump: string) => dump.split('\n').find((row) => row.includes(`"id": "${order.id}"`));
  expect(sealed(waiting), 'the sealed auth code of a pending order').toMatch(/"sealed_input": "\\\\x/);
  expect(sealed(await t.dump()), 'the wiped auth code').toContain('"sealed_input": null');
});

test('restore: a deleted name is restored', async () => {
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain restore gone.rest'),
  );
  await order.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, order)).toMatchObject([
    { method: 'POST', path: '/v1/domain/gone.rest/_restore', body: null, status: 200 },
  ]);
});

test('the message shortcut posts the card and the result in the message’s thread', async () => {
  const message = t.alice.say(DOMAINS, 'deli.rest runs out soon, who renews it?');
  const menu = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.shortcut('domain_here', message),
  );
  const next = await t.alice.submit(menu, { task: 'renew' });
  if (next.outcome !== 'updated') throw new Error(`the menu did not lead to a form: ${JSON.stringify(next)}`);
  const order = await waitForOrder(t.workspace, () =>
    t.alice.submit(next.view, { names: 'deli.rest', period: '1' }),
  );
  expect(order.card.thread_ts).toBe(message.ts);
  await t.bob.click(order.card, 'order_approve');
  expect((await order.waitForResult('SUCCEEDED')).thread_ts).toBe(message.ts);
});

test('an order with an account in the demo system is marked as DEMO and sent with that account', async () => {
  await link(t.workspace, t.alice, SANDBOX_ACCOUNTS.aliceDemoSystem);
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew try.rest');
  expect(textOf(order.card)).toContain('DEMO · Renew try.rest');
  await t.alice.command(DOMAINS, '/domain use 4');
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, order), 'the account of the request').toMatchObject([
    { headers: { 'x-service-context': '1' }, status: 200 },
  ]);
});
