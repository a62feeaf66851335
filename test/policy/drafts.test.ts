import { expect, test } from 'vitest';
import { moveRuleUp, removeRule } from '../../src/policy/drafts.ts';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { newPolicyRule } from './sample.ts';

const RULES = ['a', 'b', 'c', 'd'].map((name) => newPolicyRule({ name }));
const joinNames = (rules: readonly PolicyRule[] | undefined) => rules?.map(({ name }) => name).join('');

test.each([
  [1, 'a', undefined],
  [2, 'b', 'bacd'],
  [3, 'c', 'acbd'],
  [4, 'd', 'abdc'],
  [2, 'c', undefined],
  [5, 'e', undefined],
])('moving rule %i (%s) up returns %s', (position, name, expectedNames) => {
  expect(joinNames(moveRuleUp(RULES, position, name))).toBe(expectedNames);
});

test.each([
  ['a', 'bcd'],
  ['c', 'abd'],
  ['e', undefined],
])('removing rule %s returns %s', (name, expectedNames) => {
  expect(joinNames(removeRule(RULES, name))).toBe(expectedNames);
});
