import { describe, expect, it } from 'vitest';
import {
  isFinal,
  ORDER_STATES,
  ORDER_TASK_NAMES,
  type Order,
  type OrderState,
} from '../../../src/orders/order.ts';
import type { Statement, StatementObject } from '../../../src/orders/statement-shape.ts';
import { getOrderTask } from '../../../src/orders/tasks.ts';
import { homeBlocks } from '../../../src/slack/home/home.view.ts';
import { type Message, message } from '../../../src/slack/kit/blocks.ts';
import { answerLines } from '../../../src/slack/orders/answer.view.ts';
import { confirmationMessage } from '../../../src/slack/orders/confirm.view.ts';
import { type HistoryEvent, orderLine, ordersTable } from '../../../src/slack/orders/order.view.ts';
import { orderDetailsView } from '../../../src/slack/orders/order-details.view.ts';
import { orderHistory, orderReply } from '../../../src/slack/orders/thread.view.ts';
import { newBriefing } from '../../support/briefing.ts';
import { createApprovalEvent, newOrderEvent } from '../../support/log.ts';
import fc from '../../support/properties.ts';
import { countPhoneLines } from '../../support/reading.ts';
import { renderText } from '../../support/rendered.ts';
import {
  expectValidBlocks,
  expectValidMessage,
  expectValidView,
  listMentions,
  toWireBlocks,
} from '../kit/limits.ts';
import { REQUESTED_AT, renderCard, SAMPLE_INPUTS, SECRET_HASH, sampleOrder } from './samples.ts';

const APPROVERS = ['U0BOB', 'S0APPROVERS'];
const KINDS = ['approved', 'denied', 'cancelled', 'expired', 'reminded', 'resolved', 'finished'] as const;

function newEvent<Kind extends HistoryEvent['kind']>(kind: Kind, state: OrderState, fields: object = {}) {
  return newOrderEvent(kind, state, { actor: 'U0BOB', ...fields });
}

function historyOf(order: Order, kinds: readonly (typeof KINDS)[number][], reason: string) {
  return kinds.map((kind, index) =>
    newEvent(kind, order.state, {
      ...{ version: index + 1, at: REQUESTED_AT },
      ...{ reason, ctids: [order.id], outcome: 'SUCCEEDED', lapsed: ['U0CAROL'] },
    }),
  );
}

/** Every message that an order can cause. */
function messagesOf(order: Order, statement: Statement, reason: string): Message[] {
  const history = historyOf(order, KINDS, reason);
  return [
    renderCard(order, { statement, approvers: APPROVERS, history, hint: 'Invite me.' }),
    confirmationMessage(order, newBriefing({ statement })),
    message('history', orderHistory(order, history)),
    message('list', [ordersTable('Orders', [order])]),
    message(orderLine(order), []),
    ...history.flatMap((entry) => orderReply(order, entry, APPROVERS) ?? []),
  ].map((each) => (each.blocks.length === 0 ? message(each.text, [{ type: 'divider' }]) : each));
}

it('a response that is one value is shown without a label', () => {
  const formatAnswer = (data: unknown) => {
    const order = sampleOrder('SUCCEEDED');
    const items = order.items.map((item) => ({
      ...item,
      result: { summary: { code: 'done' } as const, data },
    }));
    return answerLines({ ...order, items }, (name) => name);
  };
  expect(formatAnswer('[secret]')).toEqual(['• [secret]']);
  expect(formatAnswer({ status: 'active' })).toEqual(['• Status: active']);
});

describe('a card', () => {
  it.each(ORDER_STATES)('shows the state %s', (state) => {
    const order = sampleOrder(state);
    const approved = order.approvals.map(({ userId }) => createApprovalEvent(order, [userId]));
    const history = [...approved, newEvent('denied', 'DENIED', { reason: 'too expensive' })];
    const card = renderCard(order, { approvers: APPROVERS, history });
    expectValidMessage(card);
    expect(renderText(card)).toMatchSnapshot();
  });

  it.each(ORDER_TASK_NAMES)('shows the task %s', (task) => {
    const input = SAMPLE_INPUTS[task];
    const checked = getOrderTask(task).check(input);
    if (!checked.ok) throw new Error(`the sample for ${task} is invalid: ${JSON.stringify(checked.issues)}`);
    const order = sampleOrder(
      'PENDING',
      { task, input: checked.input, secretHash: task === 'transfer' ? SECRET_HASH : undefined },
      checked.names,
    );
    const card = renderCard(order, { approvers: APPROVERS });
    expectValidMessage(card);
    expect(renderText(card)).toMatchSnapshot();
  });

  it('says only once that the order costs money', () => {
    const card = JSON.stringify(renderCard(sampleOrder('PENDING'), { approvers: APPROVERS }));
    expect(card.match(/costs money/gi)).toHaveLength(1);
  });

  it('omits empty facts, and starts with DEMO in a demo context', () => {
    const input = { name: 'cafe.rest', nameServers: ['ns1.example.net', 'ns2.example.net'] };
    const free = sampleOrder('PENDING', { task: 'nameservers', input });
    const shown = JSON.stringify(renderCard(free, { approvers: APPROVERS }).blocks);
    expect(shown).not.toContain('costs money');
    expect(shown).toContain('ns1.example.net');
    const renewal = JSON.stringify(renderCard(sampleOrder('PENDING'), { approvers: APPROVERS }));
    expect(renewal).toContain('This costs money (price unknown)');
    expect(renewal, 'it’s in the title').not.toContain('Period');
    const titles = [4, 1].map((context) => {
      const order = { ...free, account: { ...free.account, context } };
      return renderCard(order, { approvers: APPROVERS }).text;
    });
    expect(titles).toEqual([
      'Change the nameservers of cafe.rest: waiting for approval',
      'DEMO · Change the nameservers of cafe.rest: waiting for approval',
    ]);
  });

  it('shows which of several people approved, and whose approval no longer counts', () => {
    const approvals = ['U0CAROL', 'U0BOB'].map((userId) => ({ userId, at: REQUESTED_AT, agreedExcess: [] }));
    const order = sampleOrder('PENDING', { approvals, approvalsRequired: 2 });
    const approved = createApprovalEvent(order, ['U0BOB'], ['U0CAROL']);
    const history = [approved];
    const card = JSON.stringify(renderCard(order, { approvers: APPROVERS, history }).blocks);
    expect(card).toContain('1 of 2 approvals (<@U0BOB>)');
    expect(card).toContain('<@U0CAROL>’s approval no longer counts');
    const reply = orderReply(order, approved, APPROVERS);
    expect(reply?.text).toContain('<@U0CAROL>’s approval no longer counts');
    expect(reply?.text).toContain('1 more approval is needed');
  });

  it.each([
    [
      'many names',
      { names: Array.from({ length: 50 }, (_, n) => `${n}${'x'.repeat(60)}.rest`), period: 1 },
      'renew',
    ],
    [
      'a long target',
      { source: 's.rest', target: `https://example.com/${'x'.repeat(1_900)}`, type: 'DOMAIN', mode: 'HTTP' },
      'redirect',
    ],
    [
      'many nameservers',
      {
        name: 'cafe.rest',
        nameServers: Array.from({ length: 13 }, (_, n) => `ns${n}.${'a'.repeat(60)}.net`),
      },
      'nameservers',
    ],
  ] as const)('has a Details button instead of Approve with %s', (_what, input, task) => {
    const order = sampleOrder('PENDING', { task, input }, 'names' in input ? input.names : ['s.rest']);
    const card = renderCard(order, { approvers: APPROVERS });
    expectValidMessage(card);
    expect(JSON.stringify(card.blocks)).not.toContain('order_approve');
    expect(JSON.stringify(card.blocks)).toContain('order_look');
  });

  it('stays short on a phone', () => {
    const lengthOf = (order: Order) =>
      countPhoneLines(toWireBlocks(renderCard(order, { approvers: APPROVERS }).blocks));
    expect(lengthOf(sampleOrder('PENDING')), 'one name, price unknown').toBeLessThanOrEqual(14);
    const reason = 'the client has paid for it, '.repeat(30);
    expect(lengthOf(sampleOrder('PENDING', { reason })), 'a long reason').toBeLessThanOrEqual(14);
    const names = Array.from({ length: 25 }, (_, n) => `name${n}.rest`);
    expect(lengthOf(sampleOrder('PENDING', {}, names)), '25 names').toBeLessThanOrEqual(18);
    for (const state of ORDER_STATES.filter((each) => isFinal(each)))
      expect(lengthOf(sampleOrder(state)), state).toBeLessThanOrEqual(6);
  });
});

describe('the history', () => {
  it('says how an order ended, and distinguishes accepted from done', () => {
    const shown = (task: Order['task'], kind: 'finished' | 'resolved', more: object) =>
      JSON.stringify(orderHistory({ task }, [newEvent(kind, 'SUCCEEDED', more)]));
    expect(shown('renew', 'finished', { endingEvent: 'answered' })).toContain('result: done');
    expect(shown('restore', 'finished', { endingEvent: 'answered' })).toMatch(/ accepted"/);
    expect(shown('restore', 'finished', { endingEvent: 'resolved' })).toMatch(/ done"/);
    expect(shown('restore', 'resolved', { outcome: 'SUCCEEDED' })).toContain('marked as done by <@U0BOB>');
  });

  it('says why a request was retried or will be', () => {
    const history = (['sending', 'retry_scheduled'] as const).map((kind) =>
      newEvent(kind, 'EXECUTING', { retryReason: { code: kind === 'sending' ? 'session_ended' : 'busy' } }),
    );
    const shown = JSON.stringify(orderHistory(sampleOrder('EXECUTING'), history));
    expect(shown).toContain(
      'request sent by <@U0BOB> `c-1` (The service refused the previous request because the session had ended.)',
    );
    expect(shown).toContain('(The service is busy.)');
  });
});

describe('a reply', () => {
  const order = (state: OrderState, changes: Partial<Order> = {}) => sampleOrder(state, changes);
  const cases: readonly (readonly [string, Order, HistoryEvent])[] = [
    [
      'one of two approvals',
      order('PENDING', {
        approvalsRequired: 2,
        approvals: [{ userId: 'U0BOB', at: REQUESTED_AT, agreedExcess: [] }],
      }),
      createApprovalEvent(order('PENDING', { approvalsRequired: 2 }), ['U0BOB']),
    ],
    ['a denial', order('DENIED'), newEvent('denied', 'DENIED', { reason: 'too expensive' })],
    ['a cancellation', order('CANCELLED'), newEvent('cancelled', 'CANCELLED')],
    ['an expiry', order('EXPIRED'), newEvent('expired', 'EXPIRED')],
    ['a reminder', order('PENDING'), newEvent('reminded', 'PENDING')],
    ['a success', order('SUCCEEDED'), newEvent('finished', 'SUCCEEDED')],
    ['a failure', order('FAILED'), newEvent('finished', 'FAILED')],
    ['an unknown outcome', order('UNKNOWN'), newEvent('finished', 'UNKNOWN')],
    [
      'a settled order',
      order('SUCCEEDED'),
      newEvent('resolved', 'SUCCEEDED', { outcome: 'SUCCEEDED', reason: 'seen in RDAP' }),
    ],
  ];

  it.each(cases)('reports %s', (_, about, event) => {
    const reply = orderReply(about, event, APPROVERS);
    if (reply === undefined) throw new Error('there is no reply');
    expectValidMessage(reply);
    expect(renderText(reply)).toMatchSnapshot();
  });

  it.each([
    ['create', 'cafe.rest', true],
    ['transfer', 'cafe.com', true],
    ['owner-change', 'cafe.com', true],
    ['create', 'cafe.de', false],
    ['renew', 'cafe.com', false],
  ] as const)('about %s of %s mentions the registrant’s confirmation: %s', (task, name, isSaid) => {
    const done = sampleOrder('SUCCEEDED', { task, input: { names: [name] } }, [name]);
    const reply = orderReply(done, newEvent('finished', 'SUCCEEDED'), APPROVERS);
    if (reply === undefined) throw new Error('there is no reply');
    expect(renderText(reply).includes('isn’t confirmed within 15 days.')).toBe(isSaid);
  });

  it('doesn’t repeat the outcome of an order that a person settled', () => {
    const [item] = sampleOrder('SUCCEEDED').items;
    if (item === undefined) throw new Error('the sample has no item');
    const items = [
      {
        ...item,
        result: { summary: { code: 'settled', outcome: 'SUCCEEDED' }, resolvedBy: 'U0BOB' } as const,
      },
    ];
    const settled = sampleOrder('SUCCEEDED', { items });
    const finished = newEvent('finished', 'SUCCEEDED', { endingEvent: 'resolved' });
    expect(orderReply(settled, finished, APPROVERS)).toBeUndefined();
    const answered = { ...finished, endingEvent: 'answered' };
    expect(orderReply(settled, answered, APPROVERS), 'if another name’s response ended it').toBeDefined();
    expect(orderReply(settled, newEvent('finished', 'UNKNOWN'), APPROVERS)).toBeUndefined();
    expect(orderReply(settled, newEvent('resolved', 'SUCCEEDED'), APPROVERS)).toBeDefined();
  });

  it('says how many of several names failed', () => {
    const [first, second] = sampleOrder('FAILED', {}, ['a.rest', 'b.rest']).items;
    if (first === undefined || second === undefined) throw new Error('the sample has too few items');
    const items = [
      { ...first, state: 'SUCCEEDED' as const, result: { summary: { code: 'done' } as const } },
      second,
    ];
    const reply = orderReply(sampleOrder('FAILED', { items }), newEvent('finished', 'FAILED'), APPROVERS);
    expect(reply?.text).toContain('failed for 1 of 2 names');
  });
});

const HOSTILE = [
  '<!channel>',
  '<!here|x>',
  '<@U0EVE>',
  '<!subteam^S0EVE>',
  '@here',
  '@channel',
  '@everyone',
  '&lt;!channel&gt;',
  '`<@U0EVE>`',
  '*',
  '\u202e',
  '&',
];

const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'grapheme', maxLength: 40 })), {
    maxLength: 8,
  })
  .map((parts) => parts.join(' '));

const hostileOrder = fc
  .record({
    state: fc.constantFrom(...ORDER_STATES),
    task: fc.constantFrom(...ORDER_TASK_NAMES),
    name: hostileText,
    count: fc.constantFrom(1, 1, 2, 50),
    reason: hostileText,
    login: hostileText,
    value: hostileText,
    said: hostileText,
    long: fc.boolean(),
  })
  .map(({ state, task, name, count, reason, login, value, said, long }) => {
    const stretch = (text: string) => (long ? `${text}&<!channel>`.repeat(200).slice(0, 2_000) : text);
    const names = Array.from({ length: count }, (_, n) => `${n}${stretch(name).slice(0, 253)}`);
    const order = sampleOrder(
      state,
      {
        task,
        reason: stretch(reason),
        account: { id: 'a', login: stretch(login).slice(0, 255), method: 'password', context: 4 },
      },
      names,
    );
    const result = {
      summary: { code: 'refused' as const },
      code: said,
      text: stretch(said),
      stid: said,
      messages: Array.from({ length: long ? 300 : 1 }, () => ({ code: said, text: stretch(said) })),
    };
    const body = { target: stretch(value), nameServers: [{ name: value }], parent: { user: value } };
    return {
      order: { ...order, items: order.items.map((item) => ({ ...item, result })) },
      statement: hostileStatement(order, body),
      reason: stretch(reason),
    };
  });

function hostileStatement(order: Order, body: StatementObject): Statement {
  const { id, task, account, items } = order;
  const request = { interface: 'json', method: 'PUT', path: '/x', body } as const;
  return {
    ...{ version: 1, order: id, task, service: 'https://service.example/v1' },
    account: { method: account.method, login: account.login, team: false },
    items: items.map(({ n, name, ctid }) => ({ n, name, ctid, request })),
  };
}

describe('hostile text from people and the service', () => {
  const EXPECTED_MENTIONS = new Set(['U0ALICE', 'U0BOB', 'U0CAROL', 'S0APPROVERS']);

  it('stays within Slack’s limits and mentions no one', () => {
    fc.assert(
      fc.property(hostileOrder, ({ order, statement, reason }) => {
        for (const each of messagesOf(order, statement, reason)) {
          expectValidMessage(each);
          expect(listMentions(each).filter((id) => !EXPECTED_MENTIONS.has(id))).toEqual([]);
          expect(each.text).not.toMatch(/@(here|channel|everyone)/);
        }
        const data = {
          account: undefined,
          isAdmin: true,
          incidents: [],
          unreadableGroups: [],
          ordersToDecide: [order],
          ordersToResolve: [order],
          emergencyReviews: [],
          standIn: undefined,
          hasService: true,
          coveredAbsences: [],
          openOrders: [order],
          expiringNames: [],
          renewals: new Map(),
          monthCounts: [],
          briefings: new Map([[order.id, newBriefing({ statement })]]),
        };
        expectValidBlocks(homeBlocks(data), 'home');
        const origin = { channelId: 'C0DOMAINS' };
        const history = historyOf(order, KINDS, reason);
        const briefing = newBriefing({ statement, approvers: APPROVERS, history });
        expectValidView(orderDetailsView({ order, briefing, canDecide: true, origin, page: 1 }), 'modal');
      }),
      { numRuns: 60 },
    );
  });
});

it.each([
  ['a password, over JSON', 'password', { mode: 'HTTP' }, false],
  ['a password, over XML because of its mode', 'password', { mode: 'frame' }, true],
  ['two factors, always over XML', 'two_factor', { mode: 'frame' }, true],
] as const)(
  'the card of a redirect with %s, has the interface and the ID to search for',
  (_how, method, typed, isXml) => {
    const input = { source: 'www.cafe.rest', target: 'https://cafe.example/', type: 'domain', ...typed };
    const account = { id: 'a1', login: 'alice', method, context: 4 };
    const order = sampleOrder('UNKNOWN', { task: 'redirect', input, account }, ['www.cafe.rest']);
    const pending = sampleOrder('PENDING', { task: 'redirect', input, account }, ['www.cafe.rest']);
    const card = JSON.stringify(renderCard(pending, { approvers: [] }));
    expect(card.includes('· XML ·')).toBe(isXml);
    const unknown = JSON.stringify(renderCard(order, { approvers: ['U0BOB'] }));
    expect(unknown.includes('No client transaction ID (XML)')).toBe(isXml);
  },
);
