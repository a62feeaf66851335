import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkBlocks, type Surface } from '../src/blocks.ts';
import { startWorkspace, type Workspace } from '../src/index.ts';
import { describeProblem } from '../src/problems.ts';
import type { Json } from '../src/protocol.ts';
import { call } from './client.ts';

const x = (length: number): string => 'x'.repeat(length);
const plain = (text: string) => ({ type: 'plain_text', text });
const mrkdwn = (text: string) => ({ type: 'mrkdwn', text });
const section = (text: string) => ({ type: 'section', text: mrkdwn(text) });
const option = (value: string, text = value) => ({ text: plain(text), value });
const button = (more: object = {}) => ({ type: 'button', action_id: 'a', text: plain('Go'), ...more });
const actions = (...elements: object[]) => ({ type: 'actions', elements });
const input = (element: object, more: object = {}) => ({
  type: 'input',
  label: plain('L'),
  element,
  ...more,
});
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const cell = (text: string) => ({ type: 'raw_text', text });
const table = (rows: number, columns = 2, text = 'c') => many(rows, () => many(columns, () => cell(text)));
const dataTable = (rows: object[][], more: object = {}) => ({
  type: 'data_table',
  caption: 'c',
  rows,
  ...more,
});
const points = (count: number) => many(count, (i) => ({ label: `l${i}`, value: i }));
const chart = (series: object[], categories: string[] = ['l0'], title = 't') => ({
  type: 'data_visualization',
  title,
  chart: { type: 'bar', series, axis_config: { categories } },
});
const series = (name: string, count = 1) => ({ name, data: points(count) });
const overflow = (count: number) => ({
  type: 'overflow',
  action_id: 'o',
  options: many(count, (i) => option(`order_ask:${i}`)),
});
const select = (more: object) => ({ type: 'static_select', action_id: 's', ...more });

const find = (blocks: object[], surface: Surface): string[] => {
  const json: Json = JSON.parse(JSON.stringify(blocks));
  return checkBlocks(json, surface, '/blocks').map(describeProblem);
};

const validSelect = input(select({ options: [option('v')] }));
const richText = (text: string) => ({
  type: 'rich_text',
  elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text }] }],
});
const dividers = (...ids: string[]) => ids.map((block_id) => ({ type: 'divider', block_id }));
const labels = (count: number) => points(count).map(({ label }) => label);

/** A size, content of that size, and the JSON pointer in Slack's message. */
type Limit = readonly [size: number, content: (size: number) => object[], place: string];

const CHARACTERS: readonly Limit[] = [
  [3_000, (n) => [section(x(n))], '/0/text/text'],
  [2_000, (n) => [{ type: 'section', fields: [mrkdwn(x(n))] }], '/0/fields/0/text'],
  [150, (n) => [{ type: 'header', text: plain(x(n)) }], '/0/text/text'],
  [75, (n) => [actions(button({ text: plain(x(n)) }))], '/0/elements/0/text/text'],
  [2_000, (n) => [actions(button({ value: x(n) }))], '/0/elements/0/value'],
  [255, (n) => [actions(button({ action_id: x(n) }))], '/0/elements/0/action_id'],
  [255, (n) => dividers(x(n)), '/0/block_id'],
  [75, (n) => [input(select({ options: [option('v', x(n))] }))], '/0/element/options/0/text/text'],
  [150, (n) => [input(select({ options: [option(x(n), 't')] }))], '/0/element/options/0/value'],
  [2_000, (n) => [input({ type: 'plain_text_input' }, { label: plain(x(n)) })], '/0/label/text'],
  [
    150,
    (n) => [input({ type: 'plain_text_input', placeholder: plain(x(n)) })],
    '/0/element/placeholder/text',
  ],
  [50, (n) => [chart([series('s')], ['l0'], x(n))], '/0/title'],
];
const ITEMS: readonly Limit[] = [
  [10, (n) => [{ type: 'section', fields: many(n, () => mrkdwn('f')) }], '/0/fields'],
  [10, (n) => [{ type: 'context', elements: many(n, () => mrkdwn('c')) }], '/0/elements'],
  [25, (n) => [actions(...many(n, (i) => button({ action_id: `a${i}` })))], '/0/elements'],
  [100, (n) => [input(select({ options: many(n, (i) => option(`${i}`)) }))], '/0/element/options'],
  [5, (n) => [{ ...section('s'), accessory: overflow(n) }], '/0/accessory/options'],
  [
    10,
    (n) => [input({ type: 'checkboxes', action_id: 'c', options: many(n, (i) => option(`${i}`)) })],
    '/0/element/options',
  ],
  [20, (n) => [dataTable(table(2, n))], '/0/rows/0'],
  [101, (n) => [dataTable(table(n))], '/0/rows'],
  [20, (n) => [chart([series('s', n)], labels(n))], '/0/chart/series/0/data'],
  [50, (n) => many(n, () => ({ type: 'divider' })), ''],
];

/** Content that Slack accepts, content that it refuses, and Slack's message. */
type Case = readonly [within: object[], beyond: object[], problem: string, place: string];

const atMost =
  (problem: (size: number) => string) =>
  ([size, content, place]: Limit): Case => [content(size), content(size + 1), problem(size), place];

const CASES: readonly Case[] = [
  ...CHARACTERS.map(atMost((size) => `must be less than ${size + 1} characters`)),
  ...ITEMS.map(atMost((size) => `no more than ${size} items allowed`)),
  [[section('.')], [section('')], 'must be more than 0 characters', '/0/text/text'],
  [[dataTable(table(2))], [dataTable(table(2, 2, ''))], 'must be more than 0 characters', '/0/rows/0/0/text'],
  [[richText('t')], [richText('')], 'must be more than 0 characters', '/0/elements/0/elements/0/text'],
  [
    [{ type: 'header', text: plain('h') }],
    [{ type: 'header', text: mrkdwn('h') }],
    'must be a valid enum value',
    '/0/text/type',
  ],
  [
    [actions(button({ style: 'danger' }))],
    [actions(button({ style: 'default' }))],
    'must be a valid enum value',
    '/0/elements/0/style',
  ],
  [dividers('a', 'b'), dividers('a', 'a'), '`block_id` must be unique: a', '/1'],
  [
    [actions(button()), actions(button())],
    [actions(button(), button())],
    '`action_id` must be unique in its block: a',
    '/0',
  ],
  [
    [actions(button(), overflow(1))],
    [actions(button(), overflow(0))],
    'no fewer than 1 items allowed',
    '/0/elements/1/options',
  ],
  [[validSelect], [input(select({ options: [] }))], 'no fewer than 1 items allowed', '/0/element/options'],
  [[dataTable(table(2))], [dataTable(table(1))], 'no fewer than 2 items allowed', '/0/rows'],
  [
    [validSelect],
    [input(select({ options: [option('v')], initial_option: option('w') }))],
    'must exactly match one of the options',
    '/0/element/initial_option',
  ],
  [
    [dataTable(table(2))],
    [dataTable([...table(1), ...table(1, 3)])],
    'all rows must have the same number of cells',
    '/0/rows',
  ],
  [
    [dataTable(table(2, 1, x(5_000)))],
    [dataTable(table(2, 1, x(3_000))), dataTable(table(2, 1, x(2_001)))],
    'must be less than 10001 characters in all cells',
    '',
  ],
  [
    [dataTable(table(2), { page_size: 100 })],
    [dataTable(table(2), { page_size: 101 })],
    'must be between 1 and 100',
    '/0/page_size',
  ],
  [
    [chart([series('s', 2)], ['l1', 'l0'])],
    [chart([series('s', 2)], ['l0', 'l2'])],
    'labels must be the categories of `axis_config`, each once',
    '/0/chart/series/0',
  ],
  [
    many(2, () => chart([series('s')])),
    many(3, () => chart([series('s')])),
    'no more than 2 data_visualization blocks allowed',
    '',
  ],
];

test.each(CASES.map((each) => [each[2], each[3], ...each] as const))(
  'blocks: %s at %s',
  (_problem, _place, within, beyond, problem, place) => {
    const surface = within.some((block) => 'element' in block) ? 'modal' : 'message';
    expect(find(within, surface), 'within the limit').toEqual([]);
    expect(find(beyond, surface), 'beyond the limit').toContain(`${problem} [json-pointer:/blocks${place}]`);
  },
);

test.each([
  ['data_visualization', 'home'],
  ['data_visualization', 'modal'],
  ['container', 'home'],
  ['alert', 'message'],
  ['markdown', 'modal'],
] as const)('refuses the block %s on the surface %s, like Slack', (type, surface) => {
  expect(find([{ type }], surface)).toEqual([`unsupported type: ${type} [json-pointer:/blocks/0/type]`]);
});

describe('the Web API', () => {
  let workspace: Workspace;
  let triggerId = '';
  beforeAll(async () => {
    workspace = await startWorkspace({ bot: { requestUrl: 'http://127.0.0.1:1/' } });
    triggerId = (await workspace.as('U0ALICE').command('C0DOMAINS', '/domain')).triggerId;
  });
  afterAll(() => workspace.close());

  const channel = 'C0DOMAINS';
  const metadata = (payload: object) => ({ event_type: 'e', event_payload: payload });
  test.each<[string, object]>([
    ['no_text', { channel }],
    ['msg_too_long', { channel, text: x(40_001) }],
    ['invalid_blocks', { channel, blocks: [section(x(3_001))] }],
    ['invalid_blocks_format', { channel, blocks: 'not json' }],
    ['msg_blocks_too_long', { channel, blocks: many(5, () => section(x(2_700))) }],
    ['unsupported_by_local_workspace', { channel, attachments: [{ text: 'a' }] }],
    ['unsupported_by_local_workspace', { channel, blocks: [{ type: 'carousel', elements: [] }] }],
    ['invalid_metadata_format', { channel, text: 't', metadata: { event_payload: {} } }],
    ['metadata_too_large', { channel, text: 't', metadata: metadata({ big: x(16_000) }) }],
    ['channel_not_found', { channel: 'C0NOWHERE', text: 't' }],
    ['not_in_channel', { channel: 'C0NOBOT', text: 't' }],
    ['channel_not_found', { channel: 'C0LOCKED', text: 't' }],
    ['channel_not_found', { channel: 'D0ALICEBOB', text: 't' }],
    ['thread_not_found', { channel, text: 't', thread_ts: '1.000001' }],
    ['invalid_arguments', { text: 't' }],
  ])('chat.postMessage returns %s', async (error, args) => {
    expect(await call(workspace, 'chat.postMessage', args)).toMatchObject({ ok: false, error });
    expect(workspace.messages(channel)).toEqual([]);
  });

  test('chat.postMessage returns the JSON pointer of a problem', async () => {
    const answer = await call(workspace, 'chat.postMessage', { channel, blocks: [section(x(3_001))] });
    const message = 'must be less than 3001 characters [json-pointer:/blocks/0/text/text]';
    expect(answer).toMatchObject({
      errors: [message],
      response_metadata: { messages: [`[ERROR] ${message}`] },
    });
  });

  test.each<[string, object]>([
    ['view title', { title: plain(x(25)) }],
    ['view submit', { submit: plain(x(25)) }],
    ['view close', { close: plain(x(25)) }],
    ['private metadata', { private_metadata: x(3_001) }],
    ['callback id', { callback_id: x(256) }],
    ['blocks', { blocks: many(101, () => ({ type: 'divider' })) }],
    ['input without submit', { blocks: [input({ type: 'plain_text_input' })] }],
  ])('views.open refuses an invalid view: %s', async (_name, more) => {
    const view = { type: 'modal', title: plain('T'), blocks: [], ...more };
    // A trigger can be used only once, so each refusal needs a new one.
    const { triggerId: fresh } = await workspace.as('U0ALICE').command(channel, '/domain');
    const answer = await call(workspace, 'views.open', { trigger_id: fresh, view });
    expect(answer).toMatchObject({ ok: false, error: 'invalid_arguments' });
    expect(JSON.stringify(answer['response_metadata'])).toContain('/view');
  });

  test('views.open has its own error for content that the local workspace doesn’t support', async () => {
    const { triggerId: fresh } = await workspace.as('U0ALICE').command(channel, '/domain');
    const view = { type: 'modal', title: plain('T'), notify_on_close: true, blocks: [{ type: 'video' }] };
    expect(await call(workspace, 'views.open', { trigger_id: fresh, view })).toMatchObject({
      ok: false,
      error: 'unsupported_by_local_workspace',
      errors: [
        expect.stringContaining('does not support the field `notify_on_close`'),
        expect.stringContaining('does not support the block `video`'),
      ],
    });
  });

  test('views are limited by hash, by a stack of three, and by size', async () => {
    const alice = workspace.as('U0ALICE');
    const view = (more: object = {}) => ({ type: 'modal', title: plain('T'), blocks: [], ...more });
    const opened = await call(workspace, 'views.open', {
      trigger_id: triggerId,
      view: view(),
    });
    expect(opened).toMatchObject({ ok: true });
    const [first] = alice.openedViews();
    if (!first) throw new Error('no view was opened');
    const update = (args: object) => call(workspace, 'views.update', { view: view(), ...args });
    expect(await update({ view_id: first.id, hash: 'old' })).toMatchObject({ error: 'hash_conflict' });
    expect(await update({ view_id: 'V0' })).toMatchObject({ error: 'not_found' });
    expect(await update({ view_id: first.id, hash: first.hash })).toMatchObject({ ok: true });
    const button = actions({ type: 'button', action_id: 'b', text: plain('B') });
    await update({ view_id: first.id, view: view({ blocks: [button] }) });
    for (const expected of [{ ok: true }, { ok: true }, { error: 'push_limit_reached' }]) {
      const { triggerId: fresh } = await alice.click(first, 'b');
      expect(await call(workspace, 'views.push', { trigger_id: fresh, view: view() })).toMatchObject(
        expected,
      );
    }
    const large = view({ blocks: many(99, () => section(x(3_000))) });
    expect(await update({ view_id: first.id, view: large })).toMatchObject({ error: 'view_too_large' });
  });

  test('chat.update changes only the app’s messages, and keeps omitted fields', async () => {
    const posted = await call(workspace, 'chat.postMessage', {
      channel,
      text: 'first',
      blocks: [section('s')],
      metadata: metadata({ a: 1 }),
    });
    const ts = String(posted['ts']);
    const update = (args: object) => call(workspace, 'chat.update', { channel, ts, ...args });
    expect(await update({ text: x(4_001) })).toMatchObject({ error: 'msg_too_long' });
    expect(await update({ text: 'second' })).toMatchObject({ ok: true, text: 'second' });
    const [message] = workspace.messages(channel);
    expect(message).toMatchObject({ blocks: [section('s')], metadata: metadata({ a: 1 }), edited: {} });
    expect(await update({ ts: '1.000001' })).toMatchObject({ error: 'message_not_found' });
    const own = workspace.as('U0ALICE').say(channel, 'mine');
    expect(await update({ ts: own.ts, text: 'yours' })).toMatchObject({ error: 'cant_update_message' });
    const whisper = await call(workspace, 'chat.postEphemeral', { channel, user: 'U0ALICE', text: 'psst' });
    expect(await update({ ts: whisper['message_ts'], text: 'x' })).toMatchObject({
      error: 'message_not_found',
    });
    expect(
      await call(workspace, 'chat.postEphemeral', { channel: 'C0GENERAL', user: 'U0DAVE', text: 'x' }),
    ).toMatchObject({
      error: 'user_not_in_channel',
    });
    const reply = await call(workspace, 'chat.postMessage', { channel, text: 'r', thread_ts: ts });
    expect(
      await call(workspace, 'chat.postMessage', { channel, text: 'r', thread_ts: reply['ts'] }),
    ).toMatchObject({
      error: 'cannot_reply_to_message',
    });
    const link = await call(workspace, 'chat.getPermalink', { channel, message_ts: reply['ts'] });
    expect(link['permalink']).toBe(
      `${workspace.url}archives/${channel}/p${String(reply['ts']).replace('.', '')}?thread_ts=${ts}&cid=${channel}`,
    );
  });
});
