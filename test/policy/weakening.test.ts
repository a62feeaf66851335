import { describe, expect, test } from 'vitest';
import type { Amount } from '../../src/money/amount.ts';
import type { Price, PriceEdit } from '../../src/money/prices.ts';
import { findTask } from '../../src/orders/tasks.ts';
import { findWeakenedSettings, findWeakeningEdits } from '../../src/policy/weakening.ts';
import { rule } from './sample.ts';

describe('a changed setting', () => {
  const before = {
    approvers: ['U0BOB', 'S0LEADS'],
    silentApprovers: [],
    approvalsRequired: 2,
    approvalTasks: ['renew', 'delete'],
    allowSelfApproval: false,
  };

  test.each([
    ['nothing', {}, []],
    ['one more approver', { approvers: ['U0BOB', 'S0LEADS', 'U0EVE'] }, ['approvers']],
    ['one approver replaced by another', { approvers: ['U0BOB', 'U0EVE'] }, ['approvers']],
    ['one approver fewer', { approvers: ['U0BOB'] }, []],
    ['the same approvers in another sequence', { approvers: ['S0LEADS', 'U0BOB'] }, []],
    ['one more silent approver', { silentApprovers: ['U0EVE'] }, ['silent_approvers']],
    ['an approver who is silent from now on', { approvers: ['S0LEADS'], silentApprovers: ['U0BOB'] }, []],
    ['fewer approvals', { approvalsRequired: 1 }, ['approvals_required']],
    ['more approvals', { approvalsRequired: 3 }, []],
    ['one task fewer', { approvalTasks: ['renew'] }, ['approval_tasks']],
    ['one task replaced by another', { approvalTasks: ['renew', 'create'] }, ['approval_tasks']],
    ['one more task', { approvalTasks: ['renew', 'delete', 'create'] }, []],
    ['requesters may approve', { allowSelfApproval: true }, ['allow_self_approval']],
    [
      'one that loosens beside one that tightens',
      { approvalsRequired: 3, allowSelfApproval: true },
      ['allow_self_approval'],
    ],
  ])('%s', (_, change, loosened) => {
    expect([...findWeakenedSettings(before, { ...before, ...change })]).toEqual(loosened);
  });

  test('requesters may no longer approve: that tightens', () => {
    const allowed = { ...before, allowSelfApproval: true };
    expect(findWeakenedSettings(allowed, before).size).toBe(0);
  });
});

describe('a changed price, with a rule above 100.00', () => {
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
    rules: [rule({ tasks: ['renew'], names: ['*.rest'], over })],
    mandates: [] as readonly { readonly names: readonly string[]; readonly maxPrice: Amount }[],
    budgets: [] as readonly { readonly amount: Amount }[],
    getTaskRisk: findTask,
    today: '2026-11-23',
  };
  const loosens = (list: readonly Price[], edit: PriceEdit, given: Partial<typeof conditions> = {}) =>
    findWeakeningEdits(list, [edit], { ...conditions, ...given }).length === 1;
  const edit = (before: Price | undefined, after: Price) => ({ before, after });
  const cheap = price({ minor: 5_000 });

  test.each<[string, readonly Price[], PriceEdit, boolean]>([
    ['falls to it', [price()], edit(price(), price({ minor: 10_000 })), true],
    ['falls and stays above it', [price()], edit(price(), price({ minor: 10_001 })), false],
    ['rises', [cheap], edit(cheap, price()), false],
    [
      'falls beneath it, where an order of several names was above',
      [cheap],
      edit(cheap, price({ minor: 4_000 })),
      true,
    ],
    ['is listed for the first time, below it', [], edit(undefined, cheap), true],
    ['is listed for the first time, above it', [], edit(undefined, price()), false],
    [
      'becomes one of another currency',
      [price()],
      edit(price(), price({ minor: 1, currency: 'USD' })),
      false,
    ],
    [
      'comes from another currency',
      [price({ currency: 'USD' })],
      edit(price({ currency: 'USD' }), cheap),
      true,
    ],
    [
      'falls from a day that is ahead',
      [price()],
      edit(undefined, price({ minor: 1, validFrom: '2027-01-01' })),
      true,
    ],
    [
      'was another one in the past',
      [price()],
      edit(undefined, price({ minor: 1, validFrom: '2025-01-01' })),
      false,
    ],
    [
      'begins later, which lets a former one hold',
      [price({ minor: 1, validFrom: '2025-01-01' }), price()],
      edit(price(), price({ validFrom: '2027-01-01' })),
      true,
    ],
    [
      'of two years falls below that of two times one year',
      [cheap],
      edit(undefined, price({ period: 2, minor: 9_000 })),
      true,
    ],
    ['of another task falls', [], edit(undefined, price({ task: 'create', minor: 1 })), false],
    ['of another zone falls', [], edit(undefined, price({ zone: 'example', minor: 1 })), false],
    ['of a zone beneath falls', [], edit(undefined, price({ zone: 'co.rest', minor: 1 })), true],
  ])('that %s', (_, list, change, expected) => {
    expect(loosens(list, change)).toBe(expected);
  });

  test.each([
    ['charge', ['charge'], ['*'], true],
    ['all', ['all'], ['cafe.rest'], true],
    ['a tag', ['renew'], ['tag:brand'], true],
    ['a name of another zone', ['renew'], ['cafe.example'], false],
    ['tasks at risk', ['risk'], ['*'], false],
  ])('matters for rules on %s', (_, tasks, names, expected) => {
    const rules = [rule({ tasks, names, over })];
    expect(loosens([price()], edit(price(), price({ minor: 1 })), { rules })).toBe(expected);
  });

  test('matters for a rule on a parent name', () => {
    const rules = [rule({ tasks: ['renew'], names: ['co.rest'], over })];
    const under = price({ zone: 'co.rest' });
    expect(
      loosens([under], edit(under, { ...under, amount: { currency: 'EUR', minor: 1 } }), { rules }),
    ).toBe(true);
    expect(loosens([price()], edit(price(), price({ minor: 1 })), { rules })).toBe(true);
  });

  test('applies at once if no rule has an amount', () => {
    const rules = [rule({ tasks: ['renew'], names: ['*'] })];
    expect(loosens([price()], edit(price(), price({ minor: 1 })), { rules })).toBe(false);
  });

  test.each<[string, readonly string[], PriceEdit, boolean]>([
    ['falls to it', ['*.rest'], edit(price(), price({ minor: 10_000 })), true],
    ['is listed for the first time, within it', ['tag:brand'], edit(undefined, cheap), true],
    ['falls and stays above it', ['*.rest'], edit(price(), price({ minor: 10_001 })), false],
    ['was within it', ['*.rest'], edit(cheap, price({ minor: 4_000 })), false],
    ['rises', ['*.rest'], edit(cheap, price()), false],
    ['is of another zone', ['*.example'], edit(price(), cheap), false],
    ['is of another task', ['*'], edit(undefined, price({ task: 'restore', minor: 1 })), false],
  ])('is compared with a mandate’s price limit: %s', (_, names, change, expected) => {
    const list = change.before === undefined ? [] : [change.before];
    expect(loosens(list, change, { rules: [], mandates: [{ names, maxPrice: over }] })).toBe(expected);
  });

  test.each<[string, PriceEdit, boolean]>([
    ['falls, so that it pays for more', edit(cheap, price({ minor: 4_000 })), true],
    ['of any task falls', edit(price({ task: 'create' }), price({ task: 'create', minor: 9_000 })), true],
    ['is more than the whole budget', edit(price(), price({ minor: 10_001 })), false],
    ['rises', edit(cheap, price()), false],
    ['stays the same', edit(cheap, price({ minor: 5_000, source: 'Contract 8' })), false],
    ['falls in another currency', edit(cheap, price({ minor: 1, currency: 'USD' })), false],
  ])('is compared with budgets: %s', (_, change, expected) => {
    const list = change.before === undefined ? [] : [change.before];
    expect(loosens(list, change, { rules: [], budgets: [{ amount: over }] })).toBe(expected);
  });
});
