import type { JsonObject } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import { assertReadableMessages } from '../support/held-messages.ts';

/* The message checker accepts the maximum length, but not one more line. */

const newSection = (lines: number, fields: JsonObject = {}): JsonObject => ({
  type: 'section',
  text: { type: 'mrkdwn', text: Array(lines).fill('x').join('\n') },
  ...fields,
});

function newPostedMessage(text: string, blocks: JsonObject[], metadata?: JsonObject) {
  const args: JsonObject = {
    text: text || 'Renew cafe.rest',
    blocks: JSON.stringify(blocks),
    ...(metadata && { metadata: JSON.stringify(metadata) }),
  };
  return { method: 'chat.postMessage', calledAt: 0, ok: true, args };
}

const newOrderMetadata = (state: string, names = 'cafe.rest'): JsonObject => ({
  event_type: 'domain_order',
  event_payload: { order_id: 'a1', task: 'renew', names, state },
});

const newDueSection = (n: number): JsonObject => ({
  type: 'section',
  block_id: `due_${n}`,
  text: { type: 'mrkdwn', text: 'x'.repeat(80) },
});

test.each<[kind: string, most: number, of: (lines: number) => ReturnType<typeof newPostedMessage>]>([
  [
    'a waiting card',
    12,
    (lines) =>
      newPostedMessage('', [newSection(lines, { block_id: 'order_a1' })], newOrderMetadata('PENDING')),
  ],
  [
    'a waiting card of several names',
    18,
    (lines) =>
      newPostedMessage(
        '',
        [newSection(lines, { block_id: 'order_a1' })],
        newOrderMetadata('PENDING', 'cafe.rest,b.rest'),
      ),
  ],
  [
    'a card that has ended',
    6,
    (lines) =>
      newPostedMessage('', [newSection(lines, { block_id: 'order_a1' })], newOrderMetadata('SUCCEEDED')),
  ],
  [
    'a plan',
    16,
    (lines) =>
      newPostedMessage('', [newSection(lines - 2), { type: 'actions', block_id: 'plan_a1', elements: [] }]),
  ],
  [
    'a monthly report',
    16,
    (lines) =>
      newPostedMessage('', [
        { type: 'header', text: { type: 'plain_text', text: 'Money report for May' } },
        newSection(lines - 1),
      ]),
  ],
  [
    'a digest',
    34,
    (lines) =>
      newPostedMessage('', [
        newSection(lines - 26),
        ...Array.from({ length: 12 }, (_, n) => newDueSection(n)),
        { type: 'actions', block_id: 'digest_1', elements: [] },
      ]),
  ],
])('%s has at most %s lines', (kind, maxLines, buildMessage) => {
  expect(() => assertReadableMessages([buildMessage(maxLines)])).not.toThrow();
  expect(() => assertReadableMessages([buildMessage(maxLines + 1)])).toThrow(
    `${kind} has ${maxLines + 1} lines, ${maxLines} at most`,
  );
});

test('an unusual fact allows two more lines', () => {
  const facts = { type: 'section', text: { type: 'mrkdwn', text: ':warning: one' } };
  const card = (lines: number) =>
    newPostedMessage('', [newSection(lines, { block_id: 'order_a1' }), facts], newOrderMetadata('PENDING'));
  expect(() => assertReadableMessages([card(13)])).not.toThrow();
  expect(() => assertReadableMessages([card(14)])).toThrow('a waiting card has 15 lines, 14 at most');
});

test('technical values in messages and views are refused, but not in failed calls or other methods', () => {
  expect(() => assertReadableMessages([newPostedMessage('It is PENDING', [])])).toThrow(
    'a state of an order (PENDING)',
  );
  const view = {
    method: 'views.open',
    calledAt: 0,
    ok: true,
    args: { view: { blocks: [{ label: 'rule_name' }] } },
  };
  expect(() => assertReadableMessages([view])).toThrow('a field name (rule_name)');
  expect(() =>
    assertReadableMessages([
      { ...view, ok: false },
      { ...view, method: 'users.info' },
    ]),
  ).not.toThrow();
});

test('technical text that the blocks show as code is allowed in the notification text', () => {
  const blocks = [{ type: 'section', text: { type: 'mrkdwn', text: 'Set `should_escape` there' } }];
  expect(() => assertReadableMessages([newPostedMessage('Set should_escape there', blocks)])).not.toThrow();
  expect(() => assertReadableMessages([newPostedMessage('Set should_escape there', [])])).toThrow(
    'should_escape',
  );
});
