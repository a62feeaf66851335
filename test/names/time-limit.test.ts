import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createTimeoutSignal } from '../../src/names/time-limit.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

test('a limit aborts after its time, even if the garbage collector ran', async () => {
  const limit = createTimeoutSignal(new AbortController().signal, 100);
  const aborted = once(limit, 'abort');
  for (let turns = 0; turns < 3; turns += 1) {
    collectGarbage();
    await nextTurn();
  }
  await aborted;
  expect(limit.aborted).toBe(true);
}, 2_000);

test('a limit aborts when the process stops', () => {
  const stop = new AbortController();
  const limit = createTimeoutSignal(stop.signal, 60_000);
  stop.abort();
  expect(limit.aborted).toBe(true);
});
