import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('no animation is endless, because it would use CPU time without a GPU', () => {
  const folder = new URL('../../page/style/', import.meta.url);
  const animations = readdirSync(folder)
    .flatMap((file) => readFileSync(new URL(file, folder), 'utf8').match(/animation:[^;]+;/g) ?? [])
    .filter((animation) => animation !== 'animation: none;');
  expect(animations.length).toBeGreaterThan(0);
  for (const animation of animations) expect(animation).toMatch(/ [123];$/);
});
