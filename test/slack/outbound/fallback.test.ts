import { describe, expect, test } from 'vitest';
import {
  actions,
  button,
  header,
  type Message,
  message,
  section,
  table,
} from '../../../src/slack/kit/blocks.ts';
import { sendViewWithFallback, sendWithFallback } from '../../../src/slack/outbound/fallback.ts';
import { SlackApiError } from '../../../src/slack/outbound/web.ts';

const messageWithTable = message('Two names expire', [
  header('Soon'),
  section('*Two* names expire.'),
  table({ caption: 'Names', columns: ['name'], rows: [['cafe.rest'], ['a<b.rest']] }),
  ...actions('row', [button('go', 'Renew', 'x')]),
]);
const HOME_BLOCKS = [
  header('Soon'),
  section('*Two* names expire.'),
  table({ caption: 'Names', columns: ['name'], rows: [['cafe.rest']] }),
  ...actions('row', [button('go', 'Renew', 'x')]),
];
const messageWithOldBlocks = message('One name expires', [section('*cafe.rest* expires.')]);

const refusal = (code: string) => new SlackApiError('refused', 'chat.postMessage', { code });

/** Refuses the first calls. @returns the sent messages, and the result */
async function send(original: Message, refusalCount: number, error: (n: number) => unknown) {
  const sent: Message[] = [];
  const outcome = await sendWithFallback(original, async (version) => {
    sent.push(version);
    if (sent.length <= refusalCount) throw error(sent.length);
    return 'taken';
  }).catch((reason: unknown) => reason);
  return { sent, outcome };
}

const listBlockTypes = ({ blocks }: Message) => blocks.map(({ type }) => type);

describe('a message whose blocks may have been refused', () => {
  test.each([
    'invalid_blocks',
    'invalid_blocks_format',
    'invalid_arguments',
    'unsupported_block_type',
    'msg_blocks_too_long',
    // Codes that the bot doesn't know.
    'invalid_table_block',
    'block_not_allowed_here',
    'feature_not_available',
  ])('is posted with older blocks after %s', async (code) => {
    const { sent, outcome } = await send(messageWithTable, 1, () => refusal(code));
    expect(outcome).toBe('taken');
    expect(sent.map(listBlockTypes)).toEqual([
      ['header', 'section', 'data_table', 'actions'],
      ['header', 'section', 'section', 'actions'],
    ]);
  });

  test('is posted as text with its buttons if the older blocks are refused, too', async () => {
    const { sent, outcome } = await send(messageWithTable, 2, () => refusal('unheard_of'));
    expect(outcome).toBe('taken');
    expect(listBlockTypes(sent[2] ?? messageWithTable)).toEqual(['section', 'actions']);
    expect(JSON.stringify(sent[2])).toContain('cafe.rest');
  });

  test('is posted as complete text if the buttons are refused, too', async () => {
    const { sent, outcome } = await send(messageWithTable, 3, () => refusal('unheard_of'));
    expect(outcome).toBe('taken');
    expect(sent[3]).toEqual({
      text: '*Soon*\n*Two* names expire.\n*Names*\nname\ncafe.rest\na&lt;b.rest',
      blocks: [],
    });
  });

  test('is posted as text at once if it has no newer blocks', async () => {
    const { sent, outcome } = await send(messageWithOldBlocks, 1, () => refusal('unheard_of'));
    expect(outcome).toBe('taken');
    expect(sent).toEqual([messageWithOldBlocks, { text: '*cafe.rest* expires.', blocks: [] }]);
  });

  test('fails with the first refusal if Slack accepts no version', async () => {
    const { sent, outcome } = await send(messageWithTable, 9, (n) => refusal(`refusal_${n}`));
    expect(sent).toHaveLength(4);
    expect(outcome).toMatchObject({ code: 'refusal_1' });
  });

  test('fits into an update as text, and says how to act on it', async () => {
    const longMessage = message('Long', [section('x'.repeat(2_900)), section('y'.repeat(2_900))]);
    const hint = 'Order `o1`. To act on it, use `/domain order o1`.';
    const { sent } = await send({ ...longMessage, textOnlyHint: hint }, 1, () => refusal('msg_too_long'));
    expect(sent[1]?.text.length).toBeLessThanOrEqual(4_000);
    expect(sent[1]?.text.endsWith(`\n${hint}`)).toBe(true);
  });

  test('loses only the refused block if Slack names it', async () => {
    const { sent, outcome } = await send(
      message('Names', [
        table({ caption: 'First', columns: ['name'], rows: [['cafe.rest']] }),
        table({ caption: 'Second', columns: ['name'], rows: [['bar.rest']] }),
      ]),
      1,
      () =>
        new SlackApiError('refused', 'chat.postMessage', {
          code: 'invalid_blocks',
          refusedBlockIndexes: [0],
        }),
    );
    expect(outcome).toBe('taken');
    expect(sent.map(listBlockTypes)).toEqual([
      ['data_table', 'data_table'],
      ['section', 'data_table'],
    ]);
  });

  test('fails with the rate limit if one follows the refusal', async () => {
    const rateLimit = new SlackApiError('rate_limited', 'chat.postMessage', { retryAfterMs: 5_000 });
    const { sent, outcome } = await send(messageWithTable, 9, (n) =>
      n === 1 ? refusal('unheard_of') : rateLimit,
    );
    expect(sent).toHaveLength(2);
    expect(outcome).toBe(rateLimit);
  });

  test('is sent with older blocks, then as text with buttons, on the Home tab, too', async () => {
    const published: string[][] = [];
    const publish = sendViewWithFallback(HOME_BLOCKS, async (blocks) => {
      published.push(blocks.map(({ type }) => type));
      if (published.length < 3) throw refusal('unheard_of');
    });
    await publish;
    expect(published).toEqual([
      ['header', 'section', 'data_table', 'actions'],
      ['header', 'section', 'section', 'actions'],
      ['section', 'actions'],
    ]);
  });
});

test.each([
  refusal('channel_not_found'),
  refusal('not_in_channel'),
  refusal('is_archived'),
  refusal('missing_scope'),
  refusal('token_revoked'),
  refusal('invalid_auth'),
  refusal('message_not_found'),
  refusal('expired_trigger_id'),
  refusal('user_not_in_channel'),
  // Slack may have carried out the call.
  refusal('internal_error'),
  refusal('fatal_error'),
  new SlackApiError('rate_limited', 'chat.postMessage', { retryAfterMs: 1_000 }),
  new SlackApiError('unreachable', 'chat.postMessage', {}),
  new SlackApiError('unreachable', 'chat.postMessage', { code: 'unreadable_answer' }),
  new TypeError('a slip'),
])('other errors aren’t retried: %s', async (error) => {
  const { sent, outcome } = await send(messageWithTable, 9, () => error);
  expect(sent).toEqual([messageWithTable]);
  expect(outcome).toBe(error);
});
