import type { Actor, Workspace } from '@domain-steward/slack-workspace';
import { describe, expect, test } from 'vitest';
import {
  DOMAINS,
  deliverSigned,
  getClickedAction,
  openForm,
  performAndReadReply,
  textOf,
  until,
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

/* Deliveries that arrive several times or at once, and correctly signed ones that Slack would never send. */

type Delivery = Workspace['deliveries'][number];

const t = useTestDemo();

const readReplyTo = (person: Actor, act: () => Promise<unknown>) =>
  performAndReadReply(t.workspace, person, act);

/** The newest matching delivery. */
function findDelivery(what: string, matches: (payload: Delivery['payload']) => boolean): Delivery {
  const found = t.workspace.deliveries.findLast(({ payload }) => matches(payload));
  if (found === undefined) throw new Error(`${what} was not delivered`);
  return found;
}

/** The IDs of the orders for a name that have a card. */
function listOrderIdsFor(name: string): Set<string> {
  return new Set(
    t.workspace.messages(DOMAINS).flatMap((message) => {
      const order = orderOf(message);
      return order?.names === name ? [order.id] : [];
    }),
  );
}

function expectSentOnce(order: VisibleOrder): void {
  expect(
    requestsOf(t.service, order).map(({ path }) => path),
    'requests of the order',
  ).toHaveLength(1);
}

describe('a redelivery of', () => {
  test('a command makes no second order', async () => {
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew soup.rest');
    // Slack turns the name into a link.
    const command = findDelivery('the command', ({ text }) => /^renew \S*soup\.rest\S*$/.test(String(text)));
    await Promise.all([1, 2, 3].map(() => t.workspace.redeliver(command)));
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
    await t.workspace.redeliver(command);
    // When the next command gets a reply, the redelivery has been handled.
    await readReplyTo(t.alice, () => t.alice.command(DOMAINS, '/domain orders soup.rest'));
    expect(listOrderIdsFor('soup.rest')).toEqual(new Set([order.id]));
    expect(order.state).toBe('CANCELLED');
  });

  test('a submitted form makes no second order', async () => {
    const view = await openForm(t.workspace, t.alice, '/domain renew');
    const order = await waitForOrder(t.workspace, () =>
      t.alice.submit(view, { names: 'sushi.rest', period: '1' }),
    );
    const form = findDelivery('the form', ({ type }) => type === 'view_submission');
    await Promise.all([1, 2, 3].map(() => t.workspace.redeliver(form)));
    await t.alice.click(order.card, 'order_cancel');
    await order.waitForResult('CANCELLED');
    await t.workspace.redeliver(form);
    await readReplyTo(t.alice, () => t.alice.command(DOMAINS, '/domain orders sushi.rest'));
    expect(listOrderIdsFor('sushi.rest')).toEqual(new Set([order.id]));
  });

  test('a click on Approve makes no second request', async () => {
    const order = await requestAndApprove(
      t.bob,
      requestByCommand(t.workspace, t.alice, '/domain renew tapas.rest'),
    );
    const click = findDelivery('the click', (payload) => getClickedAction(payload) === 'order_approve');
    await Promise.all([1, 2, 3].map(() => t.workspace.redeliver(click)));
    await order.waitForResult('SUCCEEDED');
    // Earlier redeliveries may still be running.
    await t.workspace.redeliver(click);
    await until('a reply to the last redelivery', () =>
      t.bob.ephemerals().some((each) => /done/.test(textOf(each))),
    );
    expectSentOnce(order);
  });
});

describe('unexpected but correctly signed deliveries', () => {
  const JSON_TYPE = 'application/json';
  const FORM_TYPE = 'application/x-www-form-urlencoded';
  const encodeInteraction = (payload: unknown) => `payload=${encodeURIComponent(JSON.stringify(payload))}`;
  const user = { id: 'U0BOB', team_id: 'T0STEWARD' };
  const encodeApproveClick = (value: unknown) =>
    encodeInteraction({
      type: 'block_actions',
      user,
      team: { id: 'T0STEWARD' },
      trigger_id: 't',
      channel: { id: DOMAINS },
      actions: [{ type: 'button', action_id: 'order_approve', block_id: 'b', action_ts: '1', value }],
    });

  const unexpectedBodies: readonly [what: string, status: number, contentType: string, body: string][] = [
    ['nothing at all', 400, JSON_TYPE, ''],
    ['half of JSON', 400, JSON_TYPE, '{"type":"event_cal'],
    ['a list', 400, JSON_TYPE, '[]'],
    ['null', 400, JSON_TYPE, 'null'],
    ['an event without an event', 404, JSON_TYPE, '{"type":"event_callback"}'],
    ['an unknown event', 200, JSON_TYPE, '{"type":"event_callback","event":{"type":"moon_landing"}}'],
    ['a payload that is no JSON', 400, FORM_TYPE, 'payload=%7Bnot'],
    ['a payload of null', 400, FORM_TYPE, 'payload=null'],
    ['a command without its fields', 200, FORM_TYPE, 'command=%2Fdomain'],
    ['another command', 404, FORM_TYPE, 'command=%2Fother&team_id=T0STEWARD&text=x&user_id=U0BOB'],
    ['a click on nothing', 404, FORM_TYPE, encodeInteraction({ type: 'block_actions', user, actions: [] })],
    [
      'a click by nobody',
      500,
      FORM_TYPE,
      encodeInteraction({ type: 'block_actions', actions: [{ action_id: 'order_approve' }] }),
    ],
    ['a click on an order that is not there', 200, FORM_TYPE, encodeApproveClick('nosuchorder0')],
    ['a click with a NUL in its value', 200, FORM_TYPE, encodeApproveClick('a\u0000b')],
    ['a click with a very long value', 200, FORM_TYPE, encodeApproveClick('x'.repeat(100_000))],
    ['a click whose value is a number', 200, FORM_TYPE, encodeApproveClick(7)],
    [
      'an unknown form',
      200,
      FORM_TYPE,
      encodeInteraction({ type: 'view_submission', user, view: { id: 'V', callback_id: 'x' } }),
    ],
    [
      'a form whose origin was changed',
      200,
      FORM_TYPE,
      encodeInteraction({
        type: 'view_submission',
        user,
        view: { id: 'V1', callback_id: 'renew', private_metadata: '{"channelId":7}', state: { values: {} } },
      }),
    ],
    [
      'a form with other fields',
      200,
      FORM_TYPE,
      encodeInteraction({
        type: 'view_submission',
        user,
        view: {
          id: 'V2',
          callback_id: 'deny',
          private_metadata: '{"channelId":"C0DOMAINS"}',
          state: { values: { __proto__: { x: { value: 'y' } } } },
        },
      }),
    ],
    ['two megabytes', 413, FORM_TYPE, `command=%2Fdomain&text=${'x'.repeat(2_000_000)}`],
    ['a text in another type', 400, 'text/plain', 'hello'],
  ];

  test('get the expected status and have no effect', async () => {
    const countJsonRequests = () =>
      t.service.requests.filter((request) => request.interface === 'json').length;
    const before = countJsonRequests();
    const answers = await Promise.all(
      // Bolt answers deliveries without a listener after 3 s, so all are sent together.
      unexpectedBodies.map(async ([what, , contentType, body]) => [
        what,
        await deliverSigned(t, contentType, body),
      ]),
    );
    expect(answers).toEqual(unexpectedBodies.map(([what, status]) => [what, status]));
    expect(await readReplyTo(t.alice, () => t.alice.command(DOMAINS, '/domain whoami'))).toContain(
      'alice in context 4',
    );
    expect(countJsonRequests(), 'requests to the service').toBe(before);
  });
});
