import { expect, test } from 'vitest';
import { canSend, findSuggestions, findTypedCommand } from '../../packages/slack-workspace/page/commands.ts';
import { COMMANDS } from '../../src/slack/index.ts';

const hints = [...COMMANDS.values()].map(({ usage, summary }) => ({
  command: '/domain',
  usage_hint: usage,
  description: summary,
}));
const suggest = (typed: string): string[] =>
  findSuggestions(typed, hints).map(({ insertedText }) => insertedText);

test('the composer suggests commands that start with the typed text', () => {
  expect(suggest('/')).toHaveLength(hints.length);
  expect(suggest('/domain re')).toEqual(expect.arrayContaining(['/domain renew ', '/domain restore ']));
  expect(suggest('/DOMAIN REN')).toEqual(['/domain renew ']);
  expect(suggest('/domain order')).toEqual(['/domain orders ', '/domain order ']);
  expect(suggest('/domain who')).toEqual(['/domain whoami']);
  expect(suggest('/domain frobnicate')).toEqual([]);
  expect(suggest('hello /domain')).toEqual([]);
});

test('the composer shows the usage instead of suggestions once arguments have started', () => {
  expect(suggest('/domain renew ')).toEqual([]);
  expect(suggest('/domain renew cafe.rest')).toEqual([]);
  expect(findTypedCommand('/domain renew cafe.rest', hints)).toMatchObject({
    command: '/domain renew',
    usage: 'NAME… [PERIOD]',
  });
  expect(findTypedCommand('/domain orders', hints)?.command).toBe('/domain orders');
  expect(findTypedCommand('/domain', hints)).toBeUndefined();
});

test('Enter sends a complete command and completes a partial one', () => {
  const enterSends = (typed: string): boolean => canSend(typed, findSuggestions(typed, hints));
  expect(enterSends('/domain link')).toBe(true);
  expect(enterSends('/domain order')).toBe(true);
  expect(enterSends('/domain renew cafe.rest')).toBe(true);
  expect(enterSends('/domain frobnicate')).toBe(true);
  expect(enterSends('/domain li')).toBe(false);
  expect(enterSends('/dom')).toBe(false);
});
