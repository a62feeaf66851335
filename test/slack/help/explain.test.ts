import { pino } from 'pino';
import { expect, test } from 'vitest';
import { reportError } from '../../../src/slack/inbound/error-message.ts';
import { SlackApiError } from '../../../src/slack/outbound/web.ts';

const explain = (error: unknown) => reportError(pino({ level: 'silent' }), error, '/domain rules').text;

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
    'an unknown error',
    new TypeError('x is not a function'),
    'Something went wrong on my side. Try again in a minute.',
  ],
  [
    'a rate limit of Slack',
    new SlackApiError('rate_limited', 'm', { retryAfterMs: 4_000 }),
    'Try again in 4 seconds.',
  ],
  ['no response from Slack', new SlackApiError('unreachable', 'm', {}), 'Try again in a minute.'],
  ['a revoked token', new SlackApiError('refused', 'm', { code: 'token_revoked' }), 'Tell your operator.'],
  ['no database', new PrismaClientKnownRequestError('P1001'), 'doesn’t respond right now. Try again in a'],
  ['a full database', new PrismaClientKnownRequestError('53100'), 'is full'],
])('the message about %s says what to do', (_what, error, todo) => {
  expect(explain(error)).toContain(todo);
});

test('the message to a person who only viewed something doesn’t claim that something was requested', () => {
  const text = explain(new TypeError('x is not a function'));
  expect(text).toContain('If you requested an order, check /domain orders mine first');
  expect(text).not.toMatch(/nothing was requested|before you try again/);
});
