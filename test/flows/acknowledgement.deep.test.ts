import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ACKNOWLEDGEMENT_TIMEOUT_MS } from '../../src/slack/inbound/acknowledgement.ts';
import { DOMAINS, openForm, performAndWaitForView, textOf, useTestDemo } from '../support/demo.ts';
import { requestByCommand, requestsOf } from '../support/orders.ts';
import { buttonValue, waitForEphemeral } from '../support/people.ts';

/*
 * A delivery is acknowledged once its changes are committed. If that takes too long, it is acknowledged anyway and
 * the result follows as a message.
 */

/** The usual latency of Slack's API. */
const USUAL_LATENCY_MS = 150;
/** Longer than the deadline of an acknowledgement, and of a message to the person. */
const SLOW_LATENCY_MS = 2_700;

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

  let nameCount = 0;
  function addName(): string {
    nameCount += 1;
    const name = `ack-${nameCount}.rest`;
    t.service.state.addDomain({ name, context: 4 });
    return name;
  }
  const slowDownSlack = () =>
    t.workspace.faults.set({ method: '*', kind: 'slow', delayMs: USUAL_LATENCY_MS });
  const readOrderState = async (id: string): Promise<unknown> =>
    (await database.query('SELECT state FROM orders WHERE id = $1', [id])).rows[0]?.state;
  const requestRenewal = (name: string) =>
    requestByCommand(t.workspace, t.alice, `/domain renew ${name}`, DOMAINS, name);
  const countItems = async (name: string): Promise<number> =>
    (await database.query('SELECT 1 FROM order_items WHERE name = $1', [name])).rowCount ?? 0;

  test('a command is acknowledged once its order is committed', async () => {
    const name = addName();
    slowDownSlack();
    const { acked } = await t.alice.command(DOMAINS, `/domain renew ${name}`);
    expect([acked, await countItems(name)]).toEqual([true, 1]);
  });

  test('an approval that takes too long is acknowledged anyway, and its result follows', async () => {
    const order = await requestRenewal(addName());
    // This event clears the bot's cache of the group.
    await t.workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
    t.workspace.faults.set({
      method: 'usergroups.users.list',
      kind: 'slow',
      delayMs: SLOW_LATENCY_MS,
      times: 1,
    });
    const click = await t.carol.click(order.card, 'order_approve');
    expect(click.acked, 'within Slack’s time limit').toBe(true);
    expect(await readOrderState(order.id)).toBe('PENDING');
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
    const orderToApprove = await requestRenewal(addName());
    const orderToCancel = await requestRenewal(addName());
    const nameToDelete = addName();
    await t.alice.command(DOMAINS, `/domain delete ${nameToDelete}`);
    const draft = await waitForEphemeral(t.workspace, t.alice, 'the question', ({ blocks }) =>
      JSON.stringify(blocks).includes('order_confirm'),
    );
    const form = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(draft, 'order_confirm'),
    );
    slowDownSlack();
    expect((await t.carol.click(orderToApprove.card, 'order_approve')).acked).toBe(true);
    expect(await readOrderState(orderToApprove.id)).not.toBe('PENDING');
    expect((await t.alice.click(orderToCancel.card, 'order_cancel')).acked).toBe(true);
    expect(await readOrderState(orderToCancel.id)).toBe('CANCELLED');
    expect((await t.alice.submit(form, { name: nameToDelete })).outcome).toBe('closed');
    expect(await readOrderState(buttonValue(draft, 'order_confirm'))).not.toBe('DRAFT');
  });

  test('a command that takes too long is acknowledged anyway, and its result follows', async () => {
    const name = addName();
    const { bob } = t;
    t.workspace.faults.set({ method: 'users.info', kind: 'slow', delayMs: SLOW_LATENCY_MS, times: 1 });
    const response = await bob.command(DOMAINS, `/domain watch ${name}`);
    expect(response.acked, 'within Slack’s time limit').toBe(true);
    await waitForEphemeral(t.workspace, bob, 'the answer', (message) =>
      textOf(message).includes('is now on the watch list'),
    );
  });

  test('a command that opens a form is acknowledged before Slack opens it', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'slow', delayMs: SLOW_LATENCY_MS, times: 1 });
    const response = await t.alice.command(DOMAINS, '/domain renew');
    expect(response.acked).toBe(true);
    expect(response.ackMs).toBeLessThan(ACKNOWLEDGEMENT_TIMEOUT_MS);
  });

  test('a form is acknowledged once its request is committed', async () => {
    const order = await requestRenewal(addName());
    const before = t.carol.openedViews().length;
    await t.carol.click(order.card, 'order_deny');
    const form = await t.workspace.waitFor(() => t.carol.openedViews()[before], { what: 'the form' });
    slowDownSlack();
    expect(await t.carol.submit(form, { reason: 'no' })).toMatchObject({ outcome: 'closed' });
    expect(await readOrderState(order.id)).toBe('DENIED');
  });

  test('a form from another release is reported as out of date', async () => {
    const form = await openForm(t.workspace, t.alice, '/domain link');
    await t.alice.submit(form, { user: 'alice', context: '4', password: 'wrong' });
    const submission = t.workspace.deliveries.findLast(
      ({ payload }) => payload['type'] === 'view_submission',
    );
    if (submission === undefined) throw new Error('no form was submitted');
    const view = { id: form.id, type: 'modal', callback_id: 'of_another_release', private_metadata: '' };
    const { body } = await t.workspace.redeliver({ ...submission, payload: { ...submission.payload, view } });
    expect(JSON.stringify(body)).toContain('This form is out of date');
  });
});
