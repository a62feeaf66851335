import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkBlocks, type Surface } from '../src/blocks.ts';
import { startWorkspace, type Workspace } from '../src/index.ts';
import { describeProblem } from '../src/problems.ts';
import type { Json } from '../src/protocol.ts';
import { call } from './client.ts';

const chars = (length: number): string => 'x'.repeat(length);
const plainText = (text: string) => ({ type: 'plain_text', text });
const mrkdwn = (text: string) => ({ type: 'mrkdwn', text });
const section = (text: string) => ({ type: 'section', text: mrkdwn(text) });
const option = (value: string, text = value) => ({ text: plainText(text), value });
const button = (extraFields: object = {}) => ({
  type: 'button',
  action_id: 'a',
  text: plainText('Go'),
  ...extraFields,
});
const actions = (...elements: object[]) => ({ type: 'actions', elements });
const input = (element: object, extraFields: object = {}) => ({
  type: 'input',
  label: plainText('L'),
  element,
  ...extraFields,
});
const times = <T>(count: number, createItem: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => createItem(i));
const cell = (text: string) => ({ type: 'raw_text', text });
const table = (rows: number, columns = 2, text = 'c') => times(rows, () => times(columns, () => cell(text)));
const dataTable = (rows: object[][], extraFields: object = {}) => ({
  type: 'data_table',
  caption: 'c',
  rows,
  ...extraFields,
});
const dataPoints = (count: number) => times(count, (i) => ({ label: `l${i}`, value: i }));
const chart = (series: object[], categories: string[] = ['l0'], title = 't') => ({
  type: 'data_visualization',
  title,
  chart: { type: 'bar', series, axis_config: { categories } },
});
const series = (name: string, count = 1) => ({ name, data: dataPoints(count) });
const overflow = (count: number) => ({
  type: 'overflow',
  action_id: 'o',
  options: times(count, (i) => option(`order_ask:${i}`)),
});
const select = (extraFields: object) => ({ type: 'static_select', action_id: 's', ...extraFields });

const findProblems = (blocks: object[], surface: Surface): string[] => {
  const json: Json = JSON.parse(JSON.stringify(blocks));
  return checkBlocks(json, surface, '/blocks').map(describeProblem);
};

const validSelect = input(select({ options: [option('v')] }));
const richText = (text: string) => ({
  type: 'rich_text',
  elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text }] }],
});
const dividers = (...ids: string[]) => ids.map((block_id) => ({ type: 'divider', block_id }));
const labels = (count: number) => dataPoints(count).map(({ label }) => label);

/** The largest size that Slack accepts, content of a given size, and the JSON pointer in Slack's message. */
type Limit = readonly [size: number, content: (size: number) => object[], pointer: string];

const CHARACTER_LIMITS: readonly Limit[] = [
  [3_000, (n) => [section(chars(n))], '/0/text/text'],
  [2_000, (n) => [{ type: 'section', fields: [mrkdwn(chars(n))] }], '/0/fields/0/text'],
  [150, (n) => [{ type: 'header', text: plainText(chars(n)) }], '/0/text/text'],
  [75, (n) => [actions(button({ text: plainText(chars(n)) }))], '/0/elements/0/text/text'],
  [2_000, (n) => [actions(button({ value: chars(n) }))], '/0/elements/0/value'],
  [255, (n) => [actions(button({ action_id: chars(n) }))], '/0/elements/0/action_id'],
  [255, (n) => dividers(chars(n)), '/0/block_id'],
  [75, (n) => [input(select({ options: [option('v', chars(n))] }))], '/0/element/options/0/text/text'],
  [150, (n) => [input(select({ options: [option(chars(n), 't')] }))], '/0/element/options/0/value'],
  [2_000, (n) => [input({ type: 'plain_text_input' }, { label: plainText(chars(n)) })], '/0/label/text'],
  [
    150,
    (n) => [input({ type: 'plain_text_input', placeholder: plainText(chars(n)) })],
    '/0/element/placeholder/text',
  ],
  [50, (n) => [chart([series('s')], ['l0'], chars(n))], '/0/title'],
];
const ITEM_LIMITS: readonly Limit[] = [
  [10, (n) => [{ type: 'section', fields: times(n, () => mrkdwn('f')) }], '/0/fields'],
  [10, (n) => [{ type: 'context', elements: times(n, () => mrkdwn('c')) }], '/0/elements'],
  [25, (n) => [actions(...times(n, (i) => button({ action_id: `a${i}` })))], '/0/elements'],
  [100, (n) => [input(select({ options: times(n, (i) => option(`${i}`)) }))], '/0/element/options'],
  [5, (n) => [{ ...section('s'), accessory: overflow(n) }], '/0/accessory/options'],
  [
    10,
    (n) => [input({ type: 'checkboxes', action_id: 'c', options: times(n, (i) => option(`${i}`)) })],
    '/0/element/options',
  ],
  [20, (n) => [dataTable(table(2, n))], '/0/rows/0'],
  [101, (n) => [dataTable(table(n))], '/0/rows'],
  [20, (n) => [chart([series('s', n)], labels(n))], '/0/chart/series/0/data'],
  [50, (n) => times(n, () => ({ type: 'divider' })), ''],
];

/** Content that Slack accepts, content that it refuses, and Slack's message with its JSON pointer. */
type Case = readonly [validBlocks: object[], invalidBlocks: object[], problem: string, pointer: string];

const toCaseWith =
  (formatProblem: (size: number) => string) =>
  ([size, content, pointer]: Limit): Case => [content(size), content(size + 1), formatProblem(size), pointer];

const CASES: readonly Case[] = [
  ...CHARACTER_LIMITS.map(toCaseWith((size) => `must be less than ${size + 1} characters`)),
  ...ITEM_LIMITS.map(toCaseWith((size) => `no more than ${size} items allowed`)),
  [[section('.')], [section('')], 'must be more than 0 characters', '/0/text/text'],
  [[dataTable(table(2))], [dataTable(table(2, 2, ''))], 'must be more than 0 characters', '/0/rows/0/0/text'],
  [[richText('t')], [richText('')], 'must be more than 0 characters', '/0/elements/0/elements/0/text'],
  [
    [{ type: 'header', text: plainText('h') }],
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
    [dataTable(table(2, 1, chars(5_000)))],
    [dataTable(table(2, 1, chars(3_000))), dataTable(table(2, 1, chars(2_001)))],
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
    times(2, () => chart([series('s')])),
    times(3, () => chart([series('s')])),
    'no more than 2 data_visualization blocks allowed',
    '',
  ],
];

test.each(CASES.map((each) => [each[2], each[3], ...each] as const))(
  'blocks: %s at %s',
  (_problem, _pointer, validBlocks, invalidBlocks, problem, pointer) => {
    const surface = validBlocks.some((block) => 'element' in block) ? 'modal' : 'message';
    expect(findProblems(validBlocks, surface), 'within the limit').toEqual([]);
    expect(findProblems(invalidBlocks, surface), 'beyond the limit').toContain(
      `${problem} [json-pointer:/blocks${pointer}]`,
    );
  },
);

test.each([
  ['data_visualization', 'home'],
  ['data_visualization', 'modal'],
  ['container', 'home'],
  ['alert', 'message'],
  ['markdown', 'modal'],
] as const)('refuses the block %s on the surface %s, like Slack', (type, surface) => {
  expect(findProblems([{ type }], surface)).toEqual([
    `unsupported type: ${type} [json-pointer:/blocks/0/type]`,
  ]);
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
    ['msg_too_long', { channel, text: chars(40_001) }],
    ['invalid_blocks', { channel, blocks: [section(chars(3_001))] }],
    ['invalid_blocks_format', { channel, blocks: 'not json' }],
    ['msg_blocks_too_long', { channel, blocks: times(5, () => section(chars(2_700))) }],
    ['unsupported_by_local_workspace', { channel, attachments: [{ text: 'a' }] }],
    ['unsupported_by_local_workspace', { channel, blocks: [{ type: 'carousel', elements: [] }] }],
    ['invalid_metadata_format', { channel, text: 't', metadata: { event_payload: {} } }],
    ['metadata_too_large', { channel, text: 't', metadata: metadata({ big: chars(16_000) }) }],
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
    const answer = await call(workspace, 'chat.postMessage', { channel, blocks: [section(chars(3_001))] });
    const message = 'must be less than 3001 characters [json-pointer:/blocks/0/text/text]';
    expect(answer).toMatchObject({
      errors: [message],
      response_metadata: { messages: [`[ERROR] ${message}`] },
    });
  });

  test.each<[string, object]>([
    ['view title', { title: plainText(chars(25)) }],
    ['view submit', { submit: plainText(chars(25)) }],
    ['view close', { close: plainText(chars(25)) }],
    ['private metadata', { private_metadata: chars(3_001) }],
    ['callback id', { callback_id: chars(256) }],
    ['blocks', { blocks: times(101, () => ({ type: 'divider' })) }],
    ['input without submit', { blocks: [input({ type: 'plain_text_input' })] }],
  ])('views.open refuses an invalid view: %s', async (_name, fields) => {
    const view = { type: 'modal', title: plainText('T'), blocks: [], ...fields };
    // A trigger can be used only once, so each refusal needs a new one.
    const { triggerId: newTriggerId } = await workspace.as('U0ALICE').command(channel, '/domain');
    const answer = await call(workspace, 'views.open', { trigger_id: newTriggerId, view });
    expect(answer).toMatchObject({ ok: false, error: 'invalid_arguments' });
    expect(JSON.stringify(answer['response_metadata'])).toContain('/view');
  });

  test('views.open has its own error for content that the local workspace doesn’t support', async () => {
    const { triggerId: newTriggerId } = await workspace.as('U0ALICE').command(channel, '/domain');
    const view = { type: 'modal', title: plainText('T'), notify_on_close: true, blocks: [{ type: 'video' }] };
    expect(await call(workspace, 'views.open', { trigger_id: newTriggerId, view })).toMatchObject({
      ok: false,
      error: 'unsupported_by_local_workspace',
      errors: [
        expect.stringContaining('does not support the field `notify_on_close`'),
        expect.stringContaining('does not support the block `video`'),
      ],
    });
  });

  test('refuses outdated and oversized views, and more than three stacked views', async () => {
    const alice = workspace.as('U0ALICE');
    const view = (fields: object = {}) => ({ type: 'modal', title: plainText('T'), blocks: [], ...fields });
    expect(await call(workspace, 'views.open', { trigger_id: triggerId, view: view() })).toMatchObject({
      ok: true,
    });
    const [firstView] = alice.openedViews();
    if (!firstView) throw new Error('no view was opened');
    const update = (args: object) => call(workspace, 'views.update', { view: view(), ...args });
    expect(await update({ view_id: firstView.id, hash: 'old' })).toMatchObject({ error: 'hash_conflict' });
    expect(await update({ view_id: 'V0' })).toMatchObject({ error: 'not_found' });
    expect(await update({ view_id: firstView.id, hash: firstView.hash })).toMatchObject({ ok: true });
    await update({ view_id: firstView.id, view: view({ blocks: [actions(button({ action_id: 'b' }))] }) });
    for (const expectedResponse of [{ ok: true }, { ok: true }, { error: 'push_limit_reached' }]) {
      const { triggerId: newTriggerId } = await alice.click(firstView, 'b');
      expect(await call(workspace, 'views.push', { trigger_id: newTriggerId, view: view() })).toMatchObject(
        expectedResponse,
      );
    }
    const largeView = view({ blocks: times(99, () => section(chars(3_000))) });
    expect(await update({ view_id: firstView.id, view: largeView })).toMatchObject({
      error: 'view_too_large',
    });
  });

  test('chat.update changes only the app’s messages, and keeps omitted fields', async () => {
    const postResponse = await call(workspace, 'chat.postMessage', {
      channel,
      text: 'first',
      blocks: [section('s')],
      metadata: metadata({ a: 1 }),
    });
    const ts = String(postResponse['ts']);
    const update = (args: object) => call(workspace, 'chat.update', { channel, ts, ...args });
    expect(await update({ text: chars(4_001) })).toMatchObject({ error: 'msg_too_long' });
    expect(await update({ text: 'second' })).toMatchObject({ ok: true, text: 'second' });
    const [message] = workspace.messages(channel);
    expect(message).toMatchObject({ blocks: [section('s')], metadata: metadata({ a: 1 }), edited: {} });
    expect(await update({ ts: '1.000001' })).toMatchObject({ error: 'message_not_found' });
    const messageOfAlice = workspace.as('U0ALICE').say(channel, 'mine');
    expect(await update({ ts: messageOfAlice.ts, text: 'yours' })).toMatchObject({
      error: 'cant_update_message',
    });
    const ephemeralResponse = await call(workspace, 'chat.postEphemeral', {
      channel,
      user: 'U0ALICE',
      text: 'psst',
    });
    expect(await update({ ts: ephemeralResponse['message_ts'], text: 'x' })).toMatchObject({
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
