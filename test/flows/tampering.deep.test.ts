import { SANDBOX_ACCOUNTS, SANDBOX_TRANSFER } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  actUntilOpened,
  answerTo,
  buttonsOf,
  link,
  openForm,
  textOf,
  toldAfter,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { approvedBy, ask, orderAfter, requestsOf, resetRows, type SeenOrder } from '../support/orders.ts';
import { closed, DELEGATION } from '../support/people.ts';

/* An attacker writes into the database: sealed values don't open for anyone else, and the bot says what to do. */

const HOUR_MS = 60 * 60_000;
const NOT_AS_ASKED = /no longer matches what was requested and approved, so nothing was sent/;
const LINK_AGAIN = /Link (your|the) account again with `\/domain link`/;

const t = useTestDemo({ linked: ['alice', 'bob'] });
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

const told = (text: string) => answerTo(t.workspace, t.alice, text);

const CHANGES: readonly [what: string, sql: string][] = [
  [
    'another person’s credential in the row',
    `UPDATE accounts a SET sealed = b.sealed, key_id = b.key_id FROM accounts b
     WHERE a.user_id = 'U0ALICE' AND b.user_id = 'U0BOB'`,
  ],
  [
    'a bit flipped',
    `UPDATE accounts SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE user_id = 'U0ALICE'`,
  ],
  [
    'the tag cut to four bytes',
    `UPDATE accounts SET sealed = substring(sealed FROM 1 FOR length(sealed) - 12) WHERE user_id = 'U0ALICE'`,
  ],
  ['nothing left', `UPDATE accounts SET sealed = '' WHERE user_id = 'U0ALICE'`],
];

test.each(CHANGES)('%s: commands and orders are refused, with what to do', async (_what, sql) => {
  const order = await ask(t.workspace, t.alice, '/domain renew cafe.rest');
  expect((await client.query(sql)).rowCount).toBe(1);

  expect(await told('/domain renew tapas.rest')).toMatch(LINK_AGAIN);
  await t.bob.click(order.card, 'order_approve');
  const reply = await order.ends('FAILED');
  expect(textOf(reply)).toMatch(/nothing was sent/);
  expect(textOf(reply)).toMatch(LINK_AGAIN);
  expect(requestsOf(t.service, order)).toEqual([]);
  expect(await told('/domain whoami'), 'the bot still works').toContain('alice');
});

test('a missing key is waited for; when the account is linked again, its order is sent', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew cafe.rest');
  await client.query(`UPDATE accounts SET key_id = 'gone' WHERE user_id = 'U0ALICE'`);

  expect(await told('/domain renew tapas.rest')).toMatch(/key is missing.*nothing was sent.*Try again/s);
  await t.bob.click(order.card, 'order_approve');
  await until('the missing key is logged', () => /"keyId":"gone".*key is missing/.test(t.logged()));
  expect(requestsOf(t.service, order)).toEqual([]);

  await link(t.workspace, t.alice);
  await order.ends('SUCCEEDED', 20_000);
  expect(requestsOf(t.service, order)).toHaveLength(1);
});

test('a row given to another person is not theirs', async () => {
  await client.query(
    `UPDATE accounts SET user_id = 'U0CAROL', active_key = 'T0STEWARD:U0CAROL' WHERE user_id = 'U0ALICE'`,
  );
  const said = await answerTo(t.workspace, t.carol, '/domain renew sushi.rest');
  expect(said).toMatch(LINK_AGAIN);
  expect(t.service.requests.filter(({ name }) => name === 'sushi.rest')).toEqual([]);
  await answerTo(t.workspace, t.carol, '/domain unlink');
});

test('an auth code moved to another order opens for neither', async () => {
  const form = await openForm(t.workspace, t.alice, `/domain transfer ${SANDBOX_TRANSFER.name}`);
  const order = await orderAfter(t.workspace, () =>
    t.alice.submit(form, {
      ...DELEGATION,
      auth: SANDBOX_TRANSFER.authCode,
    }),
  );
  await client.query(
    `UPDATE orders SET sealed_input = (SELECT sealed FROM accounts WHERE user_id = 'U0BOB') WHERE id = $1`,
    [order.id],
  );
  await t.bob.click(order.card, 'order_approve');
  expect(textOf(await order.ends('FAILED'))).toMatch(NOT_AS_ASKED);
  expect(requestsOf(t.service, order)).toEqual([]);
});

test('a changed secret result is not shown, and says so', async () => {
  const order = await ask(t.workspace, t.alice, '/domain authcode olive.rest');
  const reply = await order.ends('SUCCEEDED');
  expect(buttonsOf(reply)).toContain('order_reveal');
  await client.query(
    `UPDATE revealable_secrets SET sealed = set_byte(sealed, 3, get_byte(sealed, 3) # 255) WHERE order_id = $1`,
    [order.id],
  );
  expect(await toldAfter(t.workspace, t.alice, () => t.alice.click(reply, 'order_reveal'))).toContain(
    'This can’t be decrypted: its key is missing, or the data was changed.',
  );
  expect(t.alice.openedViews()).toEqual([]);
});

/** Direct messages to the admin about an order that no longer matches what was requested. */
const noticesTo = (order: SeenOrder) =>
  t.workspace
    .messages('D0ADA')
    .map(textOf)
    .filter((text) => text.includes('no longer matches what was requested') && text.includes(order.id));

const nineYears = (order: SeenOrder) =>
  client.query(`UPDATE orders SET input = jsonb_set(input, '{period}', '9') WHERE id = $1`, [order.id]);

async function adminIsToldOnce(order: SeenOrder): Promise<void> {
  await until('the message to the admin', () => noticesTo(order).length > 0);
  await t.demo.bot.catchUp();
  expect(noticesTo(order)).toEqual([
    expect.stringMatching(/so I sent nothing.*Changed: the request\..*Someone with write access/s),
  ]);
}

test('an order changed while it was pending isn’t approved, and admins are notified once', async () => {
  const order = await ask(t.workspace, t.alice, '/domain renew cafe.rest 2');
  await nineYears(order);
  await t.bob.click(order.card, 'order_approve');
  expect(textOf(await order.ends('FAILED'))).toMatch(NOT_AS_ASKED);
  expect(requestsOf(t.service, order)).toEqual([]);
  await adminIsToldOnce(order);
});

test('an order changed after its approval isn’t sent, and admins are notified once', async () => {
  t.service.faults.set({ kind: 'status_429', retryAfter: 600, match: { name: 'deli.rest' } });
  const order = await approvedBy(t.bob, ask(t.workspace, t.alice, '/domain renew deli.rest 2'));
  await until('it waits', () => textOf(order.card).includes('next attempt'));
  await nineYears(order);
  t.service.faults.clear();
  await t.demo.moveTime(HOUR_MS);
  expect(textOf(await order.ends('FAILED'))).toMatch(NOT_AS_ASKED);
  expect(requestsOf(t.service, order).map(({ status }) => status)).toEqual([429]);
  await until('the message to the admin', () => noticesTo(order).length > 0);
  await t.demo.bot.catchUp();
  expect(noticesTo(order)).toHaveLength(1);
});

const ENDS: Readonly<Record<string, readonly [name: string, act: (order: SeenOrder) => Promise<unknown>]>> = {
  SUCCEEDED: ['sushi.rest', (order) => t.bob.click(order.card, 'order_approve')],
  CANCELLED: ['ramen.rest', (order) => t.alice.click(order.card, 'order_cancel')],
  DENIED: [
    'tapas.rest',
    async (order) => {
      const form = await actUntilOpened(t.workspace, t.bob, () => t.bob.click(order.card, 'order_deny'));
      closed(await t.bob.submit(form, { reason: 'no' }));
    },
  ],
  EXPIRED: ['bistro.rest', () => t.demo.moveTime(73 * HOUR_MS)],
};

test.each(Object.entries(ENDS))(
  'an order that is %s isn’t sent when its rows are reset',
  async (state, [name, act]) => {
    const order = await ask(t.workspace, t.alice, `/domain renew ${name}`);
    await act(order);
    await order.ends(state);
    const sent = requestsOf(t.service, order).length;
    await resetRows((sql) => client.query(sql), order);
    await t.demo.bot.catchUp();
    await order.ends('FAILED');
    expect(requestsOf(t.service, order)).toHaveLength(sent);
    const told = () =>
      t.workspace
        .messages('D0ADA')
        .map(textOf)
        .filter((text) => text.includes('my database and the log disagree') && text.includes(order.id));
    await until('the message to the admin', () => told().length > 0);
    await t.demo.bot.catchUp();
    await t.allShown();
    expect(told()).toHaveLength(1);
  },
);
