import { describe, expect, it } from 'vitest';
import { formatCanonicalJson } from '../../src/lib/canonical-json.ts';

describe('canonical JSON by RFC 8785', () => {
  it('matches the example in section 3.2.2', () => {
    const value = {
      // biome-ignore lint/correctness/noPrecisionLoss: copied from the RFC
      numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };
    expect(formatCanonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('matches the example in section 3.2.3, with keys sorted by UTF-16 code units', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    const sorted = [...formatCanonicalJson(value).matchAll(/:"(.*?)"/g)].map(([, text]) => text);
    expect(sorted).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  it.each([
    [0, '0'],
    [-0, '0'],
    [Number.MIN_VALUE, '5e-324'],
    [-Number.MAX_VALUE, '-1.7976931348623157e+308'],
    [9007199254740992, '9007199254740992'],
    [295147905179352830000, '295147905179352830000'],
    [9.999999999999997e22, '9.999999999999997e+22'],
    [1e23, '1e+23'],
    [999999999999999700000, '999999999999999700000'],
    [1e21, '1e+21'],
    [9.999999999999997e-7, '9.999999999999997e-7'],
    [0.000001, '0.000001'],
    [333333333.3333332, '333333333.3333332'],
    [-0.0000033333333333333333, '-0.0000033333333333333333'],
    [1424953923781206.2, '1424953923781206.2'],
  ])('formats %d as in appendix B', (value, text) => {
    expect(formatCanonicalJson(value)).toBe(text);
  });

  it('omits undefined values, and keeps the order of lists', () => {
    expect(formatCanonicalJson({ b: [2, 1], a: undefined })).toBe('{"b":[2,1]}');
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, '\ud800', { '\udead': 1 }, [undefined], 1n])(
    'refuses values without a canonical form (%#)',
    (value) => {
      expect(() => formatCanonicalJson(value)).toThrow(TypeError);
    },
  );
});
