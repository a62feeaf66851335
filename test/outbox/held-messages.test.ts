import type { JsonObject } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import { assertReadableMessages } from '../support/held-messages.ts';

/* Tests the checker of messages: it accepts the maximum length, but not one more line. */

const section = (lines: number, more: JsonObject = {}): JsonObject => ({
  type: 'section',
  text: { type: 'mrkdwn', text: Array(lines).fill('x').join('\n') },
  ...more,
});

function posted(text: string, blocks: JsonObject[], metadata?: JsonObject) {
  const args: JsonObject = {
    text: text || 'Renew cafe.rest',
    blocks: JSON.stringify(blocks),
    ...(metadata && { metadata: JSON.stringify(metadata) }),
  };
  return { method: 'chat.postMessage', at: 0, ok: true, args };
}

const order = (state: string, names = 'cafe.rest'): JsonObject => ({
  event_type: 'domain_order',
  event_payload: { order_id: 'a1', task: 'renew', names, state },
});

const due = (n: number): JsonObject => ({
  type: 'section',
  block_id: `due_${n}`,
  text: { type: 'mrkdwn', text: 'x'.repeat(80) },
});

test.each<[kind: string, most: number, of: (lines: number) => ReturnType<typeof posted>]>([
  ['a waiting card', 12, (lines) => posted('', [section(lines, { block_id: 'order_a1' })], order('PENDING'))],
  [
    'a waiting card of several names',
    18,
    (lines) => posted('', [section(lines, { block_id: 'order_a1' })], order('PENDING', 'cafe.rest,b.rest')),
  ],
  [
    'a card that has ended',
    6,
    (lines) => posted('', [section(lines, { block_id: 'order_a1' })], order('SUCCEEDED')),
  ],
  [
    'a plan',
    16,
    (lines) => posted('', [section(lines - 2), { type: 'actions', block_id: 'plan_a1', elements: [] }]),
  ],
  [
    'a monthly report',
    16,
    (lines) =>
      posted('', [
        { type: 'header', text: { type: 'plain_text', text: 'Money report for May' } },
        section(lines - 1),
      ]),
  ],
  [
    'a digest',
    34,
    (lines) =>
      posted('', [
        section(lines - 26),
        ...Array.from({ length: 12 }, (_, n) => due(n)),
        { type: 'actions', block_id: 'digest_1', elements: [] },
      ]),
  ],
])('%s has at most %s lines', (kind, most, of) => {
  expect(() => assertReadableMessages([of(most)])).not.toThrow();
  expect(() => assertReadableMessages([of(most + 1)])).toThrow(
    `${kind} has ${most + 1} lines, ${most} at most`,
  );
});

test('an unusual fact allows two more lines', () => {
  const facts = { type: 'section', text: { type: 'mrkdwn', text: ':warning: one' } };
  const card = (lines: number) =>
    posted('', [section(lines, { block_id: 'order_a1' }), facts], order('PENDING'));
  expect(() => assertReadableMessages([card(13)])).not.toThrow();
  expect(() => assertReadableMessages([card(14)])).toThrow('a waiting card has 15 lines, 14 at most');
});

test('technical values in messages and views are refused, except in failed and other calls', () => {
  expect(() => assertReadableMessages([posted('It is PENDING', [])])).toThrow(
    'a state of an order (PENDING)',
  );
  const view = {
    method: 'views.open',
    at: 0,
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

test('text that is code in the blocks is allowed in the notification text', () => {
  const blocks = [{ type: 'section', text: { type: 'mrkdwn', text: 'Set `should_escape` there' } }];
  expect(() => assertReadableMessages([posted('Set should_escape there', blocks)])).not.toThrow();
  expect(() => assertReadableMessages([posted('Set should_escape there', [])])).toThrow('should_escape');
});
