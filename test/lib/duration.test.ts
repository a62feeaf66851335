import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../src/lib/duration.ts';
import fc from '../support/properties.ts';

describe('durations', () => {
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

  it('are formatted in the largest whole unit, and parse back unchanged', () => {
    for (const text of ['90s', '15m', '71h', '3d', '1d', '3650d']) {
      expect(formatDuration(parseDuration(text) ?? 0)).toBe(text);
    }
    expect(formatDuration(72 * 3_600_000)).toBe('3d');
    expect(formatDuration(1_500), 'rounded up to seconds').toBe('2s');
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3_650 * 86_400 }), (seconds) => {
        expect(parseDuration(formatDuration(seconds * 1_000))).toBe(seconds * 1_000);
      }),
    );
  });
});
