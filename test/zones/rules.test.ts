import { describe, expect, test } from 'vitest';
import { formatZoneIssue } from '../../src/slack/names/zone-issue.view.ts';
import { generalZone } from '../../src/zones/general.ts';
import { type DomainName, parseDomainName } from '../../src/zones/names.ts';
import { restZone } from '../../src/zones/rest.ts';
import {
  checkName,
  checkNameServers,
  checkPeriod,
  checkRegistrable,
  findZoneProfile,
  isInGenericZone,
  listDocumentedZones,
} from '../../src/zones/rules.ts';
import fc from '../support/properties.ts';

function parseName(text: string): DomainName {
  const parsed = parseDomainName(text);
  if (!parsed.ok) throw new Error(parsed.issue.code);
  return parsed.value;
}

function createHosts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `ns${index + 1}.example.net`);
}

test('a name has the profile of its zone, or else the general rules', () => {
  expect(findZoneProfile('cafe.rest')).toBe(restZone);
  expect(findZoneProfile('CAFE.REST.')).toBe(restZone);
  expect(findZoneProfile('rest')).toBe(restZone);
  expect(findZoneProfile('.rest')).toBe(restZone);
  expect(findZoneProfile('cafe.forest')).toBe(generalZone);
  expect(findZoneProfile('rest.com')).toBe(generalZone);
  expect(listDocumentedZones()).toContain(restZone);
});

describe('names in .rest', () => {
  test.each([
    'a.rest',
    'cafe.rest',
    'münchen.rest',
    'straße.rest',
    'ñandú.rest',
    'col·lecció.rest',
    'þorn.rest',
  ])('%s can be registered', (text) => {
    expect(checkName(parseName(text))).toEqual([]);
  });

  test.each([
    ['日本.rest', 'letters that .rest doesn’t allow'],
    ['łódź.rest', 'letters that .rest doesn’t allow'],
    ['œuf.rest', 'letters that .rest doesn’t allow'],
    ['я.rest', 'letters that .rest doesn’t allow'],
    ['a·b.rest', 'letters that .rest doesn’t allow'],
    ['www.cafe.rest', 'www.cafe.rest is a subdomain of cafe.rest'],
    ['ab--cd.rest', 'hyphens in positions 3 and 4'],
  ])('%s can’t be registered: %s', (text, expectedText) => {
    expect(checkName(parseName(text)).map(formatZoneIssue).join(' ')).toContain(expectedText);
  });

  test('the only accepted letters are those of ISO 8859-1', () => {
    for (let code = 0xa0; code <= 0x250; code += 1) {
      const character = String.fromCodePoint(code);
      const parsed = parseDomainName(`a${character}b.rest`);
      if (!parsed.ok || !/^a[^a-z0-9]b\.rest$/.test(parsed.value.unicode)) continue;
      const letter = parsed.value.unicode.codePointAt(1) ?? 0;
      expect([character, checkName(parsed.value).length]).toEqual([
        character,
        letter >= 0xdf && letter <= 0xff ? 0 : 1,
      ]);
    }
  });

  test('every valid name is accepted in other zones', () => {
    expect(checkName(parseName('日本.jp'))).toEqual([]);
    expect(checkName(parseName('a.b.example.co.uk'))).toEqual([]);
  });
});

describe('for registering, watching or renewing,', () => {
  test.each([
    ['www.example.com', 'example.com'],
    ['a.b.example.co.uk', 'example.co.uk'],
    ['www.xn--mnchen-3ya.de', 'münchen.de'],
    ['www.shop.uk.com', 'shop.uk.com'],
    ['www.cafe.example', 'cafe.example'],
    ['www.cafe.rest', 'cafe.rest'],
  ])('%s is a host of %s', (host, registered) => {
    expect(checkRegistrable(parseName(host))).toContainEqual(
      expect.objectContaining({ code: 'subdomain', registered }),
    );
  });

  // Includes a wildcard rule of the public suffix list.
  test.each(['co.uk', 'com.au', 'foo.ck'])('%s is a public suffix', (text) => {
    expect(checkRegistrable(parseName(text))).toEqual([{ code: 'public_suffix', name: text }]);
  });

  test.each([
    'example.com',
    'github.io',
    'example.co.uk',
    'shop.uk.com',
    'cafe.example',
    'xn--53h.com',
    'cafe.rest',
    'uk.com',
  ])('%s is registrable', (text) => {
    expect(checkRegistrable(parseName(text))).toEqual([]);
  });
});

describe('nameservers', () => {
  test('must be as many as the zone accepts', () => {
    for (let count = 0; count <= 9; count += 1) {
      const problems = checkNameServers(restZone, createHosts(count)).map(formatZoneIssue);
      expect([count, problems.length]).toEqual([count, count >= 2 && count <= 7 ? 0 : 1]);
      if (count === 1) expect(problems[0]).toContain('Add more');
      if (count === 8) expect(problems[0]).toContain('Remove some');
    }
  });

  test('can be any number from one if the zone has no rules', () => {
    expect(checkNameServers(generalZone, []).map(formatZoneIssue)).toEqual([
      'A name needs at least 1 nameserver, but you entered 0. Add more.',
    ]);
    for (const count of [1, 13, 14, 40])
      expect(checkNameServers(generalZone, createHosts(count))).toEqual([]);
  });

  test('have a message that says what to change, even if the zone has no maximum', () => {
    expect(formatZoneIssue({ code: 'nameserver_count', given: 1, min: 2 })).toBe(
      'A name needs at least 2 nameservers, but you entered 1. Add more.',
    );
    expect(formatZoneIssue({ code: 'period_out_of_range', min: 1 })).toBe(
      'The period must be a whole number of years, at least 1. Change it.',
    );
  });

  test('must be different, in any spelling', () => {
    const issues = checkNameServers(restZone, ['ns1.example.net', 'NS1.example.net.', 'ns1.example.net']);
    expect(issues).toEqual([{ code: 'nameserver_repeated', host: 'ns1.example.net' }]);
  });

  test('must be valid host names', () => {
    expect(checkNameServers(restZone, ['ns1.example.net', '192.0.2.1', 'ns'])).toEqual([
      { code: 'nameserver_unreadable', issue: { code: 'ip_address', text: '192.0.2.1' } },
      { code: 'nameserver_unreadable', issue: { code: 'no_ending', text: 'ns', example: 'ns.rest' } },
    ]);
  });
});

test.each([
  ['.rest', restZone, [1, 2, 10], [0, -1, 11, 1.5, Number.NaN, Number.POSITIVE_INFINITY]],
  ['other zones', generalZone, [1, 10, 11, 99], [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]],
])(
  'periods in %s must be integers from 1 to any documented maximum',
  (_name, zone, validPeriods, invalidPeriods) => {
    for (const period of validPeriods) expect(checkPeriod(zone, period), String(period)).toEqual([]);
    for (const period of invalidPeriods) expect(checkPeriod(zone, period), String(period)).toHaveLength(1);
  },
);

test('.rest has 18 distinct error codes', () => {
  expect(restZone.errorCodes).toHaveLength(18);
  expect(new Set(restZone.errorCodes).size).toBe(18);
});

test('messages about nameservers are complete sentences', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.domain(), fc.string()), { maxLength: 20 }), (list) => {
      for (const issue of checkNameServers(restZone, list))
        expect(formatZoneIssue(issue)).toMatch(/\. [A-Z].*\.$|^(Nameserver: )?Enter/);
    }),
  );
});

test.each([
  ['cafe.rest', true],
  ['cafe.com', true],
  ['cafe.co.uk', false],
  ['cafe.de', false],
  ['cafe.uk.com', false],
  ['agency.gov', false],
  ['cafe.xn--p1ai', false],
  ['cafe.unheard-of', false],
])('%s is in a generic zone: %s', (name, isGeneric) => {
  expect(isInGenericZone(name)).toBe(isGeneric);
});
