import { DEFAULT_APPROVAL_TASKS } from '../../src/orders/order.ts';
import { evaluatePolicy, type PolicyFacts, type PolicySettings } from '../../src/policy/evaluate.ts';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import { type Bench, type Line, quantile, type Row } from '../measure.ts';

/* An order's requirements by a policy of a thousand rules, with only the last one matching. */

const RULES = 1_000;
const AT_MOST_MS = 1;
const HOUR_MS = 3_600_000;

const SETTINGS: PolicySettings = {
  approvalTasks: DEFAULT_APPROVAL_TASKS,
  approvers: ['U0APPROVER'],
  silentApprovers: [],
  approvalsRequired: 1,
  ttlMs: 72 * HOUR_MS,
  remindAfterMs: 4 * HOUR_MS,
  escalateAfterMs: 24 * HOUR_MS,
  escalateTo: [],
  signed: false,
};

async function* measure({ effort }: Bench): AsyncGenerator<Line> {
  const times = effort.quick ? 20 : 500;
  for (const count of [1, 50]) {
    const names = Array.from({ length: count }, (_, n) => `name-${n}.rest`);
    const rules = Array.from({ length: RULES }, (_, n) => ruleNumber(n, n === RULES - 1));
    const policy: Policy = { version: 1, rules };
    const order = { task: 'renew', names, requester: 'U0PERSON', usesTeamAccount: false };
    const facts = factsOf(names);
    const once = (): number => {
      const startedAt = performance.now();
      const { requirements } = evaluatePolicy(policy, SETTINGS, order, facts);
      const took = performance.now() - startedAt;
      if (requirements.list[0]?.needed !== 2) throw new Error('the last rule did not decide');
      return took;
    };
    for (let n = 0; n < times; n += 1) once();
    yield {
      row: 'policy',
      what: `${RULES} rules evaluated for ${count === 1 ? 'one name' : `${count} names`}`,
      reference: '',
      unit: 'ms',
      ours: Array.from({ length: effort.rounds }, () => quantile(Array.from({ length: times }, once), 0.5)),
      theirs: [],
      ...(count === 1 ? { target: { of: 'ours', kind: 'at most', value: AT_MOST_MS } } : {}),
    };
  }
}

/** Each rule fails by another condition: the name, the tag, the requester, the amount. */
function ruleNumber(n: number, fits: boolean): PolicyRule {
  const narrow = [
    { names: [`*.zone-${n}.rest`] },
    { names: [`tag:client-${n}`] },
    { names: ['*'], by: [`U0OTHER${n}`] },
    { names: ['*'], over: { currency: 'EUR', minor: 100_000_000 } },
  ][n % 4];
  return {
    name: `rule ${n}`,
    tasks: ['renew'],
    names: ['*'],
    by: [],
    over: undefined,
    decision: 'approve',
    approvers: ['U0APPROVER', 'S0FINANCE'],
    silent: [],
    needed: 2,
    ttlMs: undefined,
    remindAfterMs: undefined,
    escalateAfterMs: undefined,
    escalateTo: [],
    breakGlass: false,
    signed: false,
    ...(fits ? {} : narrow),
  };
}

function factsOf(names: readonly string[]): PolicyFacts {
  return {
    task: { effect: 'charge', risk: 'none', nameKind: 'host' },
    tags: new Map(names.map((name) => [name, ['brand']])),
    groups: new Map([['S0FINANCE', new Set(['U0FINANCE'])]]),
    prices: new Map(names.map((name) => [name, { currency: 'EUR', minor: 1_200 }])),
  };
}

export const policy: Row = { id: 'policy', seconds: 10, measure };
