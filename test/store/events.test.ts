import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEventLog } from '../../src/store/events.ts';
import { createSettingsStore } from '../../src/store/settings.ts';
import { createStandInStore } from '../../src/store/stand-ins.ts';
import { readTeamEvents } from '../support/log.ts';
import { collectRows, newOrder, type Rig, secondsLater, startRig } from './order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

describe('the log refuses', () => {
  test.each([
    ["UPDATE events SET actor = 'U0EVE'", 'UPDATE'],
    ["UPDATE events SET data = '{}' WHERE kind = 'requested'", 'UPDATE'],
    ['DELETE FROM events', 'DELETE'],
    ['TRUNCATE events', 'TRUNCATE'],
    ['TRUNCATE events, orders CASCADE', 'TRUNCATE'],
  ])('%s', async (statement, operation) => {
    const order = await rig.save(newOrder());
    await expect(rig.sql(statement)).rejects.toThrow(`events are only added, so ${operation} is refused`);
    expect(await rig.store.loadHistory(order.id, 'system')).toMatchObject([
      { kind: 'requested', actor: 'U0ALICE' },
    ]);
  });

  test('a function with a name similar to the permitted one', async () => {
    await rig.sql(
      `CREATE FUNCTION my_delete_old_events() RETURNS void LANGUAGE plpgsql AS 'BEGIN DELETE FROM events; END'`,
    );
    await expect(rig.sql('SELECT my_delete_old_events()')).rejects.toThrow('DELETE is refused');
  });
});

test('old events can be deleted, except for those of stored orders', async () => {
  const settings = createSettingsStore(rig.database);
  const save = (before: string, after: string, moment: Date) =>
    settings.save([{ name: 'approval_ttl', before, after }], 'U0ADA', moment);
  await save('1d', '2d', secondsLater(1));
  await save('2d', '3d', secondsLater(100));
  const order = await rig.save(newOrder());
  await rig.sql('SELECT delete_old_events($1)', [secondsLater(50)]);
  expect(await readTeamEvents(rig.database, '')).toMatchObject([
    { kind: 'setting_changed', after: '3d' },
    { kind: 'events_forgotten', reason: 'age', count: 1, seqs: [], leaves: [expect.any(String)] },
  ]);
  expect(await rig.store.loadHistory(order.id, 'system')).toHaveLength(1);
});

test('a person is forgotten as actor, as subject and in the data of events', async () => {
  const order = await rig.save(newOrder({ requesterId: 'U0GONE', escalateAt: secondsLater(60) }));
  await rig.apply(
    order.id,
    { type: 'escalated', to: ['U0GONE', 'U0BOB'], toAdmins: false },
    secondsLater(120),
  );
  await createStandInStore(rig.database, '').begin(
    'U0GONE',
    { userId: 'U0EVE', until: secondsLater(10) },
    secondsLater(1),
  );
  await rig.sql(`SELECT forget_person_in_events('U0GONE')`);
  expect(await rig.store.loadHistory(order.id, 'system')).toMatchObject([
    { kind: 'requested', actor: 'former', account: 'former' },
    { kind: 'escalated', to: ['former', 'U0BOB'] },
  ]);
  expect((await readTeamEvents(rig.database, '')).at(0)).toMatchObject({
    subject: { kind: 'person', id: 'former' },
    actor: 'former',
  });
  expect(JSON.stringify(await rig.sql('SELECT subject_id, actor, data FROM events'))).not.toContain('U0GONE');
});

test('an error names the unreadable event, and other orders can be loaded', async () => {
  const [unreadable, readable] = [await rig.save(newOrder()), await rig.save(newOrder())];
  const [{ seq } = {}] = await rig.sql(
    `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
     VALUES ('order', $1, 'asked', 'U0BOB', $2, '{"version": 2, "state": "PENDING"}') RETURNING seq`,
    [unreadable.id, secondsLater(1_000)],
  );
  const expectedError = { cause: { message: `event ${seq} of the log can’t be read` } };
  const [unreadableResult, readableResult] = await Promise.allSettled(
    [unreadable, readable].map(({ id }) => rig.store.loadWithHistory(id, 'system')),
  );
  expect(unreadableResult).toMatchObject({ status: 'rejected', reason: expectedError });
  expect(readableResult).toMatchObject({ status: 'fulfilled', value: { order: { id: readable.id } } });
  await expect(rig.store.loadHistory(unreadable.id, 'system')).rejects.toMatchObject(expectedError);
  await expect(
    collectRows(createEventLog(rig.database, '').read(secondsLater(1_000), secondsLater(1_001))),
  ).rejects.toMatchObject({
    message: `event ${seq} of the log can’t be read`,
  });
});

// No store can read these events, so no later test reads events through one.
test('events about keys and charters are kept regardless of age', async () => {
  await rig.sql(`INSERT INTO events (subject_kind, subject_id, kind, actor, at, data) VALUES
    ('key', 'f1', 'key_added', 'U0BOB', '2020-01-01', '{}'),
    ('policy', '3', 'charter_signed', 'U0BOB', '2020-01-01', '{}'),
    ('setting', 'approval_ttl', 'setting_changed', 'U0BOB', '2020-01-01', '{}')`);
  await rig.sql('SELECT delete_old_events($1)', [secondsLater(0)]);
  const rows = await rig.sql(`SELECT kind FROM events WHERE at = '2020-01-01' ORDER BY seq`);
  expect(rows).toEqual([{ kind: 'key_added' }, { kind: 'charter_signed' }, { kind: 'forgotten' }]);
});

describe('the log of an order whose row was deleted', () => {
  const deleteRows = async (id: string) => {
    for (const table of ['approvals', 'order_items'])
      await rig.sql(`DELETE FROM ${table} WHERE order_id = $1`, [id]);
    await rig.sql('DELETE FROM orders WHERE id = $1', [id]);
  };
  const deleteOldEvents = () => rig.sql(`SELECT delete_old_events('infinity')`);
  const listKinds = async (id: string) =>
    (await rig.sql('SELECT kind FROM events WHERE subject_id = $1 ORDER BY seq', [id])).map(
      ({ kind }) => kind,
    );
  const addEvent = (id: string, kind: string, data: object, moment: Date | string = secondsLater(60)) =>
    rig.sql(
      `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data) VALUES ('order', $1, $2, 'system', $4, $3)`,
      [id, kind, data, moment],
    );

  test('is kept unless it says that the order has ended', async () => {
    const { id } = await rig.save(newOrder());
    await addEvent(id, 'sending', { state: 'EXECUTING' });
    await deleteRows(id);
    await deleteOldEvents();
    expect(await listKinds(id)).toEqual(['requested', 'sending']);
  });

  test('is kept for 30 days, even if the caller asks to delete it earlier', async () => {
    const { id } = await rig.save(newOrder());
    await addEvent(id, 'denied', { state: 'DENIED' }, new Date(Date.now() - 29 * 86_400_000));
    await deleteRows(id);
    await deleteOldEvents();
    expect(await listKinds(id)).toEqual(['requested', 'denied']);
  });

  test('is kept while the order’s mandate is in force', async () => {
    const { id } = await rig.save(newOrder());
    await addEvent('mandate1', 'in_force', { state: 'SUCCEEDED' });
    await addEvent(id, 'sending', { state: 'EXECUTING', mandate: 'mandate1' });
    await addEvent(id, 'answered', { state: 'SUCCEEDED' }, secondsLater(61));
    await deleteRows(id);
    await deleteOldEvents();
    expect(await listKinds(id)).toEqual(['requested', 'sending', 'answered']);
    expect(await listKinds('mandate1')).toEqual(['in_force']);
    await addEvent('mandate1', 'mandate_ended', { state: 'SUCCEEDED' }, secondsLater(62));
    await deleteOldEvents();
    expect(new Set(await listKinds(id))).toEqual(new Set(['forgotten']));
  });

  test('is forgotten once, and its ID is never reused', async () => {
    const order = newOrder();
    const { id } = await rig.save(order);
    await addEvent(id, 'denied', { state: 'DENIED' });
    await deleteRows(id);
    await deleteOldEvents();
    expect(await listKinds(id)).toEqual(['forgotten', 'forgotten']);
    await expect(rig.save(order)).rejects.toThrow();
    expect(await rig.sql('SELECT id FROM orders WHERE id = $1', [id])).toEqual([]);
  });
});

test.each([['0abcdefgh1j2'], ['.*'], ['UNKNOWN'], [''], [null]])('%j isn’t a user ID', async (person) => {
  await expect(rig.sql('SELECT forget_person_in_events($1)', [person])).rejects.toThrow(
    'is no Slack user id',
  );
});
