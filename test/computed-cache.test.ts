import { expect, test } from 'vitest';
import { cacheFor } from '../src/computed-cache.ts';

function counted(compute: (n: number) => Promise<string>) {
  let now = 0;
  let computed = 0;
  const read = cacheFor(
    1_000,
    () => {
      computed += 1;
      return compute(computed);
    },
    () => now,
  );
  return {
    read,
    computed: () => computed,
    wait: (ms: number) => {
      now += ms;
    },
  };
}

test('all who ask at once, and within a second of the answer, get the same', async () => {
  const answers: (() => void)[] = [];
  const cache = counted((n) => new Promise((resolve) => answers.push(() => resolve(`answer ${n}`))));
  const first = [cache.read(), cache.read()];
  // However long it takes: nobody asks a second time meanwhile.
  cache.wait(5_000);
  first.push(cache.read());
  answers[0]?.();
  expect(await Promise.all(first)).toEqual(['answer 1', 'answer 1', 'answer 1']);
  cache.wait(999);
  expect(await cache.read()).toBe('answer 1');
  expect(cache.computed()).toBe(1);
});

test('after that it is computed anew', async () => {
  const cache = counted(async (n) => `answer ${n}`);
  await cache.read();
  cache.wait(1_000);
  expect(await cache.read()).toBe('answer 2');
});

test('a failure is told to all, and not asked for more often', async () => {
  const cache = counted(async (n) => {
    if (n === 1) throw new Error('away');
    return `answer ${n}`;
  });
  await expect(cache.read()).rejects.toThrow('away');
  await expect(cache.read()).rejects.toThrow('away');
  expect(cache.computed()).toBe(1);
  cache.wait(1_000);
  expect(await cache.read()).toBe('answer 2');
});
