import { describe, expect, it } from 'vitest';
import type { LinkRefusal } from '../../../src/accounts/check.ts';
import { formatLinkRefusal } from '../../../src/slack/accounts/link.view.ts';

const explanation = { text: 'E0001 Wrong password', stid: '20261122-1' };

describe('the text of a link refusal', () => {
  it.each<[LinkRefusal, string]>([
    [
      { code: 'not_accepted', explanation },
      'The service didn’t accept these credentials. Check them and try again. It says: E0001 Wrong password (server transaction 20261122-1)',
    ],
    [
      { code: 'not_accepted', explanation: { text: 'E0001', stid: undefined } },
      'The service didn’t accept these credentials. Check them and try again. It says: E0001',
    ],
    [
      { code: 'not_accepted', explanation: undefined },
      'The service didn’t accept these credentials. Check them and try again.',
    ],
    [
      { code: 'not_sendable', issue: { code: 'token_malformed' } },
      'A token has six digits. Enter the one on your device.',
    ],
    [
      { code: 'busy', explanation: undefined },
      'The service is busy, so nothing was saved. Try again in a minute.',
    ],
    [
      { code: 'token_used', retryAfterMs: 18_500 },
      'The current one-time token is already used, so nothing was saved. Try again in 19 seconds.',
    ],
    [
      { code: 'no_clear_answer', explanation: undefined },
      'The service didn’t respond, so nothing was saved. Try again in a few minutes.',
    ],
    [
      { code: 'no_clear_answer', explanation },
      'The service gave no clear answer, so nothing was saved. Try again in a few minutes. It says: E0001 Wrong password (server transaction 20261122-1)',
    ],
  ])('explains %j', (refusal, expected) => {
    expect(formatLinkRefusal(refusal)).toBe(expected);
  });
});
