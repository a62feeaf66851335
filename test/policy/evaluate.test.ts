import { describe, expect, test } from 'vitest';
import {
  evaluatePolicy,
  formatRequirementKey,
  type PolicyFacts,
  type PolicyOrder,
  type PolicySettings,
  type Requirements,
  requireBoth,
} from '../../src/policy/evaluate.ts';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import fc, { runs } from '../support/properties.ts';
import { expandFacts, orderWithFacts, policy, settings } from './arbitraries.ts';
import { newPolicyRule } from './sample.ts';

const HOUR = 3_600_000;

const SETTINGS: PolicySettings = {
  approvalTasks: ['renew', 'delete'],
  approvers: ['U0BOSS'],
  silentApprovers: [],
  approvalsRequired: 1,
  ttlMs: 72 * HOUR,
  remindAfterMs: 4 * HOUR,
  escalateAfterMs: 24 * HOUR,
  escalateTo: [],
  signed: false,
};

const FACTS: PolicyFacts = {
  task: { effect: 'charge', risk: 'none', nameKind: 'host' },
  tags: new Map([
    ['cafe.rest', ['brand']],
    ['www.cafe.rest', []],
    ['bar.rest', []],
  ]),
  groupMembers: new Map([['S0MARKETING', new Set(['U0ANNA'])]]),
  prices: new Map([
    ['cafe.rest', { currency: 'EUR', minor: 1_200 }],
    ['bar.rest', { currency: 'EUR', minor: 1_200 }],
  ]),
};

const ORDER: PolicyOrder = {
  task: 'renew',
  names: ['cafe.rest'],
  requester: 'U0ANNA',
  usesTeamAccount: false,
};

function run(
  rules: readonly PolicyRule[],
  order: Partial<PolicyOrder> = {},
  facts: Partial<PolicyFacts> = {},
) {
  return evaluatePolicy({ version: 3, rules }, SETTINGS, { ...ORDER, ...order }, { ...FACTS, ...facts });
}

const getKeys = ({ list }: Requirements) => list.map(formatRequirementKey);

describe('without rules', () => {
  test('a task of the approval setting needs the approvers of the settings', () => {
    const { requirements, nameEvaluations } = run([]);
    expect(requirements).toEqual({
      outcome: 'approve',
      list: [
        {
          rule: { kind: 'approval_tasks' },
          names: ['cafe.rest'],
          needed: 1,
          approvers: ['U0BOSS'],
          silent: [],
          signed: false,
        },
      ],
      refusedBy: [],
      ttlMs: 72 * HOUR,
      remindAfterMs: 4 * HOUR,
      escalateAfterMs: 24 * HOUR,
      escalateTo: [],
      escalateToAdmins: true,
      breakGlass: false,
    });
    expect(nameEvaluations[0]?.decidingRules).toEqual([{ rule: { kind: 'approval_tasks' }, unknowns: [] }]);
  });

  test('everything else is free', () => {
    const { requirements, nameEvaluations } = run([], { task: 'redirect' });
    expect(requirements.outcome).toBe('free');
    expect(nameEvaluations[0]?.decidingRules).toEqual([{ rule: { kind: 'rest' }, unknowns: [] }]);
  });

  test('an order with the team’s account needs approval', () => {
    const { requirements } = run([newPolicyRule({ decision: 'free' })], { usesTeamAccount: true });
    expect(requirements.list).toMatchObject([{ rule: { kind: 'team_account' }, approvers: ['U0BOSS'] }]);
  });

  test('an order without names needs the same approvals', () => {
    expect(run([], { names: [] }).requirements.outcome).toBe('approve');
  });
});

test('a rule’s escalation and times override the settings', () => {
  const options = { ...SETTINGS, escalateTo: ['U0CEO'] };
  const evaluateWith = (fields: Partial<PolicyRule>) =>
    evaluatePolicy({ version: 3, rules: [newPolicyRule(fields)] }, options, ORDER, FACTS).requirements;
  const { ttlMs, remindAfterMs, escalateAfterMs, escalateTo } = options;
  const general = { ttlMs, remindAfterMs, escalateAfterMs, escalateTo, escalateToAdmins: false };
  expect(evaluateWith({})).toMatchObject({ ...general, breakGlass: false });
  const own = { ttlMs: 5, remindAfterMs: 1, escalateAfterMs: 3, escalateTo: ['U0CFO'], breakGlass: true };
  expect(evaluateWith(own)).toMatchObject(own);
  expect(evaluateWith({ ...own, signed: true }).breakGlass).toBe(false);
  for (const decision of ['free', 'refuse'] as const)
    expect(evaluateWith({ ...own, decision })).toMatchObject({ outcome: decision, ttlMs, breakGlass: false });
});

describe('the first matching rule decides', () => {
  test('and the rules before it list why they were skipped', () => {
    const { nameEvaluations } = run([
      newPolicyRule({ name: 'other task', tasks: ['transfer', 'risk'] }),
      newPolicyRule({ name: 'other people', by: ['U0BOB', 'S0MARKETING'], names: ['bar.rest'] }),
      newPolicyRule({ name: 'others ask', by: ['U0BOB'] }),
      newPolicyRule({ name: 'cheap', over: { currency: 'EUR', minor: 1_200 } }),
      newPolicyRule({ name: 'it', tasks: ['charge'], names: ['tag:brand'], decision: 'free' }),
      newPolicyRule({ name: 'too late' }),
    ]);
    expect(nameEvaluations).toHaveLength(1);
    expect(nameEvaluations[0]?.skippedRules.map(({ rule: each, reason }) => [each, reason])).toMatchObject([
      [{ name: 'other task', index: 0, version: 3 }, 'tasks'],
      [{ name: 'other people' }, 'names'],
      [{ name: 'others ask' }, 'by'],
      [{ name: 'cheap' }, 'over'],
    ]);
    expect(nameEvaluations[0]?.decidingRules).toMatchObject([
      { rule: { kind: 'rule', name: 'it', index: 4 }, unknowns: [] },
    ]);
  });

  test.each([
    ['*', 'cafe.rest', true],
    ['*.rest', 'cafe.rest', true],
    ['*.rest', 'www.cafe.rest', true],
    ['*.rest', 'forest', false],
    ['*.rest', 'cafe.rest.example', false],
    ['cafe.rest', 'cafe.rest', true],
    ['cafe.rest', 'CAFE.rest', true],
    ['cafe.rest', 'www.cafe.rest', true],
    ['www.cafe.rest', 'cafe.rest', false],
    ['cafe.rest', 'a.b.cafe.rest/menu', true],
    ['cafe.rest', 'info@www.cafe.rest', true],
    ['cafe.rest', 'bar.rest/@cafe.rest', false],
    ['cafe.rest', 'icecafe.rest', false],
    ['cafe.rest', 'cafe.rest/menu', true],
    ['cafe.rest', 'info@cafe.rest', true],
    ['*.rest', 'cafe.rest/a.example', true],
    ['*.example', 'cafe.rest/a.example', false],
    ['tag:brand', 'cafe.rest', true],
    ['tag:brand', 'bar.rest', false],
    ['tag:brand', 'www.cafe.rest', true],
    ['tag:brand', 'cafe.rest/menu', true],
    ['tag:brand', 'info@cafe.rest', true],
  ])('pattern %s matches %s: %s', (pattern, name, fits) => {
    const { requirements } = run([newPolicyRule({ names: [pattern], decision: 'refuse' })], {
      names: [name],
    });
    expect(requirements.outcome === 'refuse').toBe(fits);
  });

  test('and its amount is compared with the cost of the whole order', () => {
    const rules = [newPolicyRule({ over: { currency: 'EUR', minor: 2_399 }, decision: 'refuse' })];
    expect(run(rules).requirements.outcome).toBe('approve');
    expect(run(rules, { names: ['cafe.rest', 'bar.rest'] }).requirements.outcome).toBe('refuse');
  });
});

describe('an order of several names', () => {
  const brand = newPolicyRule({
    name: 'brand',
    names: ['tag:brand'],
    approvers: ['S0LEGAL'],
    needed: 2,
    ttlMs: 48 * HOUR,
    remindAfterMs: 5 * HOUR,
    escalateTo: ['U0CEO'],
    breakGlass: true,
  });

  test('needs the approvals of each name, and has the shortest times', () => {
    const { requirements } = run([brand], { names: ['cafe.rest', 'bar.rest'] });
    expect(requirements.list.map(({ names, needed, approvers }) => ({ names, needed, approvers }))).toEqual([
      { names: ['cafe.rest'], needed: 2, approvers: ['S0LEGAL'] },
      { names: ['bar.rest'], needed: 1, approvers: ['U0BOSS'] },
    ]);
    expect(requirements).toMatchObject({
      ttlMs: 48 * HOUR,
      remindAfterMs: 4 * HOUR,
      escalateAfterMs: 24 * HOUR,
    });
    expect(requirements).toMatchObject({ escalateTo: ['U0CEO'], escalateToAdmins: true, breakGlass: false });
  });

  test('is refused if one of the names is', () => {
    const { requirements } = run([newPolicyRule({ names: ['bar.rest'], decision: 'refuse' })], {
      names: ['cafe.rest', 'bar.rest'],
    });
    expect(requirements).toMatchObject({
      outcome: 'refuse',
      list: [],
      refusedBy: [{ name: 'a rule' }],
    });
  });

  test('has one requirement for each rule', () => {
    const { requirements } = run([brand], { names: ['cafe.rest', 'cafe.rest'] });
    expect(requirements.list).toHaveLength(1);
    expect(requirements.breakGlass).toBe(true);
  });
});

describe('unknown facts count against the order', () => {
  const nobody = { groupMembers: new Map<string, ReadonlySet<string>>() };
  const group = { kind: 'group', group: 'S0MARKETING' };

  test('a free rule doesn’t match', () => {
    const { requirements, nameEvaluations, unknowns } = run(
      [newPolicyRule({ by: ['S0MARKETING'], decision: 'free' })],
      {},
      nobody,
    );
    expect(requirements.outcome).toBe('approve');
    expect(nameEvaluations[0]?.skippedRules).toMatchObject([{ reason: 'unknown', unknowns: [group] }]);
    expect(unknowns).toEqual([group]);
  });

  test('a refusing rule matches', () => {
    const { requirements, unknowns } = run(
      [newPolicyRule({ by: ['S0MARKETING'], decision: 'refuse' })],
      {},
      nobody,
    );
    expect(requirements.outcome).toBe('refuse');
    expect(unknowns).toEqual([group]);
  });

  test('an approve rule matches, and the next matching rule is required too', () => {
    const { requirements, nameEvaluations } = run([newPolicyRule({ by: ['S0MARKETING'] })], {}, nobody);
    expect(requirements.list.map(({ approvers }) => approvers)).toEqual([['U0CFO'], ['U0BOSS']]);
    expect(nameEvaluations[0]?.decidingRules).toMatchObject([
      { rule: { kind: 'rule' }, unknowns: [group] },
      { rule: { kind: 'approval_tasks' }, unknowns: [] },
    ]);
  });

  test('a requester listed by ID is known', () => {
    const { requirements, unknowns } = run(
      [newPolicyRule({ by: ['S0MARKETING', 'U0ANNA'], decision: 'free' })],
      {},
      nobody,
    );
    expect(requirements.outcome).toBe('free');
    expect(unknowns).toEqual([]);
  });

  test('an unknown price is above any amount', () => {
    const over = { currency: 'EUR', minor: 1_000_000 };
    const { requirements, unknowns } = run([newPolicyRule({ over })], {}, { prices: new Map() });
    expect(requirements.list.map(({ approvers }) => approvers)).toEqual([['U0CFO']]);
    expect(unknowns).toEqual([{ kind: 'price', name: 'cafe.rest' }]);
    expect(
      run([newPolicyRule({ over, decision: 'free' })], {}, { prices: new Map() }).requirements.outcome,
    ).toBe('approve');
  });

  test('amounts of two currencies are not compared', () => {
    const { unknowns } = run([newPolicyRule({ over: { currency: 'JPY', minor: 1 } })]);
    expect(unknowns).toEqual([{ kind: 'price', name: 'cafe.rest' }]);
  });

  test('an unknown price doesn’t matter if known prices already exceed the amount', () => {
    const { unknowns, requirements } = run(
      [newPolicyRule({ over: { currency: 'EUR', minor: 1_000 }, decision: 'free' })],
      {
        names: ['cafe.rest', 'new.rest'],
      },
    );
    expect(unknowns).toEqual([]);
    expect(requirements.outcome).toBe('free');
  });

  test('unknown tags match, and the next matching rule is required too', () => {
    const { unknowns, requirements } = run([newPolicyRule({ names: ['tag:brand'] })], {
      names: ['new.rest'],
    });
    expect(unknowns).toEqual([{ kind: 'tags', name: 'new.rest' }]);
    expect(requirements.list).toHaveLength(2);
  });
});

/*
 * A naive evaluator with three truth values. It shares no code with the real one.
 */

type Truth = 'true' | 'false' | 'unknown';

const allOf = (all: readonly Truth[]): Truth =>
  all.includes('false') ? 'false' : all.includes('unknown') ? 'unknown' : 'true';
const anyOf = (all: readonly Truth[]): Truth =>
  all.includes('true') ? 'true' : all.includes('unknown') ? 'unknown' : 'false';
const truth = (value: boolean): Truth => (value ? 'true' : 'false');

interface NaiveNeed {
  readonly refused: boolean;
  /** Some approval is certainly needed. */
  readonly sure: boolean;
  readonly needs: readonly string[];
}

function evaluateNaively(
  { rules }: Policy,
  options: PolicySettings,
  order: PolicyOrder,
  facts: PolicyFacts,
): NaiveNeed {
  const fallback = formatRequirementKey({
    needed: options.approvalsRequired,
    approvers: [...options.approvers, ...options.silentApprovers],
    signed: false,
  });
  const needsOf = (name: string, rest: readonly PolicyRule[]): NaiveNeed => {
    const [first, ...others] = rest;
    if (first === undefined) {
      const listed = options.approvalTasks.includes(order.task);
      return { refused: false, sure: listed, needs: listed ? [fallback] : [] };
    }
    const task = anyOf(
      first.tasks.map((each) => {
        if (each === 'all') return 'true';
        if (each === 'charge') return truth(facts.task.effect === 'charge');
        if (each === 'risk') return truth(facts.task.risk !== 'none');
        return truth(each === order.task);
      }),
    );
    const host = name.split('@').at(-1) ?? '';
    const labels = host.split('.');
    const hosts = labels.slice(1).map((_, index) => labels.slice(index).join('.'));
    const named = anyOf(
      first.names.map((pattern): Truth => {
        if (pattern === '*') return 'true';
        if (pattern.startsWith('tag:')) {
          const tags = hosts.map((each) => facts.tags.get(each));
          const wanted = pattern.split(':')[1] ?? '';
          return tags.includes(undefined) ? 'unknown' : truth(tags.some((each) => each?.includes(wanted)));
        }
        const wanted = pattern.split('.');
        if (wanted[0] !== '*') return truth(hosts.includes(wanted.join('.')));
        const tail = wanted.slice(1);
        return truth(labels.length > tail.length && labels.slice(-tail.length).join('.') === tail.join('.'));
      }),
    );
    const by =
      first.by.length === 0
        ? 'true'
        : anyOf(
            first.by.map((id): Truth => {
              if (id.startsWith('U')) return truth(id === order.requester);
              const members = facts.groupMembers.get(id);
              return members === undefined ? 'unknown' : truth([...members].includes(order.requester));
            }),
          );
    const doubt = allOf([task, named, by]);
    const price = priceTruth(first);
    if (doubt === 'false' || price === 'false') return needsOf(name, others);
    if (first.decision === 'free') {
      const isFree = doubt === 'true' && price === 'true';
      return isFree ? { refused: false, sure: false, needs: [] } : { ...needsOf(name, others), sure: false };
    }
    if (first.decision === 'refuse') return { refused: true, sure: false, needs: [] };
    const own = formatRequirementKey({ ...first, approvers: [...first.approvers, ...first.silent] });
    if (doubt === 'true') return { refused: false, sure: true, needs: [own] };
    const other = needsOf(name, others);
    return { ...other, needs: [own, ...other.needs] };
  };
  const priceTruth = ({ over }: PolicyRule): Truth => {
    if (over === undefined) return 'true';
    const prices = order.names.map((name) => facts.prices.get(name));
    const known = prices.flatMap((price) => (price?.currency === over.currency ? [price.minor] : []));
    if (known.reduce((a, b) => a + b, 0) > over.minor) return 'true';
    return known.length < prices.length ? 'unknown' : 'false';
  };
  const all = (order.names.length === 0 ? [''] : order.names).map((name) => needsOf(name, rules));
  const refused = all.some((each) => each.refused);
  const sure = all.some((each) => each.sure);
  const team = order.usesTeamAccount && !sure ? [fallback] : [];
  const needs = [...new Set([...all.flatMap((each) => each.needs), ...team])];
  return { refused, sure, needs: refused ? [] : needs };
}

describe('with random policies and orders', () => {
  test('the result matches a naive evaluator', () => {
    fc.assert(
      fc.property(policy, settings, orderWithFacts, (drawn, options, { order, facts }) => {
        const rules = {
          ...drawn,
          rules: drawn.rules.map((each, n) =>
            each.decision === 'approve' && n % 2 === 0 ? { ...each, silent: ['U0EVE'] } : each,
          ),
        };
        const { requirements } = evaluatePolicy(rules, options, order, facts);
        const expected = evaluateNaively(rules, options, order, facts);
        expect(requirements.outcome === 'refuse').toBe(expected.refused);
        expect([...new Set(getKeys(requirements))].sort()).toEqual([...expected.needs].sort());
      }),
      { numRuns: runs(10_000) },
    );
  });

  test('an unknown fact never reduces the requirements', () => {
    fc.assert(
      fc.property(policy, settings, orderWithFacts, (drawn, options, { order, facts }) => {
        const rules = {
          ...drawn,
          rules: drawn.rules.map((each, n) =>
            each.decision === 'approve' && n % 2 === 0 ? { ...each, silent: ['U0EVE'] } : each,
          ),
        };
        const { requirements } = evaluatePolicy(rules, options, order, facts);
        for (const possible of expandFacts({ order, facts })) {
          const known = evaluatePolicy(rules, options, order, possible).requirements;
          if (requirements.outcome === 'refuse') return;
          expect(known.outcome).not.toBe('refuse');
          expect(getKeys(requirements)).toEqual(expect.arrayContaining(getKeys(known)));
        }
      }),
      { numRuns: runs(1_500) },
    );
  });

  test('another name never reduces the requirements', () => {
    fc.assert(
      fc.property(
        policy,
        settings,
        orderWithFacts,
        fc.constantFrom('a.rest', 'b.example'),
        (rules, options, { order, facts }, name) => {
          // No amounts, because they add up: another name can make another rule decide.
          const plain = { ...rules, rules: rules.rules.map((each) => ({ ...each, over: undefined })) };
          fc.pre(order.names.length > 0 && !order.usesTeamAccount);
          const before = evaluatePolicy(plain, options, order, facts).requirements;
          const after = evaluatePolicy(
            plain,
            options,
            { ...order, names: [...order.names, name] },
            facts,
          ).requirements;
          if (after.outcome === 'refuse') return;
          expect(before.outcome).not.toBe('refuse');
          expect(getKeys(after)).toEqual(expect.arrayContaining(getKeys(before)));
        },
      ),
      { numRuns: runs(2_000) },
    );
  });

  test('a refusing rule never reduces the requirements, at any position', () => {
    fc.assert(
      fc.property(
        policy,
        settings,
        orderWithFacts,
        fc.nat(),
        fc.nat(),
        (rules, options, { order, facts }, at, of) => {
          const place = at % (rules.rules.length + 1);
          const like = rules.rules[of % Math.max(1, rules.rules.length)] ?? newPolicyRule({});
          const refusing = { ...like, name: 'no', decision: 'refuse' as const };
          const changed = { ...rules, rules: rules.rules.toSpliced(place, 0, refusing) };
          const before = evaluatePolicy(rules, options, order, facts).requirements;
          const after = evaluatePolicy(changed, options, order, facts).requirements;
          if (after.outcome === 'refuse') return;
          expect({ outcome: after.outcome, keys: getKeys(after) }).toEqual({
            outcome: before.outcome,
            keys: getKeys(before),
          });
        },
      ),
      { numRuns: runs(2_000) },
    );
  });

  test('every name is decided, and its rules are listed in order', () => {
    fc.assert(
      fc.property(policy, settings, orderWithFacts, (rules, options, { order, facts }) => {
        const { nameEvaluations, requirements } = evaluatePolicy(rules, options, order, facts);
        expect(nameEvaluations.map(({ name }) => name)).toEqual(
          order.names.length === 0 ? [''] : order.names,
        );
        for (const { decidingRules, skippedRules } of nameEvaluations) {
          expect(decidingRules.length).toBeGreaterThan(0);
          const indexes = [...decidingRules, ...skippedRules]
            .flatMap(({ rule: each }) => (each.kind === 'rule' ? [each.index] : []))
            .sort((a, b) => a - b);
          expect(indexes).toEqual(indexes.map((_, index) => index));
        }
        expect(requirements.ttlMs).toBeLessThan(Number.POSITIVE_INFINITY);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('the result depends only on the input, which stays unchanged', () => {
    fc.assert(
      fc.property(policy, settings, orderWithFacts, policy, (rules, options, { order, facts }, other) => {
        const input = structuredClone({ rules, options, order, facts });
        const first = evaluatePolicy(rules, options, order, facts);
        evaluatePolicy(other, options, order, facts);
        expect({ rules, options, order, facts }).toEqual(input);
        expect(evaluatePolicy(input.rules, input.options, input.order, input.facts)).toEqual(first);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('any values return a result', () => {
    const odd = fc.constantFrom(
      '',
      '*',
      '*.',
      'tag:',
      '@',
      '/',
      '.',
      '__proto__',
      'S',
      'a'.repeat(300),
      '\u0000',
    );
    const oddAmount = fc.record({
      currency: odd,
      minor: fc.constantFrom(Number.NaN, -5, 1e300, Number.POSITIVE_INFINITY, 0.1),
    });
    fc.assert(
      fc.property(
        policy,
        settings,
        orderWithFacts,
        fc.array(odd),
        oddAmount,
        (rules, options, { order, facts }, texts, price) => {
          const strange = {
            ...rules,
            rules: rules.rules.map((each) => ({
              ...each,
              names: texts,
              by: texts,
              tasks: ['all', ...texts],
              over: price,
            })),
          };
          const prices = new Map(texts.map((text) => [text, price]));
          const { requirements } = evaluatePolicy(
            strange,
            options,
            { ...order, names: texts },
            { ...facts, prices },
          );
          expect(['free', 'approve', 'refuse']).toContain(requirements.outcome);
        },
      ),
      { numRuns: runs(1_000) },
    );
  });
});

describe('merging two requirements', () => {
  const two = fc
    .tuple(policy, policy, settings, orderWithFacts)
    .map(
      ([a, b, options, { order, facts }]) =>
        [
          evaluatePolicy(a, options, order, facts).requirements,
          evaluatePolicy(b, options, order, facts).requirements,
        ] as const,
    );

  test('keeps the stricter part of each', () => {
    fc.assert(
      fc.property(two, ([a, b]) => {
        const both = requireBoth(a, b);
        expect(both.outcome === 'refuse').toBe(a.outcome === 'refuse' || b.outcome === 'refuse');
        expect(both.outcome === 'free').toBe(a.outcome === 'free' && b.outcome === 'free');
        if (both.outcome === 'refuse') return;
        // Requirements of the same people are merged into the strictest one.
        const peopleOf = ({ approvers }: { readonly approvers: readonly string[] }) =>
          approvers.toSorted().join();
        const given = [...a.list, ...b.list];
        expect(new Set(both.list.map(peopleOf))).toEqual(new Set(given.map(peopleOf)));
        for (const requirement of given) {
          const covering = both.list.filter((each) => peopleOf(each) === peopleOf(requirement));
          expect(covering).toHaveLength(1);
          expect(covering[0]?.needed).toBeGreaterThanOrEqual(requirement.needed);
          expect(covering[0]?.signed || !requirement.signed).toBe(true);
        }
        for (const part of [a, b].filter(({ outcome }) => outcome === 'approve')) {
          expect(both.ttlMs).toBeLessThanOrEqual(part.ttlMs);
          expect(both.remindAfterMs).toBeLessThanOrEqual(part.remindAfterMs);
          expect(both.escalateAfterMs).toBeLessThanOrEqual(part.escalateAfterMs);
          expect(both.breakGlass && !part.breakGlass).toBe(false);
        }
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('that are equal changes nothing', () => {
    fc.assert(
      fc.property(two, ([a]) => {
        const both = requireBoth(a, a);
        expect(new Set(getKeys(both))).toEqual(new Set(getKeys(a)));
        expect(both).toMatchObject({ outcome: a.outcome, ttlMs: a.ttlMs, breakGlass: a.breakGlass });
      }),
      { numRuns: runs(500) },
    );
  });
});
