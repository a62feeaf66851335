import { DEFAULT_APPROVAL_TASKS } from '../../src/orders/order.ts';
import { evaluatePolicy, type PolicyFacts, type PolicySettings } from '../../src/policy/evaluate.ts';
import type { Policy, PolicyRule } from '../../src/policy/policy.ts';
import { type Bench, type Line, quantile, type Row } from '../measure.ts';

/* Computes an order's requirements from a policy of a thousand rules. Only the last one matches. */

const RULES = 1_000;
const MAX_MS = 1;
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
    const rules = Array.from({ length: RULES }, (_, n) => createRule(n, n === RULES - 1));
    const policy: Policy = { version: 1, rules };
    const order = { task: 'renew', names, requester: 'U0PERSON', usesTeamAccount: false };
    const facts = createFacts(names);
    const evaluateOnce = (): number => {
      const startedAt = performance.now();
      const { requirements } = evaluatePolicy(policy, SETTINGS, order, facts);
      const durationMs = performance.now() - startedAt;
      if (requirements.list[0]?.needed !== 2) throw new Error('the last rule did not decide');
      return durationMs;
    };
    for (let n = 0; n < times; n += 1) evaluateOnce();
    yield {
      row: 'policy',
      what: `${RULES} rules evaluated for ${count === 1 ? 'one name' : `${count} names`}`,
      reference: '',
      unit: 'ms',
      ours: Array.from({ length: effort.rounds }, () =>
        quantile(Array.from({ length: times }, evaluateOnce), 0.5),
      ),
      theirs: [],
      ...(count === 1 ? { target: { of: 'ours', kind: 'at most', value: MAX_MS } } : {}),
    };
  }
}

/** Rules that don't match fail on the name, the tag, the requester or the amount, in turn. */
function createRule(n: number, matches: boolean): PolicyRule {
  const mismatch = [
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
    ...(matches ? {} : mismatch),
  };
}

function createFacts(names: readonly string[]): PolicyFacts {
  return {
    task: { effect: 'charge', risk: 'none', nameKind: 'host' },
    tags: new Map(names.map((name) => [name, ['brand']])),
    groupMembers: new Map([['S0FINANCE', new Set(['U0FINANCE'])]]),
    prices: new Map(names.map((name) => [name, { currency: 'EUR', minor: 1_200 }])),
  };
}

export const policy: Row = { id: 'policy', seconds: 10, measure };
