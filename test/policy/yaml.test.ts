import { describe, expect, test } from 'vitest';
import { formatPolicyYaml, MAX_YAML_LENGTH, parsePolicyYaml } from '../../src/policy/yaml.ts';
import { locatedPolicyIssueText } from '../../src/slack/policy/policy-issue.view.ts';
import fc, { runs } from '../support/properties.ts';
import { rules, VOCABULARY } from './arbitraries.ts';

const EXAMPLE = `- rule_name: transfers of the brand
  tasks: [delete, authcode]
  names: ["tag:brand"]
  decision: approve
  approvers: [S0LEGAL, U0CFO]
  needed: 2
  ttl: 48h
- rule_name: large renewals of marketing
  tasks: [renew]
  names: ["*.rest"]
  by: [S0MARKETING]
  over: 100.00
  decision: approve
  approvers: [S0MANAGERS]
- rule_name: redirects are free
  tasks: [redirect]
  names: ["*"]
  decision: free
`;

function listIssueLines(text: string) {
  const read = parsePolicyYaml(text, VOCABULARY);
  return read.ok ? [] : read.issues.map(({ line, code }) => [line, code]);
}

test('a file is parsed, and formatted back unchanged', () => {
  const read = parsePolicyYaml(EXAMPLE, VOCABULARY);
  expect(read.ok ? read.rules.map(({ name, over, needed }) => [name, over?.minor, needed]) : read).toEqual([
    ['transfers of the brand', undefined, 2],
    ['large renewals of marketing', 10_000, 1],
    ['redirects are free', undefined, 1],
  ]);
  expect(read.ok && formatPolicyYaml(read.rules, 'EUR')).toBe(
    EXAMPLE.replace('"tag:brand"', 'tag:brand').replace('48h', '2d'),
  );
});

test.each(['xn--53h.com', '"☕.com"', '" ca\u200bfe.example"', '"*.☕.com"'])(
  'a rule can name %s',
  (name) => {
    expect(parsePolicyYaml(EXAMPLE.replace('"*.rest"', name), VOCABULARY).ok).toBe(true);
  },
);

test.each([
  ['CRLF line ends', EXAMPLE.replaceAll('\n', '\r\n')],
  ['a byte-order mark', `\uFEFF${EXAMPLE}`],
  ['comments and a document start', `# ours\n---\n${EXAMPLE}# end\n`],
  ['block lists', EXAMPLE.replace('[S0LEGAL, U0CFO]', '\n    - S0LEGAL\n    - "U0CFO"')],
])('a file with %s is parsed the same', (_name, text) => {
  expect(parsePolicyYaml(text, VOCABULARY)).toEqual(parsePolicyYaml(EXAMPLE, VOCABULARY));
});

test('an empty file is a policy without rules', () => {
  expect(parsePolicyYaml('', VOCABULARY)).toEqual({ ok: true, rules: [] });
  expect(parsePolicyYaml('# nothing yet\n', VOCABULARY)).toEqual({ ok: true, rules: [] });
  expect(parsePolicyYaml(formatPolicyYaml([], 'EUR'), VOCABULARY)).toEqual({ ok: true, rules: [] });
});

describe('an issue has its line', () => {
  test.each<[name: string, text: string, expected: (string | number)[][]]>([
    [
      'invalid values',
      EXAMPLE.replace('48h', 'soon').replace('100.00', '1,5').replace('decision: free', 'decision: fre'),
      [
        [7, 'not_a_duration'],
        [12, 'not_an_amount'],
        [18, 'unknown_decision'],
      ],
    ],
    [
      'an item of a list',
      EXAMPLE.replace('[S0LEGAL, U0CFO]', '\n    - S0LEGAL\n    - "@cfo"'),
      [[7, 'not_an_id']],
    ],
    ['a missing field, at the line of its rule', EXAMPLE.replace('  tasks: [renew]\n', ''), [[8, 'missing']]],
    ['an unknown field', EXAMPLE.replace('  needed', '  need'), [[6, 'unknown_field']]],
    ['a duplicate field', EXAMPLE.replace('  ttl: 48h', '  ttl: 48h\n  needed: 1'), [[8, 'duplicate_field']]],
    [
      'a duplicate field below another issue',
      EXAMPLE.replace('48h', 'soon').replace('  over: 100.00', '  over: 100.00\n  over: 1'),
      [
        [7, 'not_a_duration'],
        [13, 'duplicate_field'],
      ],
    ],
    ['a map instead of a list', '# ours\nrule_name: x\n', [[2, 'not_a_list_of_rules']]],
    [
      'a list in a list',
      '- rule_name: x\n- [a]\n',
      [
        [1, 'missing'],
        [1, 'missing'],
        [1, 'missing'],
        [2, 'not_a_rule'],
      ],
    ],
    ['broken YAML', EXAMPLE.replace('[renew]', '[renew'), [[10, 'invalid_yaml']]],
    ['an alias', EXAMPLE.replace('"*.rest"', '*all'), [[10, 'alias']]],
    ['an unquoted star', EXAMPLE.replace('"*.rest"', '*.rest'), [[10, 'alias']]],
    ['an alias after multiline text', '- rule_name: |\n    a\n    b\n\n  tasks: *x\n', [[5, 'alias']]],
    ['an anchor', EXAMPLE.replace('[renew]', '&a [renew]'), [[9, 'alias']]],
    ['a tag', EXAMPLE.replace('100.00', '!!float 100.00'), [[12, 'tag']]],
    ['a misspelled tag', EXAMPLE.replace('100.00', '!js/function x'), [[12, 'tag']]],
    ['a directive', `%TAG ! !foo\n---\n${EXAMPLE}`, [[1, 'directive']]],
    ['two documents', `${EXAMPLE}---\n${EXAMPLE}`, [[19, 'multiple_documents']]],
  ])('%s', (_name, text, expected) => {
    expect(listIssueLines(text)).toEqual(expected);
  });

  test('and a sentence that says how to fix it', () => {
    const read = parsePolicyYaml(EXAMPLE.replace('48h', 'soon'), VOCABULARY);
    expect(read.ok ? [] : read.issues.map(locatedPolicyIssueText)).toEqual([
      'Line 7, rule “transfers of the brand”, field “ttl”: “soon” isn’t a duration. Write it like these: 90s, 15m, 48h, 7d.',
    ]);
    const star = parsePolicyYaml('- names: [*.rest]\n', VOCABULARY);
    expect(star.ok ? [] : star.issues.map(locatedPolicyIssueText)).toEqual([
      'Line 1: “*.rest” is a YAML anchor or alias. Write its value instead. Put text that starts with * or & in quotes, such as "*.rest".',
    ]);
  });
});

// Without the lexer's check, the first three crash the process or overflow its stack.
test.each([
  ['nested lists', '['.repeat(100_000), 'nested_too_deep'],
  ['nested items', '- '.repeat(60_000), 'nested_too_deep'],
  ['nested keys', '? '.repeat(60_000), 'nested_too_deep'],
  ['nested maps', '{a: '.repeat(30_000), 'nested_too_deep'],
  ['nested values', 'a: '.repeat(40_000), 'nested_too_deep'],
  [
    'ever deeper indents',
    Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
    'nested_too_deep',
  ],
  ['files over the size limit', ' '.repeat(MAX_YAML_LENGTH + 1), 'file_too_large'],
  ['too many tokens', '[]'.repeat(60_000), 'file_too_large'],
  ['nested aliases', '- &a [x, x]\n- &b [*a, *a]\n- &c [*b, *b]\n', 'alias'],
])('%s are refused', (_name, text, code) => {
  expect(listIssueLines(text)).toMatchObject([[expect.any(Number), code]]);
});

test.each([
  ['five nested lists', '[[[[]]]]', '[[[[[]]]]]', 'nested_too_deep'],
  ['four list items in a line', '- - - - a', '- - - - - a', 'nested_too_deep'],
  ['an indent of 40 spaces', `a:\n${' '.repeat(40)}b`, `a:\n${' '.repeat(41)}b`, 'nested_too_deep'],
  [
    'the largest file',
    `#${' '.repeat(MAX_YAML_LENGTH - 1)}`,
    `#${' '.repeat(MAX_YAML_LENGTH)}`,
    'file_too_large',
  ],
  ['the largest number of tokens', '#\n'.repeat(30_000), '#\n'.repeat(30_001), 'file_too_large'],
])('%s is accepted, and one more is refused', (_name, allowed, more, code) => {
  const codes = [allowed, more].map((text) => listIssueLines(text).some(([, found]) => found === code));
  expect(codes).toEqual([false, true]);
});

test('a line can have long text and long runs of spaces', () => {
  const text = `# ${'x'.repeat(60)}\n${'['.padEnd(60)}]`;
  expect(parsePolicyYaml(text, VOCABULARY)).toEqual({ ok: true, rules: [] });
});

test.each([
  ['a prototype property', EXAMPLE.replace('  ttl', '  __proto__')],
  ['a list', EXAMPLE.replace('  ttl: 48h', '  ? [a]\n  : x')],
])('%s as a key is refused', (_name, text) => {
  expect(listIssueLines(text)).toEqual([[7, 'invalid_key']]);
});

describe('with random texts', () => {
  const named = fc.oneof(
    fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' }),
    fc.constantFrom(
      'true',
      '12',
      '1e3',
      '- a',
      '# a',
      'a: b',
      '*',
      '&a',
      '!x',
      '"',
      "'",
      '{',
      'null',
      '~',
      '---',
      '%a',
      '@',
      'a #b',
    ),
  );

  test('formatted rules are parsed back unchanged', () => {
    fc.assert(
      fc.property(rules, fc.array(named, { minLength: 7, maxLength: 7 }), (list, names) => {
        const written = list.map((rule, index) => ({
          ...rule,
          // Valid names are distinct, trimmed, and have no invisible characters.
          name: `${(names[index] ?? '').replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()}${index}`,
          needed: rule.decision === 'approve' ? Math.min(rule.needed, rule.approvers.length) : 1,
        }));
        expect(parsePolicyYaml(formatPolicyYaml(written, 'EUR'), VOCABULARY)).toEqual({
          ok: true,
          rules: written,
        });
      }),
      { numRuns: 300 },
    );
  });

  test('any text returns rules, or issues with an existing line', () => {
    const piece = fc.constantFrom(
      ...[
        '- ',
        'rule_name: ',
        'tasks: ',
        '[',
        ']',
        '{',
        '}',
        '"',
        "'",
        '\n',
        '  ',
        ': ',
        '#',
        '|',
        '>',
        ',',
        'x',
        '? ',
        '\t',
        '\u0000',
        '---\n',
        '...\n',
      ],
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 40 }).map((all) => all.join('')),
          fc.string(),
        ),
        (text) => {
          const read = parsePolicyYaml(text, VOCABULARY);
          for (const { line } of read.ok ? [] : read.issues) {
            expect(line).toBeGreaterThanOrEqual(1);
            expect(line).toBeLessThanOrEqual(text.split('\n').length);
          }
        },
      ),
      { numRuns: runs(5_000) },
    );
  });
});
