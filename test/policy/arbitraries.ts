import type { Amount } from '../../src/money/amount.ts';
import type { PolicyFacts, PolicyOrder, PolicySettings } from '../../src/policy/evaluate.ts';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import fc from '../support/properties.ts';

/* Random policies and orders with few values, so that rules, people and names often match. */

export const VOCABULARY = {
  tasks: ['create', 'renew', 'delete', 'nameservers', 'authcode', 'redirect'],
  currency: 'EUR',
} as const;

const TASK_FACTS: Readonly<Record<string, PolicyFacts['task']>> = {
  create: { effect: 'charge', risk: 'none', nameKind: 'host' },
  renew: { effect: 'charge', risk: 'none', nameKind: 'host' },
  delete: { effect: 'write', risk: 'loses_name', nameKind: 'host' },
  nameservers: { effect: 'write', risk: 'takes_down', nameKind: 'host' },
  authcode: { effect: 'read', risk: 'loses_name', nameKind: 'host' },
  redirect: { effect: 'write', risk: 'none', nameKind: 'host' },
};

export const PEOPLE = ['U0ANNA', 'U0BOB', 'U0CAROL', 'U0DAVE', 'U0EVE'] as const;
export const GROUPS = ['S0LEGAL', 'S0SALES', 'S0BOARD'] as const;
const HOSTS = ['cafe.rest', 'bar.rest', 'www.cafe.rest', 'shop.example'] as const;
const NAMES = [...HOSTS, 'info@cafe.rest'] as const;
const TAGS = ['brand', 'guarded'] as const;
const PATTERNS = ['*', '*.rest', '*.cafe.rest', 'cafe.rest', 'shop.example', 'tag:brand', 'tag:guarded'];

const listOf = <T>(values: readonly T[], minLength = 0, maxLength = 3) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength, maxLength });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });

export const people = listOf(PEOPLE);
export const approverIds = (minLength = 0) => listOf([...PEOPLE, ...GROUPS], minLength);
const intervalMs = fc.constantFrom(1, 5, 60, 1_440).map((count) => count * 60_000);
const amount: fc.Arbitrary<Amount> = fc.record({
  currency: fc.constantFrom('EUR', 'EUR', 'EUR', 'JPY'),
  minor: fc.constantFrom(0, 1, 1_200, 10_000, 999_999),
});

const approvalDecision = fc.record({
  decision: fc.constant('approve' as const),
  approvers: approverIds(1),
  silent: fc.constant([]),
  needed: fc.integer({ min: 1, max: 3 }),
  ttlMs: optional(intervalMs.map((ms) => ms + 86_400_000)),
  remindAfterMs: optional(intervalMs),
  escalateAfterMs: optional(intervalMs),
  escalateTo: approverIds(),
  breakGlass: fc.boolean(),
  signed: fc.constant(false),
});
const otherDecision = fc.record({
  decision: fc.constantFrom('free' as const, 'refuse' as const),
  approvers: fc.constant([]),
  silent: fc.constant([]),
  needed: fc.constant(1),
  ttlMs: fc.constant(undefined),
  remindAfterMs: fc.constant(undefined),
  escalateAfterMs: fc.constant(undefined),
  escalateTo: fc.constant([]),
  breakGlass: fc.constant(false),
  signed: fc.constant(false),
});

const conditions = fc.record({
  tasks: listOf([...VOCABULARY.tasks, 'charge', 'risk', 'all'], 1),
  names: listOf(PATTERNS, 1),
  by: fc.oneof(fc.constant([]), approverIds()),
  over: optional(amount),
});

export const rules: fc.Arbitrary<readonly PolicyRule[]> = fc
  .array(fc.tuple(conditions, fc.oneof(approvalDecision, otherDecision)), { maxLength: 7 })
  .map((parts) =>
    parts.map(([condition, decision], index) => ({ name: `rule ${index}`, ...condition, ...decision })),
  );

export const policy: fc.Arbitrary<Policy> = fc.record({ version: fc.nat({ max: 9 }), rules });

export const settings: fc.Arbitrary<PolicySettings> = fc.record({
  approvalTasks: listOf(VOCABULARY.tasks, 0, 6),
  approvers: approverIds(1),
  silentApprovers: approverIds(),
  approvalsRequired: fc.integer({ min: 1, max: 3 }),
  ttlMs: intervalMs.map((ms) => ms + 86_400_000),
  remindAfterMs: intervalMs,
  escalateAfterMs: intervalMs,
  escalateTo: approverIds(),
  signed: fc.constant(false),
});

const taskName = fc.constantFrom(...VOCABULARY.tasks);

/** Maps keys to random values. Some keys are missing. */
function partialMap<Key, Value>(keys: readonly Key[], value: fc.Arbitrary<Value>) {
  return fc
    .tuple(...keys.map((key) => fc.tuple(fc.constant(key), fc.option(value, { nil: undefined, freq: 3 }))))
    .map(
      (entries) =>
        new Map(entries.flatMap(([key, found]) => (found === undefined ? [] : [[key, found] as const]))),
    );
}

export const groups = partialMap(
  GROUPS,
  people.map((members): ReadonlySet<string> => new Set(members)),
);

/** A random order with its facts. Any fact may be missing. */
export const orderWithFacts: fc.Arbitrary<{ readonly order: PolicyOrder; readonly facts: PolicyFacts }> = fc
  .record({
    task: taskName,
    names: listOf(NAMES, 0, 3),
    requester: fc.constantFrom(...PEOPLE),
    usesTeamAccount: fc.boolean(),
    tags: partialMap(HOSTS, listOf(TAGS)),
    groups,
    prices: partialMap(NAMES, amount),
  })
  .map(({ tags, groups: groupMembers, prices, ...order }) => {
    const task = TASK_FACTS[order.task] ?? { effect: 'write', risk: 'none', nameKind: 'host' };
    return { order, facts: { task, tags, groupMembers, prices } };
  });

/** Fills in missing group and tag facts in every possible way. A missing price is above any amount. */
export function expandFacts({ order, facts }: { order: PolicyOrder; facts: PolicyFacts }): PolicyFacts[] {
  let variants: PolicyFacts[] = [
    {
      ...facts,
      prices: new Map(
        order.names.map((name) => [name, facts.prices.get(name) ?? { currency: 'EUR', minor: 5_000_000 }]),
      ),
    },
  ];
  for (const group of GROUPS) {
    if (facts.groupMembers.has(group)) continue;
    variants = variants.flatMap((variant) =>
      [new Set<string>(), new Set([order.requester])].map((members) => ({
        ...variant,
        groupMembers: new Map([...variant.groupMembers, [group, members]]),
      })),
    );
  }
  for (const host of HOSTS) {
    if (facts.tags.has(host) || !order.names.some((name) => name.endsWith(host))) continue;
    variants = variants.flatMap((world) =>
      [[], ['brand'], ['guarded'], ['brand', 'guarded']].map((tags) => ({
        ...world,
        tags: new Map([...world.tags, [host, tags]]),
      })),
    );
  }
  return variants;
}
