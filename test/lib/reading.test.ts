import { describe, expect, it } from 'vitest';
import { countPhoneLines, countUnusualFacts, findUnreadableValues } from '../support/reading.ts';

const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });

describe('counting lines on a phone', () => {
  it.each([
    ['a line of 40 characters', [section('x'.repeat(40))], 1],
    ['a line of 41 characters', [section('x'.repeat(41))], 2],
    ['an empty line between two lines', [section('a\n\nb')], 3],
    ['a mention and a date, as displayed', [section(`<@U0BOB> <!date^1^{date}|${'x'.repeat(31)}>`)], 1],
    ['fields, below each other', [{ type: 'section', fields: [section('a').text, section('b').text] }], 2],
    ['a row of buttons', [{ type: 'actions', elements: [] }], 2],
    [
      'a context of two elements, side by side',
      [{ type: 'context', elements: [section('a').text, section('b').text] }],
      1,
    ],
  ])('%s', (_what, blocks, lines) => {
    expect(countPhoneLines(blocks)).toBe(lines);
  });

  it('throws for unknown blocks', () => {
    expect(() => countPhoneLines([{ type: 'carousel' }])).toThrow('carousel');
  });
});

it('lines that begin with a warning sign are unusual facts', () => {
  expect(countUnusualFacts([section('usual\n:warning: one\n:x: two\nnot a :warning:')])).toBe(2);
});

it.each([
  ['a timestamp', 'Since 2026-12-03T17:37:00Z', ['a timestamp (2026-12-03T17:37)']],
  ['a state', 'It is PENDING', ['a state of an order (PENDING)']],
  ['a field name', 'retry_scheduled: busy', ['a field name (retry_scheduled)']],
  ['a quotation', 'Alice: “is PENDING ok_here?”', []],
  ['a command in code', '`/domain policy_test`', []],
])('technical values are found in %s only outside quotations and code', (_what, text, found) => {
  expect(findUnreadableValues(text, []).map((each) => each.split(' in: ')[0])).toEqual(found);
});
