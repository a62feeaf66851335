import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { cancelOrder } from '../../src/approvals/pending.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import { endMandate } from '../../src/mandates/life.ts';
import { loadMandateStatuses } from '../../src/mandates/overview.ts';
import { listChangesSinceRequest } from '../../src/slack/approvals/signing/page-texts.view.ts';
import { mandatesMessage } from '../../src/slack/mandates/mandate.view.ts';
import { purge } from '../../src/store/purge.ts';
import { withSession } from '../../src/store/session.ts';
import { type Rig, startRig } from '../orders/rig.ts';
import { newServiceError } from '../orders/scripted-service.ts';
import { createMandateHelpers } from './mandate-rig.ts';

/*
 * A mandate's state and spending come from the log, so changed rows and added events give it no more power.
 */

let rig: Rig;
let on: ReturnType<typeof createMandateHelpers>;
beforeAll(async () => {
  rig = await startRig();
  on = createMandateHelpers(rig);
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const countSentRequests = () => rig.service.received.length;
const loadContradictions = async (id: string) =>
  (await rig.store.loadHistory(id, 'system')).filter(({ kind }) => kind === 'contradicted');

test('an ended mandate whose row was reset does nothing, and ends again', async () => {
  await on.watch('cafe.rest', 10);
  const { id } = await on.createMandate();
  await endMandate(rig.mandates, id, 'U0ALICE');
  await rig.sql('UPDATE orders SET mandate_end = NULL WHERE id = $1', id);
  await on.run();
  await on.run();
  expect(await on.listActs()).toEqual([]);
  expect(await rig.read(id)).toMatchObject({ state: 'SUCCEEDED', mandateEnd: { cause: 'log_differs' } });
  expect(await loadContradictions(id)).toMatchObject([{ difference: 'ended' }]);
});

test('an ended mandate’s order isn’t sent when the rows of both are reset', async () => {
  await on.watch('cafe.rest', 10);
  const { id } = await on.createMandate();
  const { orderId = 'none' } = await on.runAndFindAct('cafe.rest');
  await on.markAnnounced();
  await rig.sql('CREATE TABLE before AS SELECT * FROM orders');
  await rig.sql('CREATE TABLE before_items AS SELECT * FROM order_items');
  await endMandate(rig.mandates, id, 'U0ALICE');
  await rig.sql('UPDATE orders SET mandate_end = NULL WHERE id = $1', id);
  await rig.sql(
    'UPDATE orders o SET state = b.state, due_at = b.due_at, closed_at = NULL FROM before b WHERE b.id = o.id',
  );
  await rig.sql(
    'UPDATE order_items o SET state = b.state, result = NULL FROM before_items b WHERE b.order_id = o.order_id',
  );
  await rig.sql('DROP TABLE before, before_items');
  await on.advanceAndSend();
  expect(countSentRequests()).toBe(0);
  expect(await rig.read(orderId)).toMatchObject({ state: 'FAILED' });
  expect(await loadContradictions(orderId)).toHaveLength(1);
});

test('an order isn’t sent if its mandate ends in the log just before sending', async () => {
  await on.watch('cafe.rest', 10);
  const { id } = await on.createMandate();
  const { orderId = 'none' } = await on.runAndFindAct('cafe.rest');
  await on.markAnnounced();
  rig.advanceClock(DAY_MS + 12 * HOUR_MS);
  await on.recordLookup();
  rig.service.prepare = async () => {
    await rig.sql(
      `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
       VALUES ('order', $1, 'mandate_ended', 'U0ALICE', now(), '{"version": 4, "state": "SUCCEEDED", "cause": "person"}')`,
      id,
    );
  };
  await rig.runDue();
  expect(countSentRequests()).toBe(0);
  expect(await rig.read(orderId)).toMatchObject({ state: 'FAILED' });
});

test('an added event doesn’t bring a stopped mandate into force', async () => {
  await on.watch('cafe.rest', 10);
  const { id } = await on.requestMandate();
  expect(await cancelOrder(rig.orders, id, 'U0ALICE')).toMatchObject({ ok: true });
  await rig.sql(
    `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
     SELECT 'order', id, 'in_force', 'system', now(), jsonb_build_object('version', version, 'state', 'SUCCEEDED', 'until', now() + '1 year')
     FROM orders WHERE id = $1`,
    id,
  );
  await rig.sql(`UPDATE orders SET state = 'SUCCEEDED', closed_at = now() WHERE id = $1`, id);
  await on.run();
  expect(await on.listActs()).toEqual([]);
});

test('a mandate without an in_force event does nothing', async () => {
  await on.watch('cafe.rest', 10);
  const { id } = await on.requestMandate();
  await rig.sql(`UPDATE orders SET state = 'SUCCEEDED', closed_at = now() WHERE id = $1`, id);
  await on.run();
  expect(await on.listActs()).toEqual([]);
});

test('a mandate shows its approvers from the log', async () => {
  const order = await on.createMandate();
  await rig.sql(`UPDATE approvals SET user_id = 'U0EVE'`);
  const { statuses: items } = await loadMandateStatuses(rig.mandates, { id: 'U0ADA', isAdmin: true });
  const text = JSON.stringify(mandatesMessage({ items, total: 1, offset: 0 }, []));
  expect(text).toContain('approved by <@U0BOB>');
  expect(text).not.toContain('U0EVE');
  const history = await rig.store.loadHistory(order.id, 'system');
  expect(listChangesSinceRequest(history, false)).toEqual(['1 approval so far: <@U0BOB>.']);
});

test.each([
  ['their reservations are deleted', 'DELETE FROM budget_reservations'],
  ['their rows say they cost nothing', 'UPDATE budget_reservations SET amount_minor = 0'],
  [
    'their rows say they belong to no mandate',
    'UPDATE orders SET mandate_id = NULL WHERE mandate_id IS NOT NULL',
  ],
  [
    'their rows say they failed',
    `UPDATE order_items SET state = 'FAILED' WHERE order_id IN (SELECT id FROM orders WHERE task = 'renew')`,
  ],
  [
    'an added event says they cost nothing',
    `INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
     SELECT team_id, subject_kind, subject_id, kind, actor, at, jsonb_set(data, '{amount,minor}', '0')
     FROM events WHERE kind = 'sending'`,
  ],
  [
    'an added event says they were sent long ago',
    `INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
     SELECT team_id, subject_kind, subject_id, kind, actor, at - interval '1 year', data
     FROM events WHERE kind = 'sending'`,
  ],
])('sent requests count against the limits even if %s', async (_what, change) => {
  await on.watch('cafe.rest', 8);
  await on.createMandate({ max_total: { currency: 'EUR', minor: 3_000 } });
  await on.run();
  await on.markAnnounced();
  await on.advanceAndSend();
  expect(countSentRequests()).toBe(1);
  await rig.sql(change);
  await on.watch('bar.rest', 10);
  expect(await on.runAndFindAct('bar.rest')).toMatchObject({ held: 'total_spent' });
});

test.each([
  [
    'an added event says they failed',
    `INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
     SELECT team_id, subject_kind, subject_id, 'answered', actor, at, data || jsonb_build_object(
       'outcome', 'FAILED', 'result', '{"summary": {"code": "stopped"}}'::jsonb, 'botSignature', 'AAAA', 'version', 99)
     FROM events WHERE kind = 'sending'`,
  ],
  [
    'an added event says they will be retried',
    `INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
     SELECT team_id, subject_kind, subject_id, 'retry_scheduled', actor, at, data || jsonb_build_object(
       'retryReason', '{"code": "busy"}'::jsonb, 'until', at, 'version', 99) FROM events WHERE kind = 'sending'`,
  ],
])('requests with unknown outcomes count against the limits even if %s', async (_what, change) => {
  rig.service.answer = async () => {
    throw newServiceError('unknown_outcome');
  };
  await on.watch('cafe.rest', 8);
  await on.createMandate({ max_total: { currency: 'EUR', minor: 3_000 } });
  await on.run();
  await on.markAnnounced();
  await on.advanceAndSend();
  expect(countSentRequests()).toBe(1);
  await rig.sql(`UPDATE order_items SET state = 'FAILED', result = NULL WHERE state = 'UNKNOWN'`);
  await rig.sql(change);
  await on.watch('bar.rest', 10);
  expect(await on.runAndFindAct('bar.rest')).toMatchObject({ held: 'total_spent' });
});

test('a failed order is replaced once its requester is back', async () => {
  await on.watch('cafe.rest', 10);
  await on.createMandate();
  const { orderId: first = 'none' } = await on.runAndFindAct('cafe.rest');
  await on.markAnnounced();
  rig.memberships.set('U0ALICE', 'left');
  await on.advanceAndSend();
  expect(await rig.read(first)).toMatchObject({ state: 'FAILED' });
  rig.memberships.delete('U0ALICE');
  const { orderId: second = 'none' } = await on.runAndFindAct('cafe.rest');
  expect(second).not.toBe(first);
  await on.markAnnounced();
  await on.advanceAndSend();
  expect(await rig.read(second)).toMatchObject({ state: 'SUCCEEDED' });
  expect(countSentRequests()).toBe(1);
});

test('a purge keeps a mandate in force and its sent orders', async () => {
  await on.watch('cafe.rest', 8);
  const { id } = await on.createMandate({ max_total: { currency: 'EUR', minor: 3_000 }, span: 'year' });
  await on.run();
  await on.markAnnounced();
  await on.advanceAndSend();
  expect(countSentRequests()).toBe(1);
  const before = new Date(rig.now.getTime() + DAY_MS);
  await purgeEventsBefore(before);
  await on.watch('bar.rest', 10);
  expect(await on.runAndFindAct('bar.rest')).toMatchObject({ held: 'total_spent' });
  await endMandate(rig.mandates, id, 'U0ALICE');
  await purgeEventsBefore(before);
  expect(await rig.store.load(id, 'system')).toBeUndefined();
});

async function purgeEventsBefore(before: Date): Promise<void> {
  const [{ name } = {}] = await rig.sql('SELECT current_database() AS name');
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  await withSession(url.href, (client) => purge(client, before, { dryRun: false }));
}
