import { describe, expect, test } from 'vitest';
import { parseRules, type SerializedRule, serializeRule } from '../../src/policy/rule-text.ts';
import { locatedPolicyIssueText } from '../../src/slack/policy/policy-issue.view.ts';
import fc, { runs } from '../support/properties.ts';
import { rules, VOCABULARY } from './arbitraries.ts';

const VALID = {
  rule_name: 'renewals',
  tasks: ['renew'],
  names: ['*.rest'],
  decision: 'approve',
  approvers: ['S0LEGAL', 'U0CFO'],
};

function listIssues(fields: Readonly<Record<string, unknown>>) {
  const read = parseRules([{ ...VALID, ...fields }], VOCABULARY);
  return read.ok ? [] : read.issues;
}

test('a rule with every field is parsed', () => {
  const read = parseRules(
    [
      {
        ...VALID,
        tasks: 'renew, CREATE risk',
        names: ['*.REST', 'Café.rest', 'tag:Brand', 'cafe.rest.'],
        by: ['<@U0ANNA|anna>', '<!subteam^S0SALES|@sales>', 'U0ANNA'],
        over: '100.5',
        silent: 'U0CEO, S0BOARD',
        needed: '2',
        ttl: '48h',
        remind_after: '90m',
        escalate_after: '1d',
        escalate_to: 'U0CEO',
        break_glass: 'true',
      },
    ],
    VOCABULARY,
  );
  expect(read).toEqual({
    ok: true,
    rules: [
      {
        name: 'renewals',
        tasks: ['renew', 'create', 'risk'],
        names: ['*.rest', 'xn--caf-dma.rest', 'tag:brand', 'cafe.rest'],
        by: ['U0ANNA', 'S0SALES'],
        over: { currency: 'EUR', minor: 10_050 },
        decision: 'approve',
        approvers: ['S0LEGAL', 'U0CFO'],
        silent: ['U0CEO', 'S0BOARD'],
        needed: 2,
        ttlMs: 172_800_000,
        remindAfterMs: 5_400_000,
        escalateAfterMs: 86_400_000,
        escalateTo: ['U0CEO'],
        breakGlass: true,
        signed: false,
      },
    ],
  });
});

test.each<[field: string, value: unknown, code: string, sentence: string]>([
  ['rule_name', '', 'missing', '“rule_name” is missing. Add it, for example: transfers of the brand'],
  ['rule_name', 'a\u200bb', 'invalid_name', 'an invisible character'],
  ['rule_name', 'x'.repeat(81), 'name_too_long', '81 characters. Use at most 80'],
  ['rule_name', ['a', 'b'], 'multiple_values', 'can have only one value'],
  ['tasks', [], 'missing', 'for example: all'],
  ['tasks', ['renew', 'renw'], 'unknown_task', 'Unknown task “renw”. Tasks: create, renew'],
  ['names', ['ca fe.rest'], 'unreadable_pattern', 'Use one of these: *, *.rest, cafe.rest, tag:brand'],
  ['names', ['*.*.rest'], 'unreadable_pattern', '“*.*.rest” isn’t a name pattern'],
  ['names', ['c*.rest'], 'unreadable_pattern', '“c*.rest” isn’t a name pattern'],
  ['names', ['tag:'], 'unreadable_pattern', '“tag:” isn’t a name pattern'],
  ['by', ['@marketing'], 'not_an_id', 'U0CFO for a person or S0LEGAL for a group'],
  ['by', 5, 'not_text', 'must be text or a list of texts'],
  ['over', '1,000', 'not_an_amount', 'Write it like 100.00, with a point before the decimals'],
  ['over', '-5', 'not_an_amount', '“-5” isn’t an amount'],
  ['over', '1e3', 'not_an_amount', '“1e3” isn’t an amount'],
  ['over', '10.001', 'too_precise', 'more decimals than its currency'],
  ['over', '100.50 JPY', 'too_precise', 'Write it like 100.'],
  ['over', '99999999999999', 'too_large', 'Use a smaller amount'],
  ['over', '100 XQX', 'unknown_currency', '100.00 EUR'],
  ['decision', 'allow', 'unknown_decision', 'Use one of these: free, approve, refuse'],
  ['decision', '', 'missing', '“decision” is missing'],
  ['decision', 'free', 'not_for_this_decision', '“approvers” is only for rules with “decision: approve”'],
  ['approvers', [], 'missing', '“approvers” is missing'],
  ['needed', '0', 'invalid_count', 'Use a whole number: 1, 20'],
  ['needed', '21', 'invalid_count', 'Use a whole number: 1, 20'],
  ['needed', '2.5', 'invalid_count', 'Use a whole number'],
  ['ttl', '2 weeks', 'not_a_duration', 'Write it like these: 90s, 15m, 48h, 7d'],
  ['break_glass', 'yes', 'not_true_or_false', 'must be true or false'],
  ['approver', ['U0CFO'], 'unknown_field', 'Fields: “rule_name”, “tasks”, “names”'],
])('%s: %j is reported as %s', (field, value, code, sentence) => {
  const issues = listIssues({ [field]: value });
  expect(issues.map((issue) => [issue.field, issue.code])).toContainEqual([
    code === 'not_for_this_decision' ? 'approvers' : field,
    code,
  ]);
  expect(issues.map(locatedPolicyIssueText).join('\n')).toContain(sentence);
});

test.each([
  { rule_name: 'x'.repeat(80) },
  { needed: '1' },
  { needed: '20' },
  { ttl: '2h', remind_after: '119m', escalate_after: '119m' },
])('%j is accepted', (fields) => {
  expect(listIssues(fields)).toEqual([]);
});

test('contradictory fields are reported', () => {
  expect(listIssues({ approvers: ['U0CFO', 'U0CEO'], needed: '3' })).toMatchObject([
    { field: 'needed', code: 'more_than_approvers', ruleName: 'renewals', given: '3', suggestions: ['2'] },
  ]);
  expect(listIssues({ needed: '9' })).toEqual([]);
  expect(listIssues({ ttl: '2h', remind_after: '2h', escalate_after: '1h' })).toMatchObject([
    { field: 'remind_after', code: 'not_before_ttl' },
  ]);
});

test('all issues are reported at once, each with its rule', () => {
  const read = parseRules(
    [{ ...VALID, ttl: 'soon', needed: 'two' }, 'no rule', { ...VALID, rule_name: 'Renewals', over: 'much' }],
    VOCABULARY,
  );
  expect(read.ok ? [] : read.issues.map(({ path, code, ruleName }) => [path, code, ruleName])).toEqual([
    [[0, 'needed'], 'invalid_count', 'renewals'],
    [[0, 'ttl'], 'not_a_duration', 'renewals'],
    [[1], 'not_a_rule', undefined],
    [[2, 'over'], 'not_an_amount', 'Renewals'],
    [[2, 'rule_name'], 'name_taken', 'Renewals'],
  ]);
});

test('too many rules or list items are refused', () => {
  const many = Array.from({ length: 501 }, (_, index) => ({ ...VALID, rule_name: `rule ${index}` }));
  expect(parseRules(many, VOCABULARY)).toMatchObject({ ok: false, issues: [{ code: 'too_many_rules' }] });
  expect(parseRules(many.slice(1), VOCABULARY).ok, '500 rules').toBe(true);
  const ids = Array.from({ length: 101 }, (_, index) => `U0${index}`);
  expect(listIssues({ approvers: ids })).toMatchObject([{ field: 'approvers', code: 'too_many_items' }]);
  expect(listIssues({ approvers: ids.slice(1) })).toEqual([]);
});

describe('with random rules', () => {
  test('a serialized rule is parsed back unchanged', () => {
    fc.assert(
      fc.property(rules, fc.constantFrom('EUR', 'JPY', 'BHD'), (list, currency) => {
        const possible = list.map((rule) => ({
          ...rule,
          needed: rule.decision === 'approve' ? Math.min(rule.needed, rule.approvers.length) : 1,
        }));
        const texts = possible.map((rule) => serializeRule(rule, currency));
        const stored: SerializedRule[] = JSON.parse(JSON.stringify(texts));
        expect(parseRules(stored, { ...VOCABULARY, currency })).toEqual({ ok: true, rules: possible });
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('any input returns a result, and every issue has a complete sentence', () => {
    const field = fc.constantFrom(
      'rule_name',
      'tasks',
      'names',
      'by',
      'over',
      'decision',
      'needed',
      'ttl',
      'x',
    );
    const value = fc.oneof(
      fc.string(),
      fc.array(fc.string(), { maxLength: 3 }),
      fc.constantFrom('*', 'approve', 'free', '*.', 'tag:', '1.', 'U0', '<@U0A'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(field, value), { maxLength: 3 })),
        (input) => {
          const read = parseRules(input, VOCABULARY);
          for (const issue of read.ok ? [] : read.issues) {
            const sentence = locatedPolicyIssueText(issue);
            expect(sentence).not.toMatch(/undefined|\[object|: \.$/);
          }
        },
      ),
      { numRuns: runs(3_000) },
    );
  });
});
