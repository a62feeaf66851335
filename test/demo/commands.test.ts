import { expect, test } from 'vitest';
import { isComplete, suggestionsFor, typedCommand } from '../../packages/slack-workspace/page/commands.ts';
import { COMMANDS } from '../../src/slack/index.ts';

const hints = [...COMMANDS.values()].map(({ usage, summary }) => ({
  command: '/domain',
  usage_hint: usage,
  description: summary,
}));
const offered = (typed: string): string[] => suggestionsFor(typed, hints).map(({ insert }) => insert);

test('offers the commands that start with the typed text', () => {
  expect(offered('/')).toHaveLength(hints.length);
  expect(offered('/domain re')).toEqual(expect.arrayContaining(['/domain renew ', '/domain restore ']));
  expect(offered('/DOMAIN REN')).toEqual(['/domain renew ']);
  expect(offered('/domain order')).toEqual(['/domain orders ', '/domain order ']);
  expect(offered('/domain who')).toEqual(['/domain whoami']);
  expect(offered('/domain frobnicate')).toEqual([]);
  expect(offered('hello /domain')).toEqual([]);
});

test('offers no commands after the arguments have started, but shows the usage', () => {
  expect(offered('/domain renew ')).toEqual([]);
  expect(offered('/domain renew cafe.rest')).toEqual([]);
  expect(typedCommand('/domain renew cafe.rest', hints)).toMatchObject({
    command: '/domain renew',
    usage: 'NAME… [PERIOD]',
  });
  expect(typedCommand('/domain orders', hints)?.command).toBe('/domain orders');
  expect(typedCommand('/domain', hints)).toBeUndefined();
});

test('sends on Enter when a command is complete, and completes it before', () => {
  const enterSends = (typed: string): boolean => isComplete(typed, suggestionsFor(typed, hints));
  expect(enterSends('/domain link')).toBe(true);
  expect(enterSends('/domain order')).toBe(true);
  expect(enterSends('/domain renew cafe.rest')).toBe(true);
  expect(enterSends('/domain frobnicate')).toBe(true);
  expect(enterSends('/domain li')).toBe(false);
  expect(enterSends('/dom')).toBe(false);
});
