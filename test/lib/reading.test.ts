import { describe, expect, it } from 'vitest';
import { phoneLines, unreadable, unusualFacts } from '../support/reading.ts';

const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });

describe('the lines of a message on a phone', () => {
  it.each([
    ['a line of 40 characters', [section('x'.repeat(40))], 1],
    ['one more', [section('x'.repeat(41))], 2],
    ['an empty line between two', [section('a\n\nb')], 3],
    [
      'what a reader sees of a mention and a moment',
      [section(`<@U0BOB> <!date^1^{date}|${'x'.repeat(31)}>`)],
      1,
    ],
    ['fields, one below the other', [{ type: 'section', fields: [section('a').text, section('b').text] }], 2],
    ['a row of buttons', [{ type: 'actions', elements: [] }], 2],
    [
      'a context of two parts, side by side',
      [{ type: 'context', elements: [section('a').text, section('b').text] }],
      1,
    ],
  ])('%s', (_what, blocks, lines) => {
    expect(phoneLines(blocks)).toBe(lines);
  });

  it('are not guessed for unknown blocks', () => {
    expect(() => phoneLines([{ type: 'carousel' }])).toThrow('carousel');
  });
});

it('unusual facts begin with a sign', () => {
  expect(unusualFacts([section('usual\n:warning: one\n:x: two\nnot a :warning:')])).toBe(2);
});

it.each([
  ['a timestamp', 'Since 2026-12-03T17:37:00Z', ['a timestamp (2026-12-03T17:37)']],
  ['a state', 'It is PENDING', ['a state of an order (PENDING)']],
  ['a field of a wire', 'retry_scheduled: busy', ['a field name (retry_scheduled)']],
  ['a quotation', 'Alice: “is PENDING ok_here?”', []],
  ['what people type', '`/domain policy_test`', []],
])('%s is found outside of quotations', (_what, text, found) => {
  expect(unreadable(text, []).map((each) => each.split(' in: ')[0])).toEqual(found);
});
