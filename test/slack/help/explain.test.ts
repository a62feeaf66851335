import { pino } from 'pino';
import { expect, test } from 'vitest';
import { errorMessage } from '../../../src/slack/inbound/error-message.ts';
import { SlackApiError } from '../../../src/slack/outbound/web.ts';

const told = (error: unknown) => errorMessage(pino({ level: 'silent' }), error, '/domain rules').text;

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
    'Something went wrong on my side. Try again in a minute;',
  ],
  [
    'a busy Slack',
    new SlackApiError('rate_limited', 'm', { retryAfterMs: 4_000 }),
    'Try again in 4 seconds.',
  ],
  ['a silent Slack', new SlackApiError('unreachable', 'm', {}), 'Try again in a minute.'],
  ['a dead token', new SlackApiError('refused', 'm', { code: 'token_revoked' }), 'Tell whoever runs me.'],
  ['no database', new PrismaClientKnownRequestError('P1001'), 'does not answer right now. Try again in a'],
  ['a full database', new PrismaClientKnownRequestError('53100'), 'no room left'],
])('%s is said with what to do about it', (_what, error, todo) => {
  expect(told(error)).toContain(todo);
});

test('whoever only read is not told that something was asked for', () => {
  const text = told(new TypeError('x is not a function'));
  expect(text).toContain('If you asked for an order, look at /domain orders mine first');
  expect(text).not.toMatch(/nothing is asked for|before you try again/);
});
