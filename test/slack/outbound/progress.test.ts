import { expect, test } from 'vitest';
import { textMessage } from '../../../src/slack/kit/blocks.ts';
import { runWithProgress } from '../../../src/slack/outbound/progress.ts';

test('shows the progress until its end, and nothing afterwards', async () => {
  const told: string[] = [];
  let done = 0;
  let heard = () => {};
  const firstWord = new Promise<void>((resolve) => {
    heard = resolve;
  });
  const outcome = await runWithProgress(
    async ({ text }) => {
      told.push(text);
      heard();
    },
    () => textMessage(`${done} of 3`),
    async () => {
      done = 2;
      await firstWord;
      return 'the outcome';
    },
    [1, 60_000],
  );
  expect(outcome).toBe('the outcome');
  expect(told).toEqual(['2 of 3']);
});

test('continues if nobody can be notified', async () => {
  let tried = () => {};
  const trial = new Promise<void>((resolve) => {
    tried = resolve;
  });
  const deaf = async (): Promise<void> => {
    tried();
    throw new Error('Slack is away');
  };
  expect(
    await runWithProgress(
      deaf,
      () => textMessage('half'),
      () => trial.then(() => 'done'),
      [1],
    ),
  ).toBe('done');
});
