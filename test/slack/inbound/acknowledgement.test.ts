import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  ACKNOWLEDGEMENT_TIMEOUT_MS,
  createAcknowledgement,
} from '../../../src/slack/inbound/acknowledgement.ts';

/* When a delivery from Slack is acknowledged. */

const log = pino({ level: 'silent' });

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('an acknowledgement is sent once, however often it is requested', async () => {
  const ack = vi.fn(async () => undefined);
  const acknowledgement = createAcknowledgement(ack, log);
  expect(ack).not.toHaveBeenCalled();
  acknowledgement.send();
  acknowledgement.send();
  await vi.advanceTimersByTimeAsync(10 * ACKNOWLEDGEMENT_TIMEOUT_MS);
  expect(ack).toHaveBeenCalledTimes(1);
  expect(acknowledgement.isLate).toBe(false);
});

test('an acknowledgement is sent automatically at the deadline and marked as late', async () => {
  const ack = vi.fn(async () => undefined);
  const acknowledgement = createAcknowledgement(ack, log);
  await vi.advanceTimersByTimeAsync(ACKNOWLEDGEMENT_TIMEOUT_MS - 1);
  expect(ack).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(ack).toHaveBeenCalledTimes(1);
  acknowledgement.send();
  expect(ack).toHaveBeenCalledTimes(1);
  expect(acknowledgement.isLate).toBe(true);
});

test('an acknowledgement that Slack no longer accepts is only logged', async () => {
  const warn = vi.spyOn(log, 'warn');
  createAcknowledgement(() => Promise.reject(new Error('the socket is closed')), log).send();
  await vi.advanceTimersByTimeAsync(0);
  expect(warn).toHaveBeenCalledWith(
    { err: new Error('the socket is closed') },
    'acknowledging a delivery failed',
  );
});
