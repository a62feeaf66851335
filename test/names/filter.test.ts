import { describe, expect, test } from 'vitest';
import {
  hasFindingFilter,
  isNone,
  matchesDepartedOwners,
  NO_FILTER,
  parseFilter,
} from '../../src/names/filter.ts';

describe('a filter', () => {
  test.each([
    ['', {}],
    ['tag:brand tag:#Client,acme', { tags: ['brand', 'client', 'acme'] }],
    ['owner:@ada owner:U0BOB', { owners: ['@ada', 'U0BOB'] }],
    ['zone:.rest zone:*.example', { zones: ['rest', 'example'] }],
    ['registrar:“Sandbox Registrar”', { registrars: ['Sandbox Registrar'] }],
    ['expiring<60', { expiresWithinDays: 60 }],
    ['expiring<36500', { expiresWithinDays: 36_500 }],
    ['expiring>10 expiring<90', { expiresAfterDays: 10, expiresWithinDays: 90 }],
    ['x'.repeat(800), { texts: ['x'.repeat(800)] }],
    ['expired unused', { expiresWithinDays: 0, isUnused: true }],
    ['Undated', { findingWords: ['undated'] }],
    ['unlocked finding:no_caa,Expired', { findingWords: ['unlocked'], findingCodes: ['no_caa', 'expired'] }],
    ['sort:-name Cafe', { sort: '-name', texts: ['cafe'] }],
    ['"legal first"', { texts: ['legal first'] }],
  ])('parses “%s”', (text, expected) => {
    expect(parseFilter(text)).toEqual({ ok: true, filter: { ...NO_FILTER, ...expected } });
  });

  test.each([
    ['tagg:brand', [{ code: 'unknown_filter', key: 'tagg', word: 'tagg:brand' }]],
    [
      'tag: zone:,',
      [
        { code: 'missing_value', key: 'tag' },
        { code: 'missing_value', key: 'zone' },
      ],
    ],
    [':x', [{ code: 'unknown_filter', key: '', word: ':x' }]],
    ['expiring<36501', [{ code: 'invalid_days', word: 'expiring<36501' }]],
    ['expiring<soon', [{ code: 'invalid_days', word: 'expiring<soon' }]],
    ['expiring<99999', [{ code: 'invalid_days', word: 'expiring<99999' }]],
    ['sort:age', [{ code: 'unknown_sort', value: 'age' }]],
    ['finding:lamer', [{ code: 'unknown_finding', value: 'lamer' }]],
    ['x'.repeat(801), [{ code: 'too_long' }]],
  ])('refuses “%s” with a reason', (text, issues) => {
    expect(parseFilter(text)).toEqual({ ok: false, issues });
  });
});

test.each([
  ['cafe', false],
  ['unlocked', true],
  ['finding:expired', true],
  ['unlocked finding:expired', true],
  ['cert<30', true],
])('hasFindingFilter for “%s” returns %s', (text, expected) => {
  const parsed = parseFilter(text);
  expect(parsed.ok && hasFindingFilter(parsed.filter)).toBe(expected);
});

test('the owner filters “none” and “left” ignore case', () => {
  expect([
    isNone('None'),
    isNone('left'),
    matchesDepartedOwners('Left'),
    matchesDepartedOwners('none'),
  ]).toEqual([true, false, true, false]);
});
