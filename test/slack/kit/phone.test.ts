import { expect, test } from 'vitest';
import { countPhoneLines, fitLines, truncateToLines } from '../../../src/slack/kit/phone.ts';

const TEXT = 'The registrar of <@U0ALICE> said *no* & nothing else. ';

test('a text that fits is unchanged', () => {
  expect(truncateToLines(TEXT, 3)).toBe(TEXT);
});

test.each([1, 2, 6])('a text that doesn’t fit is cut to fill %i lines', (maxLines) => {
  const shown = truncateToLines(TEXT.repeat(200), maxLines);
  expect(countPhoneLines(shown)).toBe(maxLines);
  expect(shown.endsWith('…')).toBe(true);
  expect(countPhoneLines(`${shown}${'x'.repeat(20)}`), 'no more would fit').toBeGreaterThan(maxLines);
});

test('several texts share the lines, and the last one is truncated', () => {
  const shown = fitLines([TEXT, TEXT.repeat(9), TEXT], 5);
  expect(shown).toHaveLength(2);
  expect(shown[0]).toBe(TEXT);
  expect(countPhoneLines(shown.join('\n'))).toBe(5);
});
