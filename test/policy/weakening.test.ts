import { describe, expect, test } from 'vitest';
import type { Amount } from '../../src/money/amount.ts';
import type { Price, PriceEdit } from '../../src/money/prices.ts';
import { getOrderTask } from '../../src/orders/tasks.ts';
import { findWeakenedSettings, findWeakeningEdits } from '../../src/policy/weakening.ts';
import { newPolicyRule } from './sample.ts';

describe('finding weakened settings', () => {
  const before = {
    approvers: ['U0BOB', 'S0LEADS'],
    silentApprovers: [],
    approvalsRequired: 2,
    approvalTasks: ['renew', 'delete'],
    allowSelfApproval: false,
  };

  test.each([
    ['nothing', {}, []],
    ['an added approver', { approvers: ['U0BOB', 'S0LEADS', 'U0EVE'] }, ['approvers']],
    ['a replaced approver', { approvers: ['U0BOB', 'U0EVE'] }, ['approvers']],
    ['a removed approver', { approvers: ['U0BOB'] }, []],
    ['reordered approvers', { approvers: ['S0LEADS', 'U0BOB'] }, []],
    ['an added silent approver', { silentApprovers: ['U0EVE'] }, ['silent_approvers']],
    ['an approver who becomes silent', { approvers: ['S0LEADS'], silentApprovers: ['U0BOB'] }, []],
    ['fewer approvals', { approvalsRequired: 1 }, ['approvals_required']],
    ['more approvals', { approvalsRequired: 3 }, []],
    ['a removed task', { approvalTasks: ['renew'] }, ['approval_tasks']],
    ['a replaced task', { approvalTasks: ['renew', 'create'] }, ['approval_tasks']],
    ['an added task', { approvalTasks: ['renew', 'delete', 'create'] }, []],
    ['allowed self-approval', { allowSelfApproval: true }, ['allow_self_approval']],
    [
      'one weakened and one strengthened setting',
      { approvalsRequired: 3, allowSelfApproval: true },
      ['allow_self_approval'],
    ],
  ])('%s', (_, change, weakened) => {
    expect([...findWeakenedSettings(before, { ...before, ...change })]).toEqual(weakened);
  });

  test('disallowed self-approval', () => {
    const allowed = { ...before, allowSelfApproval: true };
    expect(findWeakenedSettings(allowed, before).size).toBe(0);
  });
});

describe('finding price changes that weaken a rule over 100.00', () => {
  const price = (given: Partial<Price> & { minor?: number; currency?: string } = {}): Price => {
    const { minor = 15_000, currency = 'EUR', ...rest } = given;
    return {
      zone: 'rest',
      task: 'renew',
      period: 1,
      amount: { currency, minor },
      validFrom: '2026-01-01',
      source: 'Contract 7',
      ...rest,
    };
  };
  const over = { currency: 'EUR', minor: 10_000 };
  const conditions = {
    rules: [newPolicyRule({ tasks: ['renew'], names: ['*.rest'], over })],
    mandates: [] as readonly { readonly names: readonly string[]; readonly maxPrice: Amount }[],
    budgets: [] as readonly { readonly amount: Amount }[],
    getTaskRisk: getOrderTask,
    today: '2026-11-23',
  };
  const weakens = (list: readonly Price[], edit: PriceEdit, given: Partial<typeof conditions> = {}) =>
    findWeakeningEdits(list, [edit], { ...conditions, ...given }).length === 1;
  const edit = (before: Price | undefined, after: Price) => ({ before, after });
  const cheap = price({ minor: 5_000 });

  test.each<[string, readonly Price[], PriceEdit, boolean]>([
    ['falls to 100.00', [price()], edit(price(), price({ minor: 10_000 })), true],
    ['falls but stays above 100.00', [price()], edit(price(), price({ minor: 10_001 })), false],
    ['rises', [cheap], edit(cheap, price()), false],
    [
      'falls further below 100.00, where orders of several names were above',
      [cheap],
      edit(cheap, price({ minor: 4_000 })),
      true,
    ],
    ['is new and below 100.00', [], edit(undefined, cheap), true],
    ['is new and above 100.00', [], edit(undefined, price()), false],
    ['changes to another currency', [price()], edit(price(), price({ minor: 1, currency: 'USD' })), false],
    [
      'changes from another currency',
      [price({ currency: 'USD' })],
      edit(price({ currency: 'USD' }), cheap),
      true,
    ],
    [
      'falls from a future day',
      [price()],
      edit(undefined, price({ minor: 1, validFrom: '2027-01-01' })),
      true,
    ],
    [
      'was lower in the past',
      [price()],
      edit(undefined, price({ minor: 1, validFrom: '2025-01-01' })),
      false,
    ],
    [
      'begins later, so that an earlier, lower price applies',
      [price({ minor: 1, validFrom: '2025-01-01' }), price()],
      edit(price(), price({ validFrom: '2027-01-01' })),
      true,
    ],
    [
      'for two years is below twice the yearly price',
      [cheap],
      edit(undefined, price({ period: 2, minor: 9_000 })),
      true,
    ],
    ['of another task is new and low', [], edit(undefined, price({ task: 'create', minor: 1 })), false],
    ['of another zone is new and low', [], edit(undefined, price({ zone: 'example', minor: 1 })), false],
    ['of a zone below is new and low', [], edit(undefined, price({ zone: 'co.rest', minor: 1 })), true],
  ])('if the price %s', (_, list, change, expected) => {
    expect(weakens(list, change)).toBe(expected);
  });

  test.each([
    ['charged tasks', ['charge'], ['*'], true],
    ['all tasks', ['all'], ['cafe.rest'], true],
    ['a tag', ['renew'], ['tag:brand'], true],
    ['a name of another zone', ['renew'], ['cafe.example'], false],
    ['risky tasks', ['risk'], ['*'], false],
  ])('compares a lower price with a rule for %s', (_, tasks, names, expected) => {
    const rules = [newPolicyRule({ tasks, names, over })];
    expect(weakens([price()], edit(price(), price({ minor: 1 })), { rules })).toBe(expected);
  });

  test('compares a lower price with a rule for a parent name', () => {
    const rules = [newPolicyRule({ tasks: ['renew'], names: ['co.rest'], over })];
    const under = price({ zone: 'co.rest' });
    expect(
      weakens([under], edit(under, { ...under, amount: { currency: 'EUR', minor: 1 } }), { rules }),
    ).toBe(true);
    expect(weakens([price()], edit(price(), price({ minor: 1 })), { rules })).toBe(true);
  });

  test('returns nothing if no rule has an amount', () => {
    const rules = [newPolicyRule({ tasks: ['renew'], names: ['*'] })];
    expect(weakens([price()], edit(price(), price({ minor: 1 })), { rules })).toBe(false);
  });

  test.each<[string, readonly string[], PriceEdit, boolean]>([
    ['falls to the limit', ['*.rest'], edit(price(), price({ minor: 10_000 })), true],
    ['is new and within the limit', ['tag:brand'], edit(undefined, cheap), true],
    ['falls but stays above the limit', ['*.rest'], edit(price(), price({ minor: 10_001 })), false],
    ['was already within the limit', ['*.rest'], edit(cheap, price({ minor: 4_000 })), false],
    ['rises', ['*.rest'], edit(cheap, price()), false],
    ['is of another zone', ['*.example'], edit(price(), cheap), false],
    ['is of another task', ['*'], edit(undefined, price({ task: 'restore', minor: 1 })), false],
  ])('compares it with a mandate’s price limit, if it %s', (_, names, change, expected) => {
    const list = change.before === undefined ? [] : [change.before];
    expect(weakens(list, change, { rules: [], mandates: [{ names, maxPrice: over }] })).toBe(expected);
  });

  test.each<[string, PriceEdit, boolean]>([
    ['falls', edit(cheap, price({ minor: 4_000 })), true],
    ['of any task falls', edit(price({ task: 'create' }), price({ task: 'create', minor: 9_000 })), true],
    ['still exceeds the whole budget', edit(price(), price({ minor: 10_001 })), false],
    ['rises', edit(cheap, price()), false],
    ['stays the same', edit(cheap, price({ minor: 5_000, source: 'Contract 8' })), false],
    ['falls in another currency', edit(cheap, price({ minor: 1, currency: 'USD' })), false],
  ])('compares it with budgets, if it %s', (_, change, expected) => {
    const list = change.before === undefined ? [] : [change.before];
    expect(weakens(list, change, { rules: [], budgets: [{ amount: over }] })).toBe(expected);
  });
});
