import type { ModalView } from '@slack/types';
import { expect, test } from 'vitest';
import type { Order } from '../../../src/orders/order.ts';
import { ORDER_TASK_NAMES, type OrderTaskName } from '../../../src/orders/order.ts';
import type { Statement, StatementRequest, StatementValue } from '../../../src/orders/statement-shape.ts';
import { getOrderTask } from '../../../src/orders/tasks.ts';
import { planCells } from '../../../src/slack/bulk/bulk.view.ts';
import { type HomeData, homeBlocks } from '../../../src/slack/home/home.view.ts';
import type { AnyBlock } from '../../../src/slack/kit/blocks.ts';
import { orderDetailsView } from '../../../src/slack/orders/order-details.view.ts';
import { commonFields, statementPages } from '../../../src/slack/orders/statement.view.ts';
import { newBulk } from '../../orders/sample.ts';
import { newBriefing } from '../../support/briefing.ts';
import { buttonsOf, textOf } from '../../support/demo.ts';
import { removeEscapes } from '../../support/looking.ts';
import fc from '../../support/properties.ts';
import { expectValidView } from '../kit/limits.ts';
import { buildSampleStatement, renderCard, SECRET_HASH, sampleOrder } from './samples.ts';

/* Every surface shows each value of the order's statement. */

/** Text that people may type, with content that Slack would read as markup, an emoji, a mention or a link. */
const hostile = fc.constantFrom(
  '*',
  '_',
  '~',
  '`',
  '&',
  '<',
  '>',
  ':',
  '@',
  '!',
  '#',
  '|',
  '"',
  'ä',
  '名',
  '🍕',
  '\u202e',
  '\u200b',
  'x',
  '1',
);
const text = (maxLength: number) =>
  fc
    .array(
      fc.oneof(hostile, fc.constantFrom('<!channel>', ':pizza:', '&amp;', '> a', '@here', '<https://x|y>')),
      { minLength: 1, maxLength: 40 },
    )
    .map((parts) => `t${parts.join('')}t`.slice(0, maxLength).replace(/[\ud800-\udbff]$/, ''));
const label = fc.string({ unit: fc.constantFrom(...'abcdefghij0123456789'), minLength: 1, maxLength: 40 });
const name = label.map((each) => `a${each}.rest`);
const host = fc.tuple(label, label).map(([a, b]) => `n${a}.n${b}.example`);
const hosts = fc.uniqueArray(host, { minLength: 2, maxLength: 7 });
const id = fc.integer({ min: 1, max: 2_000_000_000 });
const context = fc.integer({ min: 1, max: 9 });
const address = label.map((each) => `a${each}@team.example`);
const long = fc
  .array(fc.constantFrom('a', '&', '_', '=', '~', '%20'), { maxLength: 1_900 })
  .map((parts) => `https://x.example/?${parts.join('')}`.slice(0, 2_000));

const LAST_DAY = '2027-03-01';

const delegation = { name, ownerc: id, adminc: id, techc: id, nameServers: hosts };
/** Each field of each task, over each interface that has it. */
const INPUTS: Readonly<Record<OrderTaskName, readonly fc.Arbitrary<object>[]>> = {
  create: [fc.record(delegation)],
  transfer: [fc.record(delegation)],
  renew: [
    fc.record({
      names: fc.uniqueArray(name, { minLength: 1, maxLength: 50 }),
      period: fc.integer({ min: 1, max: 10 }),
    }),
  ],
  restore: [fc.record({ name })],
  delete: [fc.record({ name })],
  nameservers: [fc.record({ name, nameServers: hosts })],
  authcode: [fc.record({ name })],
  'owner-change': [fc.record({ name })],
  redirect: [
    fc.record({ source: host, target: long, type: fc.constant('DOMAIN'), mode: fc.constant('HTTP') }),
    fc.record({
      ...{ source: host, target: long, backup: long, title: text(255) },
      ...{ type: fc.constant('domain'), mode: fc.constantFrom('frame', 'single') },
    }),
  ],
  'ssl-contact': [
    fc.record({
      ...{ interface: fc.constant('json'), id, fname: text(255), lname: text(255), title: text(255) },
      ...{ organization: text(255), address: fc.array(text(255), { minLength: 1, maxLength: 10 }) },
      ...{ pcode: text(32), city: text(255), country: fc.constantFrom('DE', 'GB'), state: text(255) },
      ...{ phone: fc.constant('+49 30 5550199'), fax: fc.constant('+49 30 5550198'), email: address },
    }),
    fc.record({
      ...{ interface: fc.constant('xml'), id, title: text(255), organization: text(255) },
      ...{ address: fc.array(text(255), { minLength: 1, maxLength: 10 }), pcode: text(32), city: text(255) },
      ...{ country: fc.constantFrom('DE', 'GB'), state: text(255), phone: fc.constant('+49 30 5550199') },
      ...{ fax: fc.constant('+49 30 5550198'), email: address },
    }),
  ],
  user: [
    fc.record({
      ...{
        user: label,
        context,
        defaultEmail: address,
        language: fc.constant('de'),
        status: context,
        substatus: context,
      },
      parent: fc.record({ user: label, context, defaultEmail: address, status: context, substatus: context }),
    }),
    fc.record({
      ...{
        user: label,
        context,
        defaultEmail: address,
        language: fc.constant('de'),
        status: context,
        substatus: context,
      },
      ...{ parent: fc.record({ user: label, context }), user_mail_key: text(255) },
    }),
  ],
  mandate: [
    fc.record({
      mandate_names: fc.uniqueArray(name, { minLength: 1, maxLength: 50 }),
      max_price: fc.record({ currency: fc.constant('EUR'), minor: fc.integer({ min: 1, max: 1e9 }) }),
      max_total: fc.record({ currency: fc.constant('JPY'), minor: fc.integer({ min: 1, max: 1e9 }) }),
      span: fc.constantFrom('month', 'year'),
      until: fc.constant(LAST_DAY),
      notice: fc.integer({ min: 3, max: 30 }),
    }),
  ],
};

/** The values of a request, each as text. */
function listValues(value: StatementValue): string[] {
  if (typeof value !== 'object') return [String(value)];
  return (Array.isArray(value) ? value : Object.values(value)).flatMap(listValues);
}

function contentOf(request: StatementRequest): StatementValue {
  if (request.interface === 'none') return request.terms;
  return request.interface === 'json' ? (request.body ?? []) : request.element;
}

function callOf(request: StatementRequest): string {
  if (request.interface === 'none') return 'Nothing will be sent';
  return request.interface === 'json' ? `${request.method} ${request.path}` : request.code;
}

function listRequestValues({ items }: Statement): string[] {
  return items.flatMap(({ request }) => listValues(contentOf(request)));
}

/** A value as people see it, for example with days written out and invisible characters escaped. */
function formatAsShown(value: string): string {
  if (value === LAST_DAY) return '1 Mar 2027';
  if (value === 'true' || value === 'false') return value === 'true' ? 'yes' : 'no';
  return value.replace(/[\u202e\u200b]/g, (each) => `[U+${each.charCodeAt(0).toString(16).toUpperCase()}]`);
}

/** Values that are missing from blocks. A value may continue in the next block. */
function findMissing(values: readonly string[], blocks: readonly object[]): string[] {
  const shown = removeEscapes(textOf({ blocks: JSON.parse(JSON.stringify(blocks)) }));
  const joined = shown.replaceAll('\n', '');
  return values.filter((value) => !shown.includes(value) && !joined.includes(value));
}

function renderDetailsPages(order: Order, statement: Statement): ModalView['blocks'] {
  const briefing = newBriefing({ statement, approvers: ['U0BOB'] });
  return statementPages(statement, order, []).flatMap((_, index) => {
    const view = orderDetailsView({
      order,
      briefing,
      canDecide: true,
      origin: { channelId: 'C1' },
      page: index + 1,
    });
    expectValidView(view, 'modal');
    return view.blocks;
  });
}

const EMPTY_HOME = {
  account: undefined,
  isAdmin: false,
  incidents: [],
  unreadableGroups: [],
  ordersToResolve: [],
  emergencyReviews: [],
};
function renderHome(order: Order, statement: Statement): AnyBlock[] {
  const briefings = new Map([[order.id, newBriefing({ statement })]]);
  const data: HomeData = {
    ...{ ...EMPTY_HOME, ordersToDecide: [order], briefings, standIn: undefined, coveredAbsences: [] },
    ...{ openOrders: [], expiringNames: [], renewals: new Map(), monthCounts: [], hasService: true },
  };
  return homeBlocks(data);
}

const hasApproveButton = (blocks: readonly AnyBlock[]) =>
  buttonsOf({ blocks: JSON.parse(JSON.stringify(blocks)) }).includes('order_approve');

test.each(ORDER_TASK_NAMES)('every value of a %s order is shown where the order can be approved', (task) => {
  fc.assert(
    fc.property(fc.oneof(...INPUTS[task]), fc.boolean(), (input, isBulk) => {
      const checked = getOrderTask(task).check(input);
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const hasSecret = getOrderTask(task).secretField !== undefined;
      const order = sampleOrder(
        'PENDING',
        {
          task,
          input: checked.input,
          ...(hasSecret && { secretHash: SECRET_HASH }),
          ...(isBulk && { bulk: newBulk(20) }),
        },
        checked.names,
      );
      const statement = buildSampleStatement(order);
      const { items, account, service } = statement;
      const requested = listRequestValues(statement).map(formatAsShown);
      const pages = renderDetailsPages(order, statement);
      expect(findMissing([...requested, account.login, account.method, service], pages)).toEqual([]);
      for (const { ctid, request } of items) expect(findMissing([ctid, callOf(request)], pages)).toEqual([]);
      const plain = requested.map((value) => (value === SECRET_HASH ? 'provided, stored encrypted' : value));
      for (const blocks of [
        renderCard(order, { approvers: ['U0BOB'] }).blocks,
        renderHome(order, statement),
      ]) {
        expect(JSON.stringify(blocks)).toContain('order_look');
        if (hasApproveButton(blocks)) expect(findMissing([...checked.names, ...plain], blocks)).toEqual([]);
        else expect(isBulk || requested.join('').length > 150, 'short orders have a button').toBe(true);
      }
    }),
    { numRuns: 25 },
  );
});

test('a field without a label is shown under its own name, and a secret as its hash', () => {
  const order = sampleOrder('PENDING', {
    task: 'nameservers',
    input: { name: 'cafe.rest', nameServers: ['ns1.example', 'ns2.example'] },
  });
  const [item] = buildSampleStatement(order).items;
  if (item === undefined) throw new Error('the sample has no item');
  const body = { later: { added: ['one', 'two'] }, key: { secret: SECRET_HASH }, name: 'other.rest' };
  const statement = {
    ...buildSampleStatement(order),
    items: [{ ...item, request: { ...item.request, body } as const }],
  };
  expect(commonFields(statement, order)).toEqual([
    ['later.added', 'one\ntwo'],
    ['key', 'provided, stored encrypted'],
    ['Name', 'other.rest'],
  ]);
  expect(JSON.stringify(statementPages(statement, order, []))).toContain(SECRET_HASH);
  expect(planCells(statement)[0]).toEqual(expect.arrayContaining(['auth', 'later.added', 'key', 'name']));
});

test('2,000 rows are on pages within Slack’s limits, each row once', () => {
  const names = Array.from({ length: 2_000 }, (_, n) => `row-${n + 1}.rest`);
  const { items, ...sample } = sampleOrder('PENDING', { bulk: newBulk(20) }, names);
  const order = {
    ...sample,
    items: items.map((item) => ({ ...item, input: { names: [item.name], period: 1 } })),
  };
  const shown = JSON.stringify(renderDetailsPages(order, buildSampleStatement(order)));
  for (const row of [1, 999, 2_000]) expect(shown.split(`*${row}. row-${row}.rest*`)).toHaveLength(2);
});
