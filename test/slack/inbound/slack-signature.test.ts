import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../../src/service/secret.ts';
import { isSignedBySlack } from '../../../src/slack/inbound/slack-signature.ts';

/** The example from Slack's page on verifying requests. */
const EXAMPLE = {
  secret: new Secret('8f742231b10e8888abcd99yyyzzz85a5'),
  timestamp: '1531420618',
  body: Buffer.from(
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  ),
  signature: 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
};
const AT = Number(EXAMPLE.timestamp) * 1_000;

interface Changes {
  readonly timestamp?: string | undefined;
  readonly signature?: string | undefined;
  readonly body?: Buffer;
  readonly now?: number;
}

function verify(changes: Changes): boolean {
  const { timestamp, signature, body, now } = { ...EXAMPLE, now: AT, ...changes };
  const headers = { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature };
  return isSignedBySlack(EXAMPLE.secret, headers, body, now);
}

const sign = (timestamp: string, body: Buffer) =>
  `v0=${createHmac('sha256', EXAMPLE.secret.reveal()).update(`v0:${timestamp}:`).update(body).digest('hex')}`;

test('the example from Slack’s documentation is accepted', () => {
  expect(verify({})).toBe(true);
});

test.each([
  ['five minutes ago', -300, true],
  ['longer ago', -301, false],
  ['five minutes ahead', 300, true],
  ['further ahead', 301, false],
])('a request signed %s (%i s) is accepted: %s', (_when, offset, isExpected) => {
  expect(verify({ now: AT - offset * 1_000 })).toBe(isExpected);
});

describe('a request is refused', () => {
  test.each<[what: string, changes: Changes]>([
    ['no signature', { signature: undefined }],
    ['an empty signature', { signature: '' }],
    ['a cut signature', { signature: EXAMPLE.signature.slice(0, -1) }],
    ['a longer signature', { signature: `${EXAMPLE.signature}0` }],
    ['a signature with other characters of the same byte length', { signature: `v0=${'é'.repeat(32)}` }],
    ['another signature', { signature: `v0=${'0'.repeat(64)}` }],
    ['another version', { signature: EXAMPLE.signature.replace('v0', 'v1') }],
    ['no timestamp', { timestamp: undefined }],
    ['another body', { body: Buffer.from('token=x') }],
    ['an empty body', { body: Buffer.alloc(0) }],
  ])('if it has %s', (_what, changes) => {
    expect(verify(changes)).toBe(false);
  });

  test.each(['', 'soon', 'NaN', '1e999', '1.5e9', '-1531420618', '0x5b47a08a', ' 1531420618', '١٥'])(
    'if its timestamp is %j, although it is signed',
    (timestamp) => {
      expect(verify({ timestamp, signature: sign(timestamp, EXAMPLE.body) })).toBe(false);
    },
  );
});

test('the signature is of the raw bytes, even of invalid UTF-8', () => {
  const body = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
  expect(verify({ body, signature: sign(EXAMPLE.timestamp, body) })).toBe(true);
  // Decoding replaces invalid bytes.
  const decoded = Buffer.from(body.toString());
  expect(verify({ body: decoded, signature: sign(EXAMPLE.timestamp, body) })).toBe(false);
});
