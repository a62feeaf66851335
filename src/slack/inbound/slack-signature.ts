import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from '../../service/secret.ts';

/** Timestamps can be five minutes in the past or future. Bolt doesn't reject timestamps in the future. */
const CLOCK_LEEWAY_SECONDS = 300;

/**
 * Whether Slack signed a request recently. See
 * https://docs.slack.dev/authentication/verifying-requests-from-slack.
 * @param now in milliseconds
 */
export function isSignedBySlack(
  signingSecret: Secret,
  headers: IncomingHttpHeaders,
  body: Buffer,
  now: number = Date.now(),
): boolean {
  const timestamp = headers['x-slack-request-timestamp'];
  const signature = headers['x-slack-signature'];
  if (typeof timestamp !== 'string' || typeof signature !== 'string') return false;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1_000 - Number(timestamp)) > CLOCK_LEEWAY_SECONDS) return false;
  const mac = createHmac('sha256', signingSecret.reveal()).update(`v0:${timestamp}:`).update(body);
  const expected = Buffer.from(`v0=${mac.digest('hex')}`);
  const received = Buffer.from(signature);
  return received.length === expected.length && timingSafeEqual(received, expected);
}
