import { describe, expect, it } from 'vitest';
import { durationInWords, formatDuration, parseDuration } from '../src/duration.ts';

describe('amounts of time', () => {
  it.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['72h', 259_200_000],
    ['7d', 604_800_000],
    [' 5 s ', 5_000],
  ])('%j is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '5', 's', '-5s', '0s', '1.5h', '5 weeks', '9999999999d', '4000d', '١s'])(
    '%j is refused',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it('are written as they are read', () => {
    for (const text of ['90s', '15m', '71h', '3d']) {
      expect(formatDuration(parseDuration(text) ?? 0)).toBe(text);
    }
  });

  it('read well', () => {
    expect(durationInWords(86_400_000)).toBe('1 day');
    expect(durationInWords(3 * 86_400_000)).toBe('3 days');
    expect(durationInWords(3_600_000)).toBe('1 hour');
    expect(durationInWords(90_000)).toBe('2 minutes');
    expect(durationInWords(10)).toBe('a moment');
  });
});
