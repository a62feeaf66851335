import { describe, expect, test } from 'vitest';
import { ORDER_TASK_NAMES } from '../../src/orders/order.ts';
import { getOrderTask, ORDER_TASKS } from '../../src/orders/tasks.ts';
import { diffPolicies } from '../../src/policy/diff.ts';
import { evaluatePolicy, type PolicySettings } from '../../src/policy/evaluate.ts';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import { comparePastOrders, type PastOrder } from '../../src/policy/replay.ts';
import { describeRule } from '../../src/policy/rule-parts.ts';
import { parseRules } from '../../src/policy/rule-text.ts';
import {
  fillStartingPoint,
  getStartingPoint,
  STARTING_POINT_NAMES,
  type StartingPoint,
} from '../../src/policy/starting-points.ts';
import fc, { runs } from '../support/properties.ts';
import { orderWithFacts, policy, rules, settings } from './arbitraries.ts';
import { newPolicyRule as sampleRule } from './sample.ts';

const rule = (name: string, fields: Partial<PolicyRule> = {}) =>
  sampleRule({ name, tasks: ['renew'], ...fields });

const createEvaluator =
  (version: Policy, current: PolicySettings) =>
  ({ order, facts }: PastOrder) =>
    evaluatePolicy(version, current, order, facts).requirements;

describe('diffing two versions', () => {
  const [a, b, c, d] = [rule('a'), rule('b'), rule('c'), rule('d')];

  test('returns nothing for the same rules', () => {
    expect(diffPolicies([a, b], [a, b], 'EUR')).toEqual([]);
  });

  test('lists added and removed rules', () => {
    expect(diffPolicies([a, b], [b, c], 'EUR')).toEqual([
      { kind: 'removed', rule: a, from: 1 },
      { kind: 'added', rule: c, to: 2 },
    ]);
  });

  test('lists as few moves as possible', () => {
    expect(diffPolicies([a, b, c, d], [d, a, b, c], 'EUR')).toEqual([
      { kind: 'moved', rule: d, from: 4, to: 1 },
    ]);
    expect(diffPolicies([a, b], [b, a], 'EUR')).toEqual([{ kind: 'moved', rule: a, from: 1, to: 2 }]);
  });

  test('lists changed fields as they are written in a file', () => {
    const changed = rule('a', {
      needed: 2,
      over: { currency: 'EUR', minor: 5_000 },
      approvers: ['S0A', 'U0CFO'],
    });
    expect(diffPolicies([a], [changed], 'EUR')).toEqual([
      {
        kind: 'changed',
        rule: changed,
        to: 1,
        fields: [
          { field: 'over', before: [], after: ['50.00'] },
          { field: 'approvers', before: ['U0CFO'], after: ['S0A', 'U0CFO'] },
          { field: 'needed', before: [], after: ['2'] },
        ],
      },
    ]);
  });

  test.each<[field: string, change: Partial<PolicyRule>]>([
    ['tasks', { tasks: ['create'] }],
    ['names', { names: ['*.rest'] }],
    ['by', { by: ['U0ANNA'] }],
    ['ttl', { ttlMs: 60_000 }],
    ['remind_after', { remindAfterMs: 60_000 }],
    ['escalate_after', { escalateAfterMs: 60_000 }],
    ['escalate_to', { escalateTo: ['U0CEO'] }],
    ['break_glass', { breakGlass: true }],
  ])('lists only %s if only that changed', (field, change) => {
    const [firstChange] = diffPolicies([a], [rule('a', change)], 'EUR');
    expect(firstChange?.kind === 'changed' && firstChange.fields.map((each) => each.field)).toEqual([field]);
  });

  test('lists enough to rebuild the new version, for random versions', () => {
    fc.assert(
      fc.property(rules, rules, fc.func(fc.boolean()), (before, after, keep) => {
        const named = after.map((each, index) => ({
          ...each,
          name: keep(index) ? each.name : `new ${index}`,
        }));
        const changes = diffPolicies(before, named, 'EUR');
        const removed = changes.flatMap((change) => (change.kind === 'removed' ? [change.rule.name] : []));
        const positions = changes.flatMap((change) =>
          change.kind === 'added' || change.kind === 'moved' ? [[change.to, change.rule.name] as const] : [],
        );
        const moved = new Set(positions.map(([, name]) => name));
        const rebuilt = before
          .map(({ name }) => name)
          .filter((name) => !removed.includes(name) && !moved.has(name));
        for (const [to, name] of positions.toSorted(([x], [y]) => x - y)) rebuilt.splice(to - 1, 0, name);
        expect(rebuilt).toEqual(named.map(({ name }) => name));
        const old = new Map(before.map((each) => [each.name, each]));
        for (const each of named) {
          const isChanged = changes.some(
            ({ kind, rule: other }) => kind === 'changed' && other.name === each.name,
          );
          const previous = old.get(each.name);
          if (!isChanged && previous !== undefined) expect(each).toEqual(previous);
        }
      }),
      { numRuns: runs(2_000) },
    );
  });
});

test('a rule is described part by part', () => {
  const described = describeRule(
    rule('x', {
      tasks: ['renew', 'charge'],
      names: ['*.rest', 'tag:brand', 'cafe.rest'],
      by: ['S0MARKETING', 'U0ANNA'],
    }),
  );
  expect(described).toMatchObject({
    tasks: [{ kind: 'task', task: 'renew' }, { kind: 'charge' }],
    names: [
      { kind: 'under', parent: 'rest' },
      { kind: 'tag', tag: 'brand' },
      { kind: 'name', name: 'cafe.rest' },
    ],
    by: [
      { kind: 'group', id: 'S0MARKETING' },
      { kind: 'user', id: 'U0ANNA' },
    ],
    approvers: [{ kind: 'user', id: 'U0CFO' }],
  });
  const all = describeRule(rule('x', { tasks: ['renew', 'all'], names: ['*', 'cafe.rest'] }));
  expect(all).toMatchObject({ tasks: [{ kind: 'all' }], names: [{ kind: 'all' }] });
});

describe('replaying past orders under a draft', () => {
  const options = {
    approvalTasks: ['renew'],
    approvers: ['U0BOSS'],
    silentApprovers: [],
    approvalsRequired: 1,
    ttlMs: 1,
    remindAfterMs: 1,
    escalateAfterMs: 1,
    escalateTo: [],
    signed: false,
  };
  const facts = {
    task: { effect: 'charge', risk: 'none', nameKind: 'host' },
    tags: new Map(),
    groupMembers: new Map(),
    prices: new Map(),
  } as const;
  const past = ['a.rest', 'b.rest', 'c.rest', 'd.rest', 'e.rest'].map((name) => {
    const order = { task: 'renew', names: [name], requester: 'U0ANNA', usesTeamAccount: false };
    return {
      orderId: name,
      order,
      facts,
      requirements: evaluatePolicy({ version: 1, rules: [] }, options, order, facts).requirements,
    };
  });

  test('counts orders by how their requirements would change', () => {
    const draft = [
      rule('free', { names: ['a.rest'], decision: 'free', approvers: [] }),
      rule('refused', { names: ['b.rest'], decision: 'refuse', approvers: [] }),
      rule('more', { names: ['c.rest'], approvers: ['U0BOSS'], needed: 2 }),
      rule('others', { names: ['d.rest'], approvers: ['U0CFO'] }),
      rule('the same in a rule', { names: ['e.rest'], approvers: ['U0BOSS'] }),
    ];
    const result = comparePastOrders(createEvaluator({ version: 2, rules: draft }, options), past);
    expect(result).toMatchObject({
      totalCount: 5,
      unchangedCount: 1,
      changeCounts: { stricter: 2, looser: 1, other: 1 },
      outcomeChangeCounts: { 'approve→free': 1, 'approve→refuse': 1 },
    });
    expect(result.changedOrders.map(({ orderId, change }) => [orderId, change])).toEqual([
      ['a.rest', 'looser'],
      ['b.rest', 'stricter'],
      ['c.rest', 'stricter'],
      ['d.rest', 'other'],
    ]);
  });

  test('finds no change under the policy that decided them', () => {
    fc.assert(
      fc.property(
        policy,
        settings,
        fc.array(orderWithFacts, { maxLength: 5 }),
        (version, current, orders) => {
          const kept = orders.map(({ order, facts: known }, index) => ({
            orderId: String(index),
            order,
            facts: known,
            requirements: evaluatePolicy(version, current, order, known).requirements,
          }));
          expect(comparePastOrders(createEvaluator(version, current), kept)).toMatchObject({
            unchangedCount: kept.length,
            changedOrders: [],
          });
        },
      ),
      { numRuns: runs(500) },
    );
  });
});

const CURRENT = {
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

describe.each(STARTING_POINT_NAMES)('the starting policy %s', (name) => {
  const vocabulary = { tasks: ORDER_TASK_NAMES, currency: 'EUR' };

  const assignGroups = ({ roles }: StartingPoint) =>
    Object.fromEntries(roles.map((role) => [role, [`S0${role.replace('_', '').toUpperCase()}`]]));

  test('is valid once its roles have groups', () => {
    const start = getStartingPoint(name);
    const read = parseRules(fillStartingPoint(start, assignGroups(start), { canSign: true }), vocabulary);
    expect(read).toMatchObject({ ok: true });
    expect(JSON.stringify(read)).not.toMatch(/managers|finance|legal|brand_owners|security/);
  });

  test('reports missing approvers if its roles have no groups', () => {
    const start = getStartingPoint(name);
    const read = parseRules(fillStartingPoint(start, {}, { canSign: true }), vocabulary);
    expect(read.ok ? [] : read.issues.map(({ field, code }) => [field, code])).toContainEqual([
      'approvers',
      'missing',
    ]);
  });

  test('has no free task that can lose a name or take it down', () => {
    const start = getStartingPoint(name);
    const read = parseRules(fillStartingPoint(start, assignGroups(start), { canSign: true }), vocabulary);
    expect(read).toMatchObject({ ok: true });
    for (const task of Object.values(ORDER_TASKS).filter(({ risk }) => risk !== 'none')) {
      for (const tags of [[], ['brand', 'guarded', 'own']]) {
        const order = { task: task.name, names: ['cafe.rest'], requester: 'U0ANNA', usesTeamAccount: false };
        const { requirements } = evaluatePolicy(
          { version: 1, rules: read.ok ? read.rules : [] },
          CURRENT,
          order,
          {
            task,
            tags: new Map([['cafe.rest', tags]]),
            groupMembers: new Map(),
            prices: new Map(),
          },
        );
        expect(requirements.outcome).not.toBe('free');
      }
    }
  });

  test('lets at most managers change the nameservers of unprotected names freely', () => {
    const start = getStartingPoint(name);
    const read = parseRules(fillStartingPoint(start, assignGroups(start), { canSign: true }), vocabulary);
    expect(read).toMatchObject({ ok: true });
    const current = { ...CURRENT, approvalTasks: ['nameservers'] };
    const outcomeFor = (requester: string, tags: readonly string[]) =>
      evaluatePolicy(
        { version: 1, rules: read.ok ? read.rules : [] },
        current,
        { task: 'nameservers', names: ['cafe.rest'], requester, usesTeamAccount: false },
        {
          task: getOrderTask('nameservers'),
          tags: new Map([['cafe.rest', tags]]),
          groupMembers: new Map([['S0MANAGERS', new Set(['U0MANAGERS'])]]),
          prices: new Map(),
        },
      ).requirements.outcome;
    const forManagers = { small_team: 'free', agency: 'free', company: 'approve', regulated: 'approve' };
    expect(outcomeFor('U0MANAGERS', [])).toBe(forManagers[name]);
    expect(outcomeFor('U0MANAGERS', ['guarded', 'brand', 'own'])).toBe('approve');
    expect(outcomeFor('U0ANNA', [])).toBe('approve');
  });
});
