import { describe, expect, test } from 'vitest';
import { decodeJsonBody, decodeXmlBody, parseJson } from '../../src/http/text.ts';
import fc from '../support/properties.ts';

const newXml = (encoding: string, bytes: readonly number[]) =>
  Buffer.concat([Buffer.from(`<?xml version="1.0" encoding="${encoding}"?><a>`), Buffer.from(bytes)]);
const read = (body: Buffer, contentType?: string) => decodeXmlBody(body, contentType)?.replace(/^.*<a>/, '');

describe('decoding XML', () => {
  test.each([
    ['windows-1252', [0x80, 0x92, 0xe9], '€’é'],
    ['Windows-1252', [0x80], '€'],
    ['cp1252', [0x80], '€'],
    ['ISO-8859-1', [0xfc], 'ü'],
    ['iso-8859-15', [0xa4], '€'],
    ['windows-1251', [0xcf], 'П'],
    ['koi8-r', [0xf0], 'П'],
    ['Shift_JIS', [0x93, 0xfa], '日'],
    ['gb18030', [0xc8, 0xd5], '日'],
    ['big5', [0xa4, 0xe9], '日'],
    ['euc-kr', [0xc0, 0xcf], '일'],
    ['us-ascii', [0x41], 'A'],
    // A declaration that is readable as ASCII can't be UTF-16.
    ['UTF-16', [0x41], 'A'],
  ])('supports the declaration %s', (encoding, bytes, text) => {
    expect(read(newXml(encoding, bytes))).toBe(text);
  });

  test('prefers the byte-order mark to the content type, and the content type to the declaration', () => {
    const euro = newXml('windows-1252', [0xe2, 0x82, 0xac]);
    expect(read(euro, 'text/xml; charset="utf-8"')).toBe('€');
    expect(read(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), euro]), 'text/xml; charset=koi8-r')).toBe(
      '€',
    );
    expect(read(newXml('windows-1252', [0x80]), 'text/xml; charset=utf8mb4'), 'an unknown charset').toBe('€');
  });

  test.each(['cp037', 'utf-7', 'x-unknown'])('returns undefined for %s', (encoding) => {
    expect(decodeXmlBody(newXml(encoding, [0x41]), 'text/xml')).toBeUndefined();
  });
});

describe('decoding JSON', () => {
  test.each<[string, Buffer, string | undefined, string]>([
    ['UTF-8 with a wrong content type', Buffer.from('"€"'), 'application/json; charset=iso-8859-1', '"€"'],
    ['another charset', Buffer.from([0x22, 0x80, 0x22]), 'application/json; charset=windows-1252', '"€"'],
    ['UTF-16 with a byte-order mark', Buffer.from('\ufeff"€"', 'utf16le'), undefined, '"€"'],
    [
      'UTF-16 without a byte-order mark',
      Buffer.from('{"€":1}', 'utf16le').swap16(),
      'application/json',
      '{"€":1}',
    ],
    ['UTF-8 with a byte-order mark', Buffer.from('\ufeff"€"'), undefined, '"€"'],
  ])('supports %s', (_what, body, contentType, text) => {
    expect(decodeJsonBody(body, contentType)).toBe(text);
  });

  test.each([
    ['9007199254740993', '9007199254740993'],
    ['12345678901234567890', '12345678901234567890'],
    ['-12345678901234567890', '-12345678901234567890'],
    ['12.10', '12.10'],
    ['0.1000000000000000055', '0.1000000000000000055'],
    ['1e400', '1e400'],
    ['1.0E+2', '1.0E+2'],
    ['-0', '-0'],
    ['9007199254740991', 9_007_199_254_740_991],
    ['12.1', 12.1],
    ['-1', -1],
    ['"12.10"', '12.10'],
    ['"a \\" 12.10 \\\\"', 'a " 12.10 \\'],
    ['[1, 2.0,{"3.0":"4.0","x":5.0}]', [1, '2.0', { '3.0': '4.0', x: '5.0' }]],
  ])('keeps every digit of %s', (json, value) => {
    expect(parseJson(json)).toEqual(value);
  });

  test('matches JSON.parse for other values', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const value: unknown = JSON.parse(json);
        const exact = JSON.stringify(value);
        expect(parseJson(exact)).toEqual(JSON.parse(exact));
      }),
    );
  });

  test.each(['01', '1.', '{"a":1', '"\n"', '+1', 'NaN', "'a'", ''])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });

  test('parses a string of two megabytes', () => {
    const long = 'x\\"'.repeat(700_000);
    expect(parseJson(`{"a":"${long}","b":1.0}`)).toMatchObject({ b: '1.0' });
  });
});
