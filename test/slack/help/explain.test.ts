import { pino } from 'pino';
import { expect, test } from 'vitest';
import { reportError } from '../../../src/slack/inbound/error-message.ts';
import { SlackApiError } from '../../../src/slack/outbound/web.ts';

const told = (error: unknown) => reportError(pino({ level: 'silent' }), error, '/domain rules').text;

class PrismaClientKnownRequestError extends Error {
  override readonly name = 'PrismaClientKnownRequestError';
  readonly code: string;
  constructor(code: string) {
    super('the database failed');
    this.code = code;
  }
}

test.each([
  [
    'anything',
    new TypeError('x is not a function'),
    'Something went wrong on my side. Try again in a minute.',
  ],
  [
    'a busy Slack',
    new SlackApiError('rate_limited', 'm', { retryAfterMs: 4_000 }),
    'Try again in 4 seconds.',
  ],
  ['a silent Slack', new SlackApiError('unreachable', 'm', {}), 'Try again in a minute.'],
  ['a dead token', new SlackApiError('refused', 'm', { code: 'token_revoked' }), 'Tell your operator.'],
  ['no database', new PrismaClientKnownRequestError('P1001'), 'doesn’t respond right now. Try again in a'],
  ['a full database', new PrismaClientKnownRequestError('53100'), 'is full'],
])('%s has a text with what to do', (_what, error, todo) => {
  expect(told(error)).toContain(todo);
});

test('a person who only viewed something isn’t told that a request was made', () => {
  const text = told(new TypeError('x is not a function'));
  expect(text).toContain('If you requested an order, check /domain orders mine first');
  expect(text).not.toMatch(/nothing was requested|before you try again/);
});
