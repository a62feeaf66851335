import { expect, test } from 'vitest';
import { textMessage } from '../../../src/slack/kit/blocks.ts';
import { runWithProgress } from '../../../src/slack/outbound/progress.ts';

test('progress is shown until the work ends, and not afterwards', async () => {
  const messages: string[] = [];
  let done = 0;
  let recordFirst = () => {};
  const firstMessage = new Promise<void>((resolve) => {
    recordFirst = resolve;
  });
  const outcome = await runWithProgress(
    async ({ text }) => {
      messages.push(text);
      recordFirst();
    },
    () => textMessage(`${done} of 3`),
    async () => {
      done = 2;
      await firstMessage;
      return 'the outcome';
    },
    [1, 60_000],
  );
  expect(outcome).toBe('the outcome');
  expect(messages).toEqual(['2 of 3']);
});

test('the work continues if progress can’t be shown', async () => {
  let recordAttempt = () => {};
  const attempt = new Promise<void>((resolve) => {
    recordAttempt = resolve;
  });
  const failToNotify = async (): Promise<void> => {
    recordAttempt();
    throw new Error('Slack is unavailable');
  };
  expect(
    await runWithProgress(
      failToNotify,
      () => textMessage('half'),
      () => attempt.then(() => 'done'),
      [1],
    ),
  ).toBe('done');
});
