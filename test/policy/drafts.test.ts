import { expect, test } from 'vitest';
import { moveRuleUp, removeRule } from '../../src/policy/drafts.ts';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { rule } from './sample.ts';

const RULES = ['a', 'b', 'c', 'd'].map((name) => rule({ name }));
const namesOf = (rules: readonly PolicyRule[] | undefined) => rules?.map(({ name }) => name).join('');

test.each([
  [1, 'a', undefined],
  [2, 'b', 'bacd'],
  [3, 'c', 'acbd'],
  [4, 'd', 'abdc'],
  [2, 'c', undefined],
  [5, 'e', undefined],
])('moving up rule %i named %s returns %s', (position, name, moved) => {
  expect(namesOf(moveRuleUp(RULES, position, name))).toBe(moved);
});

test.each([
  ['a', 'bcd'],
  ['c', 'abd'],
  ['e', undefined],
])('removing rule %s returns %s', (name, kept) => {
  expect(namesOf(removeRule(RULES, name))).toBe(kept);
});
