import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ACKNOWLEDGE_WITHIN_MS } from '../../src/slack/inbound/acknowledgement.ts';
import { actUntilOpened, DOMAINS, openForm, textOf, useTestDemo } from '../support/demo.ts';
import { requestByCommand, requestsOf } from '../support/orders.ts';
import { buttonValue, waitForEphemeral } from '../support/people.ts';

/*
 * A delivery is acknowledged once its changes are committed. If that takes too long, it is acknowledged anyway and
 * the result follows as a message.
 */

/** The usual latency of Slack's API. */
const USUAL_MS = 150;
/** Longer than the deadline of an acknowledgement, and of a message to the person. */
const SLOW_MS = 2_700;

describe.each([
  ['HTTP', false],
  ['Socket Mode', true],
])('over %s', (_mode, socketMode) => {
  const t = useTestDemo({ socketMode, settings: { APPROVERS: 'S0APPROVERS' } });
  let database: pg.Client;
  beforeAll(async () => {
    database = new pg.Client({ connectionString: t.databaseUrl });
    await database.connect();
  });
  afterEach(() => t.workspace.faults.clear());
  afterAll(() => database.end());

  let names = 0;
  function newName(): string {
    names += 1;
    const name = `ack-${names}.rest`;
    t.service.state.addDomain({ name, context: 4 });
    return name;
  }
  const slowDownSlack = () => t.workspace.faults.set({ method: '*', kind: 'slow', delayMs: USUAL_MS });
  const stateOf = async (id: string): Promise<unknown> =>
    (await database.query('SELECT state FROM orders WHERE id = $1', [id])).rows[0]?.state;
  const recordRegularOrder = (name: string) =>
    requestByCommand(t.workspace, t.alice, `/domain renew ${name}`, DOMAINS, name);
  const countItems = async (name: string): Promise<number> =>
    (await database.query('SELECT 1 FROM order_items WHERE name = $1', [name])).rowCount ?? 0;

  test('a command is acknowledged once its order is committed', async () => {
    const name = newName();
    slowDownSlack();
    const { acked } = await t.alice.command(DOMAINS, `/domain renew ${name}`);
    expect([acked, await countItems(name)]).toEqual([true, 1]);
  });

  test('an approval that takes too long is acknowledged anyway, and its result follows', async () => {
    const order = await recordRegularOrder(newName());
    // This event clears the bot's cache of the group.
    await t.workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({ method: 'usergroups.users.list', kind: 'slow', delayMs: SLOW_MS, times: 1 });
    const click = await t.carol.click(order.card, 'order_approve');
    expect(click.acked, 'within Slack’s time limit').toBe(true);
    expect(await stateOf(order.id)).toBe('PENDING');
    await waitForEphemeral(t.workspace, t.carol, 'the notice that it takes longer', (message) =>
      textOf(message).includes('I’ll answer here'),
    );
    const result = await waitForEphemeral(t.workspace, t.carol, 'the result', (message) =>
      textOf(message).includes('Approved: '),
    );
    expect(textOf(result)).toContain(order.id);
    await order.waitForResult('SUCCEEDED');
    expect(requestsOf(t.service, order)).toHaveLength(1);
  });

  // The rest doesn't depend on the transport.
  if (socketMode) return;

  test('a click on Approve, Cancel or Confirm is acknowledged once it is committed', async () => {
    const approved = await recordRegularOrder(newName());
    const cancelled = await recordRegularOrder(newName());
    const deleted = newName();
    await t.alice.command(DOMAINS, `/domain delete ${deleted}`);
    const draft = await waitForEphemeral(t.workspace, t.alice, 'the question', ({ blocks }) =>
      JSON.stringify(blocks).includes('order_confirm'),
    );
    const form = await actUntilOpened(t.workspace, t.alice, () => t.alice.click(draft, 'order_confirm'));
    slowDownSlack();
    expect((await t.carol.click(approved.card, 'order_approve')).acked).toBe(true);
    expect(await stateOf(approved.id)).not.toBe('PENDING');
    expect((await t.alice.click(cancelled.card, 'order_cancel')).acked).toBe(true);
    expect(await stateOf(cancelled.id)).toBe('CANCELLED');
    expect((await t.alice.submit(form, { name: deleted })).outcome).toBe('closed');
    expect(await stateOf(buttonValue(draft, 'order_confirm'))).not.toBe('DRAFT');
  });

  test('a command that takes too long is acknowledged anyway, and its result follows', async () => {
    const name = newName();
    const { bob } = t;
    t.workspace.faults.set({ method: 'users.info', kind: 'slow', delayMs: SLOW_MS, times: 1 });
    const watched = await bob.command(DOMAINS, `/domain watch ${name}`);
    expect(watched.acked, 'within Slack’s time limit').toBe(true);
    await waitForEphemeral(t.workspace, bob, 'the answer', (message) =>
      textOf(message).includes('is now on the watch list'),
    );
  });

  test('a command that opens a form is acknowledged before Slack opens it', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'slow', delayMs: SLOW_MS, times: 1 });
    const opened = await t.alice.command(DOMAINS, '/domain renew');
    expect(opened.acked).toBe(true);
    expect(opened.ackMs).toBeLessThan(ACKNOWLEDGE_WITHIN_MS);
  });

  test('a form is acknowledged once its request is committed', async () => {
    const order = await recordRegularOrder(newName());
    const before = t.carol.openedViews().length;
    await t.carol.click(order.card, 'order_deny');
    const form = await t.workspace.waitFor(() => t.carol.openedViews()[before], { what: 'the form' });
    slowDownSlack();
    expect(await t.carol.submit(form, { reason: 'no' })).toMatchObject({ outcome: 'closed' });
    expect(await stateOf(order.id)).toBe('DENIED');
  });

  test('a form from another release is reported as out of date', async () => {
    const form = await openForm(t.workspace, t.alice, '/domain link');
    await t.alice.submit(form, { user: 'alice', context: '4', password: 'wrong' });
    const made = t.workspace.deliveries.findLast(({ payload }) => payload['type'] === 'view_submission');
    if (made === undefined) throw new Error('no form was submitted');
    const view = { id: form.id, type: 'modal', callback_id: 'of_another_release', private_metadata: '' };
    const { body } = await t.workspace.redeliver({ ...made, payload: { ...made.payload, view } });
    expect(JSON.stringify(body)).toContain('This form is out of date');
  });
});
