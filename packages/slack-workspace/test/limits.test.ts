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

describe('blocks', () => {
  /** Content just within a limit, content just above it, and Slack's message then. */
  const LIMITS_OF_BLOCKS: [string, object[], object[], string][] = [
    [
      'text of a section',
      [section(x(3_000))],
      [section(x(3_001))],
      'must be less than 3001 characters [json-pointer:/blocks/0/text/text]',
    ],
    [
      'empty text',
      [section('.')],
      [section('')],
      'must be more than 0 characters [json-pointer:/blocks/0/text/text]',
    ],
    [
      'fields of a section',
      [{ type: 'section', fields: many(10, () => mrkdwn('f')) }],
      [{ type: 'section', fields: many(11, () => mrkdwn('f')) }],
      'no more than 10 items allowed [json-pointer:/blocks/0/fields]',
    ],
    [
      'text of a field',
      [{ type: 'section', fields: [mrkdwn(x(2_000))] }],
      [{ type: 'section', fields: [mrkdwn(x(2_001))] }],
      'must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]',
    ],
    [
      'header',
      [{ type: 'header', text: plain(x(150)) }],
      [{ type: 'header', text: plain(x(151)) }],
      'must be less than 151 characters [json-pointer:/blocks/0/text/text]',
    ],
    [
      'header in mrkdwn',
      [{ type: 'header', text: plain('h') }],
      [{ type: 'header', text: mrkdwn('h') }],
      'must be a valid enum value [json-pointer:/blocks/0/text/type]',
    ],
    [
      'elements of context',
      [{ type: 'context', elements: many(10, () => mrkdwn('c')) }],
      [{ type: 'context', elements: many(11, () => mrkdwn('c')) }],
      'no more than 10 items allowed [json-pointer:/blocks/0/elements]',
    ],
    [
      'elements of actions',
      [actions(...many(25, (i) => button({ action_id: `a${i}` })))],
      [actions(...many(26, (i) => button({ action_id: `a${i}` })))],
      'no more than 25 items allowed [json-pointer:/blocks/0/elements]',
    ],
    [
      'text of a button',
      [actions(button({ text: plain(x(75)) }))],
      [actions(button({ text: plain(x(76)) }))],
      'must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]',
    ],
    [
      'value of a button',
      [actions(button({ value: x(2_000) }))],
      [actions(button({ value: x(2_001) }))],
      'must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]',
    ],
    [
      'style of a button',
      [actions(button({ style: 'danger' }))],
      [actions(button({ style: 'default' }))],
      'must be a valid enum value [json-pointer:/blocks/0/elements/0/style]',
    ],
    [
      'action id',
      [actions(button({ action_id: x(255) }))],
      [actions(button({ action_id: x(256) }))],
      'must be less than 256 characters [json-pointer:/blocks/0/elements/0/action_id]',
    ],
    [
      'block id',
      [{ type: 'divider', block_id: x(255) }],
      [{ type: 'divider', block_id: x(256) }],
      'must be less than 256 characters [json-pointer:/blocks/0/block_id]',
    ],
    [
      'same block id',
      [
        { type: 'divider', block_id: 'a' },
        { type: 'divider', block_id: 'b' },
      ],
      [
        { type: 'divider', block_id: 'a' },
        { type: 'divider', block_id: 'a' },
      ],
      '`block_id` must be unique: a [json-pointer:/blocks/1]',
    ],
    [
      'same action id',
      [actions(button()), actions(button())],
      [actions(button(), button())],
      '`action_id` must be unique in its block: a [json-pointer:/blocks/0]',
    ],
    [
      'options of a select',
      [input(select({ options: many(100, (i) => option(`${i}`)) }))],
      [input(select({ options: many(101, (i) => option(`${i}`)) }))],
      'no more than 100 items allowed [json-pointer:/blocks/0/element/options]',
    ],
    [
      'options of an overflow menu',
      [{ ...section('s'), accessory: overflow(5) }],
      [{ ...section('s'), accessory: overflow(6) }],
      'no more than 5 items allowed [json-pointer:/blocks/0/accessory/options]',
    ],
    [
      'a menu in a row of buttons',
      [actions(button(), overflow(1))],
      [actions(button(), overflow(0))],
      'no fewer than 1 items allowed [json-pointer:/blocks/0/elements/1/options]',
    ],
    [
      'text of an option',
      [input(select({ options: [option('v', x(75))] }))],
      [input(select({ options: [option('v', x(76))] }))],
      'must be less than 76 characters [json-pointer:/blocks/0/element/options/0/text/text]',
    ],
    [
      'value of an option',
      [input(select({ options: [option(x(150), 't')] }))],
      [input(select({ options: [option(x(151), 't')] }))],
      'must be less than 151 characters [json-pointer:/blocks/0/element/options/0/value]',
    ],
    [
      'initial option',
      [input(select({ options: [option('v')], initial_option: option('v') }))],
      [input(select({ options: [option('v')], initial_option: option('w') }))],
      'must exactly match one of the options [json-pointer:/blocks/0/element/initial_option]',
    ],
    [
      'no options',
      [input(select({ options: [option('v')] }))],
      [input(select({ options: [] }))],
      'no fewer than 1 items allowed [json-pointer:/blocks/0/element/options]',
    ],
    [
      'checkboxes',
      [input({ type: 'checkboxes', action_id: 'c', options: many(10, (i) => option(`${i}`)) })],
      [input({ type: 'checkboxes', action_id: 'c', options: many(11, (i) => option(`${i}`)) })],
      'no more than 10 items allowed [json-pointer:/blocks/0/element/options]',
    ],
    [
      'label of an input',
      [input({ type: 'plain_text_input' }, { label: plain(x(2_000)) })],
      [input({ type: 'plain_text_input' }, { label: plain(x(2_001)) })],
      'must be less than 2001 characters [json-pointer:/blocks/0/label/text]',
    ],
    [
      'placeholder',
      [input({ type: 'plain_text_input', placeholder: plain(x(150)) })],
      [input({ type: 'plain_text_input', placeholder: plain(x(151)) })],
      'must be less than 151 characters [json-pointer:/blocks/0/element/placeholder/text]',
    ],
    [
      'cells of a data table',
      [dataTable(table(2, 20))],
      [dataTable(table(2, 21))],
      'no more than 20 items allowed [json-pointer:/blocks/0/rows/0]',
    ],
    [
      'rows of a data table',
      [dataTable(table(101))],
      [dataTable(table(102))],
      'no more than 101 items allowed [json-pointer:/blocks/0/rows]',
    ],
    [
      'data table of a header alone',
      [dataTable(table(2))],
      [dataTable(table(1))],
      'no fewer than 2 items allowed [json-pointer:/blocks/0/rows]',
    ],
    [
      'ragged data table',
      [dataTable(table(2))],
      [dataTable([...table(1), ...table(1, 3)])],
      'all rows must have the same number of cells [json-pointer:/blocks/0/rows]',
    ],
    [
      'text of data tables together',
      [dataTable(table(2, 1, x(5_000)))],
      [dataTable(table(2, 1, x(3_000))), dataTable(table(2, 1, x(2_001)))],
      'must be less than 10001 characters in all cells [json-pointer:/blocks]',
    ],
    [
      'page of a data table',
      [dataTable(table(2), { page_size: 100 })],
      [dataTable(table(2), { page_size: 101 })],
      'must be between 1 and 100 [json-pointer:/blocks/0/page_size]',
    ],
    [
      'empty cell',
      [dataTable(table(2))],
      [dataTable(table(2, 2, ''))],
      'must be more than 0 characters [json-pointer:/blocks/0/rows/0/0/text]',
    ],
    [
      'title of a chart',
      [chart([series('s')], ['l0'], x(50))],
      [chart([series('s')], ['l0'], x(51))],
      'must be less than 51 characters [json-pointer:/blocks/0/title]',
    ],
    [
      'points of a chart',
      [
        chart(
          [series('s', 20)],
          points(20).map(({ label }) => label),
        ),
      ],
      [
        chart(
          [series('s', 21)],
          points(21).map(({ label }) => label),
        ),
      ],
      'no more than 20 items allowed [json-pointer:/blocks/0/chart/series/0/data]',
    ],
    [
      'categories of a chart',
      [chart([series('s', 2)], ['l1', 'l0'])],
      [chart([series('s', 2)], ['l0', 'l2'])],
      'labels must be the categories of `axis_config`, each once [json-pointer:/blocks/0/chart/series/0]',
    ],
    [
      'charts',
      many(2, () => chart([series('s')])),
      many(3, () => chart([series('s')])),
      'no more than 2 data_visualization blocks allowed [json-pointer:/blocks]',
    ],
    [
      'rich text',
      [
        {
          type: 'rich_text',
          elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: 't' }] }],
        },
      ],
      [
        {
          type: 'rich_text',
          elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: '' }] }],
        },
      ],
      'must be more than 0 characters [json-pointer:/blocks/0/elements/0/elements/0/text]',
    ],
    [
      'blocks of a message',
      many(50, () => ({ type: 'divider' })),
      many(51, () => ({ type: 'divider' })),
      'no more than 50 items allowed [json-pointer:/blocks]',
    ],
  ];

  test.each(LIMITS_OF_BLOCKS)('%s', (_name, within, beyond, problem) => {
    const surface = within.some((block) => 'element' in block) ? 'modal' : 'message';
    expect(find(within, surface), 'within the limit').toEqual([]);
    expect(find(beyond, surface), 'beyond the limit').toContain(problem);
  });
});

/** Content that Slack accepts, or may accept later, but this workspace doesn't render. */
const UNSUPPORTED: readonly (readonly [what: string, pointer: string, surface: Surface, block: object])[] = [
  [
    'the block `carousel` on the surface `message`',
    '/blocks/0/type',
    'message',
    { type: 'carousel', elements: [] },
  ],
  ['the block `` on the surface `home`', '/blocks/0/type', 'home', {}],
  [
    'the block `input` on the surface `message`',
    '/blocks/0/type',
    'message',
    input({ type: 'plain_text_input' }),
  ],
  [
    'the element `static_select` in a block of the type `section`',
    '/blocks/0/accessory/type',
    'message',
    { ...section('s'), accessory: select({ options: [option('v')] }) },
  ],
  [
    'the element `checkboxes` in a block of the type `actions`',
    '/blocks/0/elements/0/type',
    'message',
    actions({ type: 'checkboxes', action_id: 's', options: [option('v')] }),
  ],
  [
    'the element `timepicker` in a block of the type `input`',
    '/blocks/0/element/type',
    'modal',
    input({ type: 'timepicker' }),
  ],
  [
    'the field `confirm`',
    '/blocks/0/elements/0/confirm',
    'message',
    actions(button({ confirm: { text: plain('Sure?') } })),
  ],
  [
    'direct messages in a menu of conversations',
    '/blocks/0/element/filter/include',
    'modal',
    input({ type: 'conversations_select', filter: { include: ['im'] } }),
  ],
  [
    'decimal numbers',
    '/blocks/0/element/is_decimal_allowed',
    'modal',
    input({ type: 'number_input', is_decimal_allowed: true }),
  ],
  [
    'the field `description`',
    '/blocks/0/element/options/0/description',
    'modal',
    input(select({ options: [{ ...option('v'), description: plain('d') }] })),
  ],
  [
    'the field `option_groups`',
    '/blocks/0/element/option_groups',
    'modal',
    input(select({ options: [option('v')], option_groups: [] })),
  ],
  [
    '`rich_text_list` in rich text',
    '/blocks/0/elements/0/type',
    'message',
    { type: 'rich_text', elements: [{ type: 'rich_text_list', elements: [] }] },
  ],
  [
    '`link` in this part of rich text',
    '/blocks/0/elements/0/elements/0/type',
    'message',
    { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [{ type: 'link', url: 'u' }] }] },
  ],
  [
    'a cell of the type `raw_number`',
    '/blocks/0/rows/0/0/type',
    'message',
    dataTable([[{ type: 'raw_number', value: 1, text: '1' }], [cell('c')]]),
  ],
  [
    'a chart of the type `pie`',
    '/blocks/0/chart/type',
    'message',
    { type: 'data_visualization', title: 't', chart: { type: 'pie', segments: [] } },
  ],
  ['a chart of several series', '/blocks/0/chart/series', 'message', chart(many(2, (i) => series(`s${i}`)))],
];

test.each([
  ['data_visualization', 'home'],
  ['data_visualization', 'modal'],
  ['container', 'home'],
  ['alert', 'message'],
  ['markdown', 'modal'],
] as const)('refuses the block %s on the surface %s, like Slack', (type, surface) => {
  expect(find([{ type }], surface)).toEqual([`unsupported type: ${type} [json-pointer:/blocks/0/type]`]);
});

test.each(UNSUPPORTED)('says that it doesn’t support %s', (what, pointer, surface, block) => {
  expect(find([block], surface)).toEqual([
    `the local workspace does not support ${what} [json-pointer:${pointer}]`,
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
  ])('chat.postMessage answers %s', async (error, args) => {
    expect(await call(workspace, 'chat.postMessage', args)).toMatchObject({ ok: false, error });
    expect(workspace.messages(channel)).toEqual([]);
  });

  test('chat.postMessage names the place of a problem', async () => {
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
  ])('views.open refuses: %s', async (_name, more) => {
    const view = { type: 'modal', title: plain('T'), blocks: [], ...more };
    // A trigger can be used only once, so each refusal needs a new one.
    const { triggerId: fresh } = await workspace.as('U0ALICE').command(channel, '/domain');
    const answer = await call(workspace, 'views.open', { trigger_id: fresh, view });
    expect(answer).toMatchObject({ ok: false, error: 'invalid_arguments' });
    expect(JSON.stringify(answer['response_metadata'])).toContain('/view');
  });

  test('views.open has its own code for content that this workspace doesn’t support', async () => {
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

  test('views: hash, stack of three, size', async () => {
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

  test('chat.update: shorter text, own messages, no ephemerals, keeps omitted fields', async () => {
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
