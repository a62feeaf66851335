import { SANDBOX_ACCOUNTS, SANDBOX_TRANSFERABLE_DOMAIN } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  buttonsOf,
  link,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import {
  requestAndApprove,
  requestByCommand,
  requestsOf,
  resetToApproved,
  type VisibleOrder,
  waitForOrder,
} from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS, expectFormClosed } from '../support/people.ts';

/* An attacker writes to the database: moved or changed sealed values can't be opened, and the reply says what to do. */

const HOUR_MS = 60 * 60_000;
const MISMATCH = /no longer matches what was requested and approved, so nothing was sent/;
const LINK_AGAIN = /Link (your|the) account again with `\/domain link`/;

const t = useTestDemo({ linkedPeople: ['alice', 'bob'] });
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
});
afterAll(() => client.end());
afterEach(async () => {
  await link(t.workspace, t.alice);
  await link(t.workspace, t.bob, SANDBOX_ACCOUNTS.bob);
});

const send = (text: string) => readCommandReply(t.workspace, t.alice, text);

const CHANGES: readonly [what: string, sql: string][] = [
  [
    'another person’s credentials in the row',
    `UPDATE accounts a SET sealed = b.sealed, key_id = b.key_id FROM accounts b
     WHERE a.user_id = 'U0ALICE' AND b.user_id = 'U0BOB'`,
  ],
  [
    'a flipped bit in the credentials',
    `UPDATE accounts SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE user_id = 'U0ALICE'`,
  ],
  [
    'an authentication tag cut to four bytes',
    `UPDATE accounts SET sealed = substring(sealed FROM 1 FOR length(sealed) - 12) WHERE user_id = 'U0ALICE'`,
  ],
  ['empty credentials', `UPDATE accounts SET sealed = '' WHERE user_id = 'U0ALICE'`],
];

test.each(CHANGES)('commands and orders are refused with what to do: %s', async (_what, sql) => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  expect((await client.query(sql)).rowCount).toBe(1);

  expect(await send('/domain renew tapas.rest')).toMatch(LINK_AGAIN);
  await t.bob.click(order.card, 'order_approve');
  const reply = await order.waitForResult('FAILED');
  expect(textOf(reply)).toMatch(/nothing was sent/);
  expect(textOf(reply)).toMatch(LINK_AGAIN);
  expect(requestsOf(t.service, order)).toEqual([]);
  expect(await send('/domain whoami'), 'the reply to whoami').toContain('alice');
});

test('an order whose key is missing waits, and is sent once the account is linked again', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  await client.query(`UPDATE accounts SET key_id = 'gone' WHERE user_id = 'U0ALICE'`);

  expect(await send('/domain renew tapas.rest')).toMatch(/key is missing.*nothing was sent.*Try again/s);
  await t.bob.click(order.card, 'order_approve');
  await until('the missing key is logged', () => /"keyId":"gone".*key is missing/.test(t.getLog()));
  expect(requestsOf(t.service, order)).toEqual([]);

  await link(t.workspace, t.alice);
  await order.waitForResult('SUCCEEDED', 20_000);
  expect(requestsOf(t.service, order)).toHaveLength(1);
});

test('an account row moved to another person can’t be used', async () => {
  await client.query(
    `UPDATE accounts SET user_id = 'U0CAROL', active_key = 'T0STEWARD:U0CAROL' WHERE user_id = 'U0ALICE'`,
  );
  const reply = await readCommandReply(t.workspace, t.carol, '/domain renew sushi.rest');
  expect(reply).toMatch(LINK_AGAIN);
  expect(t.service.requests.filter(({ name }) => name === 'sushi.rest')).toEqual([]);
  await readCommandReply(t.workspace, t.carol, '/domain unlink');
});

test('another sealed value in place of an order’s auth code can’t be opened', async () => {
  const form = await openForm(t.workspace, t.alice, `/domain transfer ${SANDBOX_TRANSFERABLE_DOMAIN.name}`);
  const order = await waitForOrder(t.workspace, () =>
    t.alice.submit(form, {
      ...CONTACTS_AND_NAMESERVERS,
      auth: SANDBOX_TRANSFERABLE_DOMAIN.authCode,
    }),
  );
  await client.query(
    `UPDATE orders SET sealed_input = (SELECT sealed FROM accounts WHERE user_id = 'U0BOB') WHERE id = $1`,
    [order.id],
  );
  await t.bob.click(order.card, 'order_approve');
  expect(textOf(await order.waitForResult('FAILED'))).toMatch(MISMATCH);
  expect(requestsOf(t.service, order)).toEqual([]);
});

test('a tampered secret result isn’t revealed, and the reply says why', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain authcode olive.rest');
  const reply = await order.waitForResult('SUCCEEDED');
  expect(buttonsOf(reply)).toContain('order_reveal');
  await client.query(
    `UPDATE revealable_secrets SET sealed = set_byte(sealed, 3, get_byte(sealed, 3) # 255) WHERE order_id = $1`,
    [order.id],
  );
  expect(
    await performAndReadReply(t.workspace, t.alice, () => t.alice.click(reply, 'order_reveal')),
  ).toContain('This can’t be decrypted: its key is missing, or the data was changed.');
  expect(t.alice.openedViews()).toEqual([]);
});

/** Direct messages to the admin about an order that no longer matches what was requested. */
const noticesTo = (order: VisibleOrder) =>
  t.workspace
    .messages('D0ADA')
    .map(textOf)
    .filter((text) => text.includes('no longer matches what was requested') && text.includes(order.id));

const changePeriod = (order: VisibleOrder) =>
  client.query(`UPDATE orders SET input = jsonb_set(input, '{period}', '9') WHERE id = $1`, [order.id]);

async function expectOneNotice(order: VisibleOrder): Promise<void> {
  await until('the message to the admin', () => noticesTo(order).length > 0);
  await t.demo.bot.catchUp();
  expect(noticesTo(order)).toEqual([
    expect.stringMatching(/so I sent nothing.*Changed: the request\..*Someone with write access/s),
  ]);
}

test('an order changed while it was pending isn’t approved, and admins are notified once', async () => {
  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest 2');
  await changePeriod(order);
  await t.bob.click(order.card, 'order_approve');
  expect(textOf(await order.waitForResult('FAILED'))).toMatch(MISMATCH);
  expect(requestsOf(t.service, order)).toEqual([]);
  await expectOneNotice(order);
});

test('an order changed after its approval isn’t sent, and admins are notified once', async () => {
  t.service.faults.set({ kind: 'status_429', retryAfter: 600, match: { name: 'deli.rest' } });
  const order = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, '/domain renew deli.rest 2'),
  );
  await until('the retry on the card', () => textOf(order.card).includes('next attempt'));
  await changePeriod(order);
  t.service.faults.clear();
  await t.demo.moveTime(HOUR_MS);
  expect(textOf(await order.waitForResult('FAILED'))).toMatch(MISMATCH);
  expect(requestsOf(t.service, order).map(({ status }) => status)).toEqual([429]);
  await until('the message to the admin', () => noticesTo(order).length > 0);
  await t.demo.bot.catchUp();
  expect(noticesTo(order)).toHaveLength(1);
});

const ENDS: Readonly<
  Record<string, readonly [name: string, act: (order: VisibleOrder) => Promise<unknown>]>
> = {
  SUCCEEDED: ['sushi.rest', (order) => t.bob.click(order.card, 'order_approve')],
  CANCELLED: ['ramen.rest', (order) => t.alice.click(order.card, 'order_cancel')],
  DENIED: [
    'tapas.rest',
    async (order) => {
      const form = await performAndWaitForView(t.workspace, t.bob, () =>
        t.bob.click(order.card, 'order_deny'),
      );
      expectFormClosed(await t.bob.submit(form, { reason: 'no' }));
    },
  ],
  EXPIRED: ['bistro.rest', () => t.demo.moveTime(73 * HOUR_MS)],
};

test.each(Object.entries(ENDS))(
  'an order that is %s isn’t sent when its rows are reset',
  async (state, [name, act]) => {
    const order = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    await act(order);
    await order.waitForResult(state);
    const sent = requestsOf(t.service, order).length;
    await resetToApproved((sql) => client.query(sql), order);
    await t.demo.bot.catchUp();
    await order.waitForResult('FAILED');
    expect(requestsOf(t.service, order)).toHaveLength(sent);
    const alerts = () =>
      t.workspace
        .messages('D0ADA')
        .map(textOf)
        .filter((text) => text.includes('my database and the log disagree') && text.includes(order.id));
    await until('the message to the admin', () => alerts().length > 0);
    await t.demo.bot.catchUp();
    await t.waitUntilSlackIsCurrent();
    expect(alerts()).toHaveLength(1);
  },
);
