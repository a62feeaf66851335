import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import type { Order } from '../../src/orders/order.ts';
import { Secret } from '../../src/service/secret.ts';
import { ALICE, MINUTE_MS, type Rig, requireAccepted, startRig } from '../orders/rig.ts';
import { newServiceError, SUCCESS_ENVELOPE } from '../orders/scripted-service.ts';

/* If an attacker changes the rows of an approved order, nothing is sent. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const TRANSFER = {
  name: 'cafe.rest',
  ownerc: 1,
  adminc: 2,
  techc: 3,
  nameServers: ['ns1.example.com', 'ns2.example.net'],
};

const requestTransfer = () => rig.requestAccepted('transfer', TRANSFER, { secret: new Secret('auth code') });

async function requestApprovedTransfer(): Promise<Order> {
  const order = await requestTransfer();
  await approveOrder(rig.orders, order.id, 'U0BOB');
  return order;
}

async function change(sql: string, orderId: string): Promise<void> {
  await rig.sql('ALTER TABLE orders DISABLE TRIGGER orders_statement_kept');
  await rig.sql(sql, orderId);
  await rig.sql('ALTER TABLE orders ENABLE TRIGGER orders_statement_kept');
}

const CHANGES: readonly [what: string, parts: readonly string[], sql: string][] = [
  [
    'a field',
    ['input'],
    `UPDATE orders SET input = jsonb_set(input, '{nameServers,1}', '"ns.evil.example"') WHERE id = $1`,
  ],
  ['the name', ['input'], `UPDATE orders SET input = jsonb_set(input, '{name}', '"bar.rest"') WHERE id = $1`],
  ['the name of its item', ['names'], `UPDATE order_items SET name = 'bar.rest' WHERE order_id = $1`],
  ['the task', ['task'], `UPDATE orders SET task = 'create' WHERE id = $1`],
  ['the account', ['account'], `UPDATE orders SET account_id = 'account-eve' WHERE id = $1`],
  ['the login', ['account'], `UPDATE orders SET account_login = 'eve' WHERE id = $1`],
  ['the context', ['account'], `UPDATE orders SET context = 1 WHERE id = $1`],
  ['the account’s sign-in method', [], `UPDATE orders SET account_method = 'two_factor' WHERE id = $1`],
  ['the account’s owner', [], `UPDATE orders SET uses_team_account = true WHERE id = $1`],
  [
    'the item’s own input',
    [],
    `UPDATE order_items SET input = '{"name":"bar.rest","ownerc":1,"adminc":2,"techc":3,"nameServers":["ns1.a.net","ns2.a.net"]}' WHERE order_id = $1`,
  ],
  ['the transaction id', [], `UPDATE order_items SET client_tid = 'another' WHERE order_id = $1`],
  ['the hash of the secret', [], `UPDATE orders SET secret_hash = NULL WHERE id = $1`],
  [
    'the encrypted secret',
    ['secret'],
    `UPDATE orders SET sealed_input = set_byte(sealed_input, 20, get_byte(sealed_input, 20) # 1) WHERE id = $1`,
  ],
  ['a removed secret', ['secret'], `UPDATE orders SET sealed_input = NULL WHERE id = $1`],
  ['the hash', ['hash'], `UPDATE orders SET statement_hash = repeat('0', 64) WHERE id = $1`],
  [
    'an added item',
    ['names'],
    `INSERT INTO order_items (order_id, n, name, client_tid, state) VALUES ($1, 2, 'bar.rest', 'more', 'WAITING')`,
  ],
];

test.each(CHANGES)('an order changed after its approval isn’t sent: %s', async (_what, parts, sql) => {
  rig.accounts.set('account-eve', { ...ALICE, id: 'account-eve', login: 'eve' });
  const order = await requestApprovedTransfer();
  await change(sql, order.id);
  await rig.runDue();
  expect(rig.service.received).toEqual([]);
  const after = await rig.read(order.id);
  expect(after.state).toBe('FAILED');
  expect(after.items[0]?.result?.summary).toEqual({ code: 'statement_changed', parts });
});

// Sealed values and the account are only checked before sending.
const EARLY_CHANGES = CHANGES.filter(
  ([what]) => !['the encrypted secret', 'a removed secret', 'the account'].includes(what),
);

test.each(EARLY_CHANGES)('an order changed before its approval fails: %s', async (_what, parts, sql) => {
  const order = await requestTransfer();
  await change(sql, order.id);
  await approveOrder(rig.orders, order.id, 'U0BOB');
  const after = await rig.read(order.id);
  expect(after.state).toBe('FAILED');
  expect(after.items[0]?.result?.summary).toEqual({ code: 'statement_changed', parts });
});

test.each(CHANGES)('an order changed before a retry isn’t sent again: %s', async (_what, parts, sql) => {
  rig.accounts.set('account-eve', { ...ALICE, id: 'account-eve', login: 'eve' });
  rig.service.answer = async () => {
    throw newServiceError('busy', { retryAfterMs: MINUTE_MS, httpStatus: 429 });
  };
  const order = await requestApprovedTransfer();
  await rig.runDue();
  expect(rig.service.received).toHaveLength(1);
  await change(sql, order.id);
  rig.service.answer = async () => SUCCESS_ENVELOPE;
  rig.advanceClock(MINUTE_MS);
  await rig.runDue();
  expect(rig.service.received, 'only the first request').toHaveLength(1);
  const after = await rig.read(order.id);
  expect(after.state).toBe('FAILED');
  expect(after.items[0]?.result?.summary).toEqual({ code: 'statement_changed', parts });
});

test('an order isn’t sent after a change between its claim and its request', async () => {
  const order = await rig.requestApprovedRenewal('cafe.rest');
  rig.service.prepare = async () => {
    await change(`UPDATE orders SET input = jsonb_set(input, '{period}', '9') WHERE id = $1`, order.id);
  };
  await rig.runDue();
  expect(rig.service.received).toEqual([]);
  expect(await rig.read(order.id)).toMatchObject({
    state: 'FAILED',
    items: [{ sentAt: undefined, result: { summary: { code: 'statement_changed', parts: ['input'] } } }],
  });
});

test('a change while names are sent fails only the unsent ones', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `n${index + 1}.rest`);
  const order = await rig.requestApprovedRenewal(...names);
  let changed: Promise<void> | undefined;
  rig.service.answer = async ({ ctid }) => {
    changed ??= change(`UPDATE order_items SET name = 'evil.rest' WHERE order_id = $1 AND n = 8`, order.id);
    await changed;
    return { ...SUCCESS_ENVELOPE, stid: ctid };
  };
  await rig.runDue();
  const sent = new Set(rig.service.received.map(({ ctid }) => ctid));
  expect(sent.size).toBeLessThan(8);
  const { state, items } = await rig.read(order.id);
  expect(state).toBe('FAILED');
  for (const item of items) expect(item.state).toBe(sent.has(item.ctid) ? 'SUCCEEDED' : 'FAILED');
});

test('the database refuses to change the statement’s hash', async () => {
  const order = await requestTransfer();
  await expect(
    rig.sql(`UPDATE orders SET statement_hash = repeat('0', 64) WHERE id = $1`, order.id),
  ).rejects.toThrow(/never changes/);
});

test('an unchanged order is sent', async () => {
  const order = await requestApprovedTransfer();
  await rig.runDue();
  expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
});

test('a transfer without its secret is refused', async () => {
  const outcome = await rig.request('transfer', TRANSFER);
  expect(outcome).toMatchObject({ kind: 'unsupported' });
  expect(() => requireAccepted(outcome)).toThrow();
});
