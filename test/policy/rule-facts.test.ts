import { expect, test } from 'vitest';
import { evaluatePolicy, type PolicyFacts, type PolicySettings } from '../../src/policy/evaluate.ts';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { type FactSources, loadRuleFacts, type PolicyQuery } from '../../src/policy/rule-facts.ts';
import { newPolicyRule } from './sample.ts';

const ORDER: PolicyQuery = {
  task: 'renew',
  names: ['cafe.rest', 'bar.rest'],
  requester: 'U0ANNA',
  usesTeamAccount: false,
  input: { period: 1 },
  taskFacts: { effect: 'charge', risk: 'none', nameKind: 'host' },
  isFree: () => false,
};
const SETTINGS: PolicySettings = {
  approvalTasks: [],
  approvers: ['U0BOSS'],
  silentApprovers: [],
  approvalsRequired: 1,
  ttlMs: 1,
  remindAfterMs: 1,
  escalateAfterMs: 1,
  escalateTo: [],
  signed: false,
};
const EUR = (minor: number) => ({ currency: 'EUR', minor });
const prices: PolicyFacts['prices'] = new Map([['cafe.rest', EUR(1_200)]]);

function recordSources(known: Partial<FactSources['directory'] & FactSources['ruleFacts']> = {}) {
  const calls: string[] = [];
  const from: FactSources = {
    directory: {
      listGroupMembers: (id) => {
        calls.push(id);
        return known.listGroupMembers?.(id) ?? Promise.resolve(['U0ANNA']);
      },
    },
    ruleFacts: {
      currency: 'EUR',
      loadPrices: async (order) => {
        calls.push('prices');
        return known.loadPrices?.(order) ?? prices;
      },
      loadTags: async (names) => {
        calls.push('tags');
        return known.loadTags?.(names) ?? new Map();
      },
    },
  };
  return { from, calls };
}

const loadFacts = (from: FactSources, rules: readonly PolicyRule[], order = ORDER) =>
  loadRuleFacts(from, rules, order);

test('loads only the facts that rules use, and each group once', async () => {
  const { from, calls } = recordSources();
  await loadFacts(from, [newPolicyRule({ approvers: ['S0LEGAL'], escalateTo: ['S0BOARD'] })]);
  expect(calls).toEqual([]);
  await loadFacts(from, [
    newPolicyRule({ by: ['S0SALES', 'U0BOB'], names: ['tag:brand'] }),
    newPolicyRule({ by: ['S0SALES'], over: EUR(1) }),
  ]);
  expect(calls.sort()).toEqual(['S0SALES', 'prices', 'tags']);
});

test('omits unknown facts, which count against the order', async () => {
  const { from } = recordSources({ listGroupMembers: async () => undefined });
  const rules = [newPolicyRule({ by: ['S0SALES'], names: ['tag:brand'], over: EUR(1_000_000) })];
  const facts = await loadFacts(from, rules);
  expect(facts.groupMembers.size).toBe(0);
  expect(facts.tags.size).toBe(0);
  expect([...facts.prices]).toEqual([['cafe.rest', EUR(1_200)]]);
  const { requirements, unknowns } = evaluatePolicy({ version: 1, rules }, SETTINGS, ORDER, facts);
  expect(requirements.outcome).toBe('approve');
  expect(unknowns.map(({ kind }) => kind).sort()).toEqual(['group', 'price', 'tags', 'tags']);
});

test('loads the tags of a redirect’s host and its parents, but none for an ID', async () => {
  const calls: string[] = [];
  const loadTags = async (hosts: readonly string[]) => {
    calls.push(...hosts);
    return new Map(hosts.map((host) => [host, host === 'brand.rest' ? ['brand'] : []]));
  };
  const { from } = recordSources({ loadTags });
  const rules = [newPolicyRule({ names: ['tag:brand', 'brand.rest'], decision: 'refuse' })];
  const evaluateOutcome = async (name: string, nameKind: 'host' | 'id') => {
    const order = { ...ORDER, names: [name], taskFacts: { ...ORDER.taskFacts, nameKind } };
    const facts = await loadFacts(from, rules, order);
    return evaluatePolicy({ version: 1, rules }, SETTINGS, order, facts).requirements.outcome;
  };
  expect(await evaluateOutcome('info@shop.brand.rest', 'host')).toBe('refuse');
  expect(calls).toEqual(['shop.brand.rest', 'brand.rest']);
  expect(await evaluateOutcome('shop.brand.rest', 'id')).toBe('free');
  expect(calls).toHaveLength(2);
});

test('prices free tasks at zero, so they exceed no amount', async () => {
  const { from } = recordSources({ loadPrices: async () => new Map() });
  const rules = [newPolicyRule({ over: EUR(0) })];
  const free = { ...ORDER, isFree: () => true };
  const facts = await loadFacts(from, rules, free);
  expect([...facts.prices.values()]).toEqual([EUR(0), EUR(0)]);
  expect(evaluatePolicy({ version: 1, rules }, SETTINGS, free, facts).requirements.outcome).toBe('free');
});
