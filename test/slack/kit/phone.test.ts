import { expect, test } from 'vitest';
import { countPhoneLines, cutToLines, fitLines } from '../../../src/slack/kit/phone.ts';

const TEXT = 'The registrar of <@U0ALICE> said *no* & nothing else. ';

test('a text that fits is unchanged', () => {
  expect(cutToLines(TEXT, 3)).toBe(TEXT);
});

test.each([1, 2, 6])('a longer one takes %i lines and not much less', (most) => {
  const shown = cutToLines(TEXT.repeat(200), most);
  expect(countPhoneLines(shown)).toBe(most);
  expect(shown.endsWith('…')).toBe(true);
  expect(countPhoneLines(`${shown}${'x'.repeat(20)}`), 'nothing that fits is left out').toBeGreaterThan(most);
});

test('several texts share the lines, and the last of them is truncated', () => {
  const shown = fitLines([TEXT, TEXT.repeat(9), TEXT], 5);
  expect(shown).toHaveLength(2);
  expect(shown[0]).toBe(TEXT);
  expect(countPhoneLines(shown.join('\n'))).toBe(5);
});
