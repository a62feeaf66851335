import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createUpdateQueue } from '../../../src/slack/outbound/latest.ts';

/* Quick choices in menus that change their form: `method`, `type`, `mode`, `interface`, `kind`, `preset`. */

test('the last choice wins, in whatever order choices arrive and updates end', async () => {
  const latest = createUpdateQueue('changing a form', pino({ level: 'silent' }));
  const shown: string[] = [];
  let finish = () => {};
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const first = latest.run('view', () => slow.then(() => void shown.push('1')), '1789.1');
  await setImmediate();
  const third = latest.run('view', async () => void shown.push('3'), '1789.3');
  const second = latest.run('view', async () => void shown.push('2'), '1789.2');
  finish();
  await Promise.all([first, second, third]);
  await latest.run('view', async () => void shown.push('2 again'), '1789.2');
  expect(shown).toEqual(['1', '3']);
});
