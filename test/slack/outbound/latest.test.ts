import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createUpdateQueue } from '../../../src/slack/outbound/latest.ts';

/* People quickly change these menus, which update their form: `method`, `type`, `mode`, `interface`, … */

test('the last choice wins, regardless of the order in which choices arrive and updates end', async () => {
  const updateQueue = createUpdateQueue('changing a form', pino({ level: 'silent' }));
  const shown: string[] = [];
  let finishFirstUpdate = () => {};
  const firstUpdate = new Promise<void>((resolve) => {
    finishFirstUpdate = resolve;
  });
  const first = updateQueue.run('view', () => firstUpdate.then(() => void shown.push('1')), '1789.1');
  await setImmediate();
  const third = updateQueue.run('view', async () => void shown.push('3'), '1789.3');
  const second = updateQueue.run('view', async () => void shown.push('2'), '1789.2');
  finishFirstUpdate();
  await Promise.all([first, second, third]);
  await updateQueue.run('view', async () => void shown.push('2 again'), '1789.2');
  expect(shown).toEqual(['1', '3']);
});
